"""The file of a recording: JSON lines, and how an older one is brought up to date on reading.

    {"recording": 2, "interlock": …, "facts": …, …}   and where what is not repeated here stands
    {"message": …}                       each message once, numbered from 0 as they come
    {"on": "begin", "gave": …}           the loop in which the run begins
    {"on": "model.event", "gave": …}     what a port gave; or "raised": words, or "cut": true
    {"on": "interrupt", "after": 2}      the user's wish to stop, after so many looks for it
    {"to": …}                            the run is over

Beside its run a recording repeats neither transcript nor trace (see `beside`); one that is kept
for itself holds them. Knows nothing of what the values mean: that is `codec`'s.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import orjson
from attrs import frozen

from fsm.json_lines import object_of
from interlock.errors import InterlockError

Json = Any
Line = dict[str, Json]
Upgrade = Callable[[list[Line]], list[Line]]

VERSION = 2


class RecordingError(InterlockError):
    """A recording cannot be read or played; `where` is the file, with the line if it is one."""

    def __init__(self, where: str, problem: str) -> None:
        self.where = where
        self.problem = problem
        super().__init__(f"{where}: {problem}")


@frozen(kw_only=True)
class Recording:
    """One run, as its file has it. `version` is the one it was written in."""

    name: str
    version: int
    header: Mapping[str, Json]
    lines: tuple[Line, ...]  # messages, and what the ports gave
    before: str  # the transcript, until the run began
    transcript: str  # what the run added to it
    trace: str
    over: bool = True  # False: the process went away in the middle of it
    damage: str | None = None  # where it cannot be read any more, and why: it ends there
    bare: bool = False  # what the run wrote is not in it any more


def _ports_that_were_played(lines: list[Line]) -> list[Line]:
    """The first version knew only ports that are played; now some are run again, and named so."""
    return [
        line | {"gave": {"played": line["gave"], "run": []}} if line.get("on") == "ports" else line
        for line in lines
    ]


# From a version to the next one: all lines of a file, changed to what the next one would hold.
UPGRADES: Mapping[int, Upgrade] = {1: _ports_that_were_played}


def upgraded(lines: list[Line], where: str, upgrades: Mapping[int, Upgrade]) -> list[Line]:
    """The lines as of today. Raises RecordingError for what is no recording, or of tomorrow."""
    found = version_of(lines, where)
    newest = max(upgrades, default=0) + 1
    if found > newest:
        raise RecordingError(
            f"{where}:1", f"is of version {found}, known is {newest}; use a newer interlock"
        )
    for version in range(found, newest):
        lines = upgrades[version](lines)
    _insist_on(lines[0], f"{where}:1")
    return lines


def version_of(lines: list[Line], where: str) -> int:
    found = lines[0].get("recording") if lines else None
    if not isinstance(found, int) or isinstance(found, bool):
        raise RecordingError(f"{where}:1", "is no recording of a run")
    return found


def written(recording: Recording) -> bytes:
    """A recording as the bytes of a file that needs no other, in the version of today."""
    elsewhere = ("recording", "session", "from", "after")
    rest = {key: value for key, value in recording.header.items() if key not in elsewhere}
    header = {"recording": VERSION, **rest, "before": recording.before}
    last: Line = {"transcript": recording.transcript, "trace": recording.trace}
    if not recording.over:
        last["over"] = False
    return b"".join(line_of(each) for each in (header, *recording.lines, last))


def line_of(value: Mapping[str, Json]) -> bytes:
    """One line."""
    try:
        return orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE)
    except TypeError:
        # Half a surrogate pair and whole numbers over 64 bits are JSON too, and models send them.
        return json.dumps(value).encode("ascii") + b"\n"


@frozen(kw_only=True)
class Lines:
    """A file as far as it can be read; behind a damaged line numbers and order mean nothing."""

    lines: list[Line]  # those before the first that is damaged
    damage: str | None = None  # where that one is, and what is the matter with it
    last: Line  # of the whole file, if it can be read; else of `lines`


def lines_of(data: bytes, where: str) -> Lines:
    """Its lines; a last one that was cut off by a crash is left out.

    Raises RecordingError where the first is damaged: then nothing is known.
    """
    *whole, _ = data.split(b"\n")
    lines: list[Line] = []
    for number, line in enumerate(whole, start=1):
        try:
            lines.append(_object(line, f"{where}:{number}"))
        except RecordingError as error:
            if not lines:
                raise
            last = lines[-1]
            with suppress(RecordingError):
                last = _object(whole[-1], where)
            return Lines(lines=lines, damage=str(error), last=last)
    return Lines(lines=lines, last=lines[-1] if lines else {})


def _object(line: bytes, where: str) -> Line:
    try:
        return object_of(line)
    except ValueError as error:
        raise RecordingError(where, str(error)) from error


# One of the two says where the transcript was when the run began.
_HERE: Mapping[str, type] = {"facts": dict, "before": str}
_ELSEWHERE: Mapping[str, type] = {"facts": dict, "session": str, "from": int}


def _insist_on(header: Line, where: str) -> None:
    for key, kind in (_ELSEWHERE if "session" in header else _HERE).items():
        if not isinstance(header.get(key), kind):
            raise RecordingError(where, f"its {key} is missing or of the wrong kind")
