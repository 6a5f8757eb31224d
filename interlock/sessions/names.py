"""The lines by which a session is found: its name and its tag, as other programs write them too.

Who lists sessions reads only the ends of their files. So these lines are written again before they
are too far from the end to be seen, in the form in which they stand there, whoever wrote them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import orjson
from attrs import define, field

from interlock.errors import TranscriptError, UsageError
from interlock.sessions.ends import ENDS
from interlock.sessions.lines import append_line
from phases.world.messages import encoded

_KINDS = ("custom-title", "ai-title", "tag")
_FAR = ENDS // 2  # bytes from the end: the rest is room for what is written meanwhile


def rename(path: Path, name: str) -> str:
    """Give the session at `path` a name, also while another process writes it; the name as it is
    kept, in one line. Raises UsageError for an empty one, and TranscriptError."""
    words = " ".join(name.split())
    if not words:
        raise UsageError("a session's name must hold a word")
    _written(path, {"type": "custom-title", "customTitle": words}, "renamed")
    return words


def tag(path: Path, tag: str | None) -> None:
    """Give the session at `path` a tag, likewise; None takes it away. Raises as `rename`."""
    words = " ".join((tag or "").split())
    if tag is not None and not words:
        raise UsageError("a session's tag must hold a word; None takes it away")
    _written(path, {"type": "tag", "tag": words}, "tagged")


def _written(path: Path, line: Mapping[str, str], done: str) -> None:
    """It takes no lock: the writer holds that for as long as the session is open, and who lists
    sessions must not wait for it. One write at the end of a file is whole on any local disk."""
    try:
        file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
        try:
            append_line(file, encoded({**line, "sessionId": path.stem}))
        finally:
            os.close(file)
    except OSError as error:
        problem = f"cannot be {done}: {error.strerror or error}"
        raise TranscriptError(str(path), problem) from error


@define
class Names:
    """What of these lines stands in one open file, and where. All of it follows from the file, so
    that a run done again writes them in the same places."""

    _lines: dict[str, tuple[int, bytes]] = field(factory=dict)  # the last one of each kind
    _seen: int = 0  # up to where the file was looked through

    def take_up(self, file: int) -> None:
        """Look at both ends of the file."""
        size = os.fstat(file).st_size
        self._note(0, os.pread(file, min(ENDS, size), 0))
        tail = max(ENDS, size - ENDS)
        if tail < size:
            self._note(tail, os.pread(file, size - tail, tail))
        self._seen = size

    def due(self, file: int, wrote: int) -> bytes:
        """What is to be written again, now that `wrote` bytes were added."""
        size = os.fstat(file).st_size
        if size != self._seen + wrote:  # somebody else wrote too: a name, most likely
            self._note(self._seen, os.pread(file, size - self._seen, self._seen))
        self._seen = size
        far = [kind for kind, (at, _) in self._lines.items() if size - at > _FAR]
        again = b""
        for kind in far:
            line = self._lines[kind][1]
            self._lines[kind] = (size + len(again), line)
            again += line + b"\n"
        self._seen += len(again)
        return again

    def _note(self, at: int, data: bytes) -> None:
        for line in data.split(b"\n"):
            kind = _kind(line)
            if kind is not None:
                self._lines[kind] = (at, line)
            at += len(line) + 1


def _kind(line: bytes) -> str | None:
    if not any(kind.encode() in line[:64] for kind in _KINDS):
        return None
    try:
        entry = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    kind = entry.get("type") if isinstance(entry, dict) else None
    return kind if kind in _KINDS else None
