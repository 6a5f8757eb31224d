"""Read a trace back, as far as it can be read: a damaged line costs that line.

What is left out is told with file and line, and a step that is not there is seen by its number.
Knows JSON and the shape of lines; what an outcome says is its reader's. `trace` writes them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import Any

from fsm.errors import TraceError
from fsm.json_lines import object_of
from fsm.record import FORMAT, Header, Looked, Record, Trace


def read_trace(path: str | PathLike[str]) -> Trace:
    """The trace in the file `path`; what is wrong with the file is told in its `damage`.

    A header that cannot be read is made up from the records, as far as they tell it. Raises
    TraceError for a file that is no trace, or one of another format; OSError if there is none.
    """
    *lines, rest = Path(path).read_bytes().split(b"\n")
    if not lines:
        raise TraceError(f"{path}:1", "has no header")
    damage: dict[int, str] = {}
    found: dict[int, Record] = {}
    for number, line in enumerate(lines[1:], start=2):
        try:
            found[number] = _record(_object(line, ""), "")
        except TraceError as error:
            damage[number] = f"{error.problem}, left out"
    kept = {number: found[number] for number in _rising(found)}
    damage |= {number: _misplaced(found[number]) for number in found.keys() - kept.keys()}
    try:
        header = _header(_object(lines[0], f"{path}:1"), f"{path}:1")
    except _OfAnotherFormat:
        raise
    except TraceError as error:
        if not kept:
            raise
        header = _made_up(next(iter(kept.values())))
        damage[1] = f"the header {error.problem}: where the run began is not known"
    damage |= _gaps(kept, damage)
    if rest:
        damage[len(lines) + 1] = f"cut off after {len(rest)} bytes"
    told = tuple(f"{path}:{number}: {damage[number]}" for number in sorted(damage))
    return Trace(header, tuple(kept.values()), told, torn=bool(rest))


class _OfAnotherFormat(TraceError):
    """Not damaged: written by a version that this one does not know."""


# --- the order of the lines ------------------------------------------------------------------


def _rising(found: Mapping[int, Record]) -> Iterable[int]:
    """The lines to keep: the longest row in which the numbers of the steps go up.

    So one number that is wrong costs one line, and not all that stand behind it.
    """
    if all(one.sequence < other.sequence for one, other in pairwise(found.values())):
        return found
    lowest: list[int] = []  # for each length: the lowest number that a row of it can end with
    ends: list[int] = []  # and the line where it does
    before: dict[int, int | None] = {}
    for number, record in found.items():
        length = bisect_left(lowest, record.sequence)
        if lowest[length : length + 1] == [record.sequence]:
            continue  # of two with one number the first counts
        before[number] = ends[length - 1] if length else None
        lowest[length : length + 1] = [record.sequence]
        ends[length : length + 1] = [number]
    row: list[int] = []
    at: int | None = ends[-1]
    while at is not None:
        row.append(at)
        at = before[at]
    return reversed(row)


def _misplaced(record: Record) -> str:
    return f"record {record.sequence} is out of its place, left out"


def _gaps(kept: Mapping[int, Record], damage: Mapping[int, str]) -> dict[int, str]:
    """The lines before which steps are missing that no damaged line accounts for."""
    gaps: dict[int, str] = {}
    line, step = 1, -1
    for number, record in kept.items():
        missing = record.sequence - step - 1
        if missing > sum(1 for each in damage if line < each < number):
            first, last = step + 1, record.sequence - 1
            steps = f"step {last} is" if missing == 1 else f"of steps {first} to {last} some are"
            gaps[number] = f"{steps} missing before it"
        line, step = number, record.sequence
    return gaps


# --- one line --------------------------------------------------------------------------------

# What each line must hold, and of which type; what else it holds is left for later versions.
HEADER: dict[str, tuple[type, ...]] = {
    "machine": (str,),
    "table": (str,),
    "initial": (str,),
    "endings": (list,),
    "chain_id": (str,),
    "depth": (int,),
    "start": (object,),
}
RECORD: dict[str, tuple[type, ...]] = {
    "sequence": (int,),
    "time": (float, int),
    "machine": (str,),
    "source": (str,),
    "destination": (str,),
    "outcome": (str,),
    "payload": (object,),
    "tried": (list,),
    "edge": (int,),
    "reason": (str, type(None)),
    "changed": (dict,),
    "chain_id": (str,),
    "depth": (int,),
}


def _object(line: bytes, where: str) -> dict[str, Any]:
    try:
        return object_of(line)
    except ValueError as error:
        raise TraceError(where, str(error)) from error


def _fields(
    value: dict[str, Any], wanted: dict[str, tuple[type, ...]], where: str
) -> dict[str, Any]:
    for key, types in wanted.items():
        if key not in value:
            raise TraceError(where, f"has no {key}")
        if not isinstance(value[key], types):
            raise TraceError(where, f"its {key} is a {type(value[key]).__name__}")
    return {key: value[key] for key in wanted}


def _header(value: dict[str, Any], where: str) -> Header:
    if "format" not in value:
        raise TraceError(where, "is not the header of a trace: it names no format")
    if value["format"] != FORMAT:
        raise _OfAnotherFormat(where, f"is of format {value['format']}, known is {FORMAT}")
    fields = _fields(value, HEADER, where)
    return Header(**fields | {"endings": tuple(fields["endings"])})


def _made_up(first: Record) -> Header:
    return Header(
        machine=first.machine,
        table="",
        initial=first.source,
        endings=(),
        chain_id=first.chain_id,
        depth=first.depth,
        start=None,
        made_up=True,
    )


def _record(value: dict[str, Any], where: str) -> Record:
    fields = _fields(value, RECORD, where)
    return Record(**fields | {"tried": tuple(_looked(fields["tried"], where))})


def _looked(tried: list[Any], where: str) -> Iterator[Looked]:
    for each in tried:
        match each:
            case [int(edge), str(guard), bool(held)]:
                yield Looked(edge, guard, held)
            case _:
                raise TraceError(where, f"has a guard that is not [edge, name, value]: {each}")
