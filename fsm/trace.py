"""Write and read traces: JSON lines, a header first, each record one whole line.

A crash can cut off only the last line; reading forgives that and says so, and nothing else.
Read `replay` next: it takes the recorded decisions once more.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import IO, Any, Self

import orjson

from fsm.errors import TraceError
from fsm.record import FORMAT, Header, Looked, Record, Trace, digest, header_of, record_of

__all__ = [
    "FORMAT",
    "Header",
    "Log",
    "Looked",
    "Record",
    "Trace",
    "TraceWriter",
    "digest",
    "header_of",
    "read_trace",
    "record_of",
]

Log = Callable[..., object]


class TraceWriter:
    """Appends records to a file, a binary stream, or (with no target) to memory.

    Each record is one whole line and is flushed before `write` returns; where it cannot be, it
    raises OSError and the file stays as it was. A file that already holds a trace of the same
    table and chain is continued; half a line that a crash left at its end is cut off first. `log`
    is a method of a structlog logger, such as `logger.debug`.
    """

    def __init__(
        self,
        header: Header,
        target: str | PathLike[str] | IO[bytes] | None = None,
        *,
        log: Log | None = None,
    ) -> None:
        self.header = header
        self.next_sequence = 0
        self._log = log
        self._kept: list[Record] = []
        self._path = Path(target) if isinstance(target, str | PathLike) else None
        self._stream: IO[bytes] | None = None
        if self._path is not None:
            self._stream = self._opened(self._path)
        elif target is not None and not isinstance(target, str | PathLike):
            self._stream = target
            self._append(_header_line(header))

    def write(self, record: Record) -> None:
        """Append `record`."""
        if self._stream is None:
            self._kept.append(record)
        else:
            self._append(_record_line(record))
        self.next_sequence = record.sequence + 1
        if self._log is not None:
            self._log("transition", **_told(record))

    @property
    def trace(self) -> Trace:
        """What has been written so far. Raises TraceError for a stream: it cannot be read back."""
        if self._path is not None:
            return read_trace(self._path)
        if self._stream is not None:
            raise TraceError("a stream", "cannot be read back")
        return Trace(self.header, tuple(self._kept))

    def sync(self, fsync: Callable[[int], None] = os.fsync) -> None:
        """Wait until the disk has what was written, if it is in a file. Raises OSError."""
        if self._path is not None and self._stream is not None:
            fsync(self._stream.fileno())

    def close(self) -> None:
        """Close the file; a stream that was given stays open."""
        if self._path is not None and self._stream is not None:
            self._stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def _opened(self, path: Path) -> IO[bytes]:
        # Private to its owner: payloads may hold what was said.
        path.touch(mode=0o600)
        end = path.read_bytes().rfind(b"\n") + 1
        if end:
            before = read_trace(path)
            theirs = (before.header.machine, before.header.table, before.header.chain_id)
            if theirs != (self.header.machine, self.header.table, self.header.chain_id):
                raise TraceError(str(path), "holds the trace of another table or chain")
            self.header = before.header
            self.next_sequence = before.records[-1].sequence + 1 if before.records else 0
        # Unbuffered: what a full disk refused must not come back with the next record.
        stream = path.open("ab", buffering=0)
        stream.truncate(end)
        self._stream = stream
        if not end:
            try:
                self._append(_header_line(self.header))
            except OSError:
                stream.close()
                raise
        return stream

    def _append(self, line: bytes) -> None:
        assert self._stream is not None
        whole = self._stream.tell() if self._path is not None else 0
        rest = memoryview(line)
        try:
            while rest:
                rest = rest[self._stream.write(rest) :]
            self._stream.flush()
        except OSError:
            if self._path is not None and len(rest) < len(line):
                with suppress(OSError):
                    self._stream.truncate(whole)
            raise


def read_trace(path: str | PathLike[str]) -> Trace:
    """The trace in the file `path`.

    A last line that was cut off is left out and told in `damage`. Raises TraceError, with file
    and line, for any other damage; OSError if there is no such file.
    """
    *lines, rest = Path(path).read_bytes().split(b"\n")
    if not lines:
        raise TraceError(f"{path}:1", "has no header")
    header = _header(_object(lines[0], f"{path}:1"), f"{path}:1")
    records: list[Record] = []
    for number, line in enumerate(lines[1:], start=2):
        where = f"{path}:{number}"
        record = _record(_object(line, where), where)
        if records and record.sequence != records[-1].sequence + 1:
            raise TraceError(
                where, f"record {record.sequence} stands after {records[-1].sequence}"
            )
        records.append(record)
    damage = f"{path}:{len(lines) + 1}: cut off after {len(rest)} bytes" if rest else None
    return Trace(header, tuple(records), damage)


def _header_line(header: Header) -> bytes:
    return _line({"format": header.format} | {key: getattr(header, key) for key in _HEADER})


def _record_line(record: Record) -> bytes:
    values = {key: getattr(record, key) for key in _RECORD}
    values["tried"] = [[each.edge, each.guard, each.value] for each in record.tried]
    return _line(values)


def _line(value: dict[str, Any]) -> bytes:
    try:
        return orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE)
    except TypeError:
        # Half a surrogate pair and whole numbers over 64 bits are JSON too, and models send them.
        return json.dumps(value).encode("ascii") + b"\n"


# What each line must hold, and of which type; what else it holds is left for later versions.
_HEADER: dict[str, tuple[type, ...]] = {
    "machine": (str,),
    "table": (str,),
    "initial": (str,),
    "endings": (list,),
    "chain_id": (str,),
    "depth": (int,),
    "start": (object,),
}
_RECORD: dict[str, tuple[type, ...]] = {
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
        value = orjson.loads(line)
    except orjson.JSONDecodeError:
        try:
            value = json.loads(line)
        except ValueError as error:
            raise TraceError(where, f"is no JSON: {error}") from error
    if not isinstance(value, dict):
        raise TraceError(where, "is no JSON object")
    return value


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
    if value.get("format") != FORMAT:
        raise TraceError(where, f"is of format {value.get('format')}, known is {FORMAT}")
    fields = _fields(value, _HEADER, where)
    return Header(**fields | {"endings": tuple(fields["endings"])})


def _record(value: dict[str, Any], where: str) -> Record:
    fields = _fields(value, _RECORD, where)
    tried: list[Looked] = []
    for each in fields["tried"]:
        match each:
            case [int(edge), str(guard), bool(held)]:
                tried.append(Looked(edge, guard, held))
            case _:
                raise TraceError(where, f"has a guard that is not [edge, name, value]: {each}")
    return Record(**fields | {"tried": tuple(tried)})


def _told(record: Record) -> dict[str, Any]:
    # Not the payload: a log is read by more people than a trace is.
    return {
        "machine": record.machine,
        "source": record.source,
        "destination": record.destination,
        "outcome": record.outcome,
        "guards": record.guards,
        "reason": record.reason,
        "sequence": record.sequence,
        "chain_id": record.chain_id,
        "depth": record.depth,
    }
