"""The file of a recording: JSON lines, and how an older one is brought up to date on reading.

    {"recording": 1, "interlock": …, "facts": …, "before": …}   the transcript until then
    {"message": …}                       each message once, numbered from 0 as they come
    {"on": "begin", "gave": …}           the loop in which the run begins
    {"on": "model.event", "gave": …}     what a port gave; or "raised": words, or "cut": true
    {"on": "interrupt", "after": 2}      the user's wish to stop, after so many looks for it
    {"transcript": …, "trace": …}        what came of it, the last line

Knows nothing of what the values mean: that is `codec`'s.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import orjson
from attrs import frozen

from interlock.errors import InterlockError

Json = Any
Line = dict[str, Json]
Upgrade = Callable[[list[Line]], list[Line]]

VERSION = 1
SUFFIX = ".recording.jsonl"
# From a version to the next one: all lines of a file, changed to what the next one would hold.
UPGRADES: Mapping[int, Upgrade] = {}


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
    transcript: str
    trace: str


def beside(trace: Path) -> Path:
    """Where the recording of the run with this trace lies."""
    return trace.with_name(trace.name.removesuffix(".trace.jsonl") + SUFFIX)


def read_recording(path: Path, upgrades: Mapping[int, Upgrade] = UPGRADES) -> Recording:
    """The recording in this file, brought up to date. Raises RecordingError, OSError."""
    lines = [
        _object(line, f"{path}:{number}")
        for number, line in enumerate(path.read_bytes().splitlines(), start=1)
    ]
    found = lines[0].get("recording") if lines else None
    if not isinstance(found, int) or isinstance(found, bool):
        raise RecordingError(f"{path}:1", "is no recording of a run")
    newest = max(upgrades, default=0) + 1
    if found > newest:
        raise RecordingError(
            f"{path}:1", f"is of version {found}, known is {newest}; use a newer interlock"
        )
    for version in range(found, newest):
        lines = upgrades[version](lines)
    header, *rest = lines
    if not rest or not {"transcript", "trace"} <= rest[-1].keys():
        raise RecordingError(str(path), "is not whole: the run was not over when it ends")
    last = rest.pop()
    name = path.name.removesuffix(SUFFIX)
    _insist_on(header, f"{path}:1")
    return Recording(
        name=name,
        version=found,
        header=header,
        lines=tuple(rest),
        transcript=last["transcript"],
        trace=last["trace"],
    )


def written(recording: Recording) -> bytes:
    """A recording as the bytes of a file, in the version of today."""
    last = {"transcript": recording.transcript, "trace": recording.trace}
    header = {**recording.header, "recording": VERSION}
    return b"".join(line_of(each) for each in (header, *recording.lines, last))


def line_of(value: Mapping[str, Json]) -> bytes:
    """One line."""
    try:
        return orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE)
    except TypeError:
        # Half a surrogate pair and whole numbers over 64 bits are JSON too, and models send them.
        return json.dumps(value).encode("ascii") + b"\n"


def _object(line: bytes, where: str) -> Line:
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError:
        try:
            value = json.loads(line)
        except ValueError as error:
            raise RecordingError(where, f"is no JSON: {error}") from error
    if not isinstance(value, dict):
        raise RecordingError(where, "is no JSON object")
    return value


_HEADER: Mapping[str, type] = {"facts": dict, "before": str}


def _insist_on(header: Line, where: str) -> None:
    for key, kind in _HEADER.items():
        if not isinstance(header.get(key), kind):
            raise RecordingError(where, f"its {key} is missing or of the wrong kind")
