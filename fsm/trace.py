"""Write traces: JSON lines, a header first, each record one whole line.

So a crash can cut off only the last one. Read `reading` for the way back, and then `replay`: it
takes the recorded decisions once more.
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
from fsm.reading import HEADER, RECORD, read_trace
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


def _header_line(header: Header) -> bytes:
    return _line({"format": header.format} | {key: getattr(header, key) for key in HEADER})


def _record_line(record: Record) -> bytes:
    values = {key: getattr(record, key) for key in RECORD}
    values["tried"] = [[each.edge, each.guard, each.value] for each in record.tried]
    return _line(values)


def _line(value: dict[str, Any]) -> bytes:
    try:
        return orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE)
    except TypeError:
        # Half a surrogate pair and whole numbers over 64 bits are JSON too, and models send them.
        return json.dumps(value).encode("ascii") + b"\n"


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
