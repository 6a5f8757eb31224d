"""What a background command prints: a file up to a cap, and the newest in memory beyond it.

One thread writes, another reads. Positions are bytes of UTF-8 since the beginning. The file keeps
the beginning, where a program says what it is and why it fails; the newest is what is asked for.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from attrs import define, field, frozen

from interlock.tools.room import FULL, has_room

MAX_ON_DISK = 64 << 20  # bytes; a server that logs for days must not fill the disk
NEWEST = 32 << 10  # bytes kept in memory; no more than a pipe holds


@frozen(kw_only=True)
class News:
    """What was printed from `since` to `until`."""

    since: int
    until: int
    text: str  # its end, if it was too long; begins with a note then


@define
class Log:
    """One command's. Whoever makes it must close it; it can be read afterwards."""

    path: Path
    max_on_disk: int = MAX_ON_DISK
    room: Callable[[Path, int], bool] = has_room
    total: int = field(default=0, init=False)
    on_disk: int = field(default=0, init=False)
    problem: str | None = field(default=None, init=False)
    _full: bool = field(default=False, init=False)
    _newest: bytes = field(default=b"", init=False)
    _file: BinaryIO | None = field(default=None, init=False)
    _lock: threading.Lock = field(factory=threading.Lock, init=False)

    def add(self, text: str) -> None:
        data = text.encode(errors="replace")
        with self._lock:
            self.total += len(data)
            self._newest = (self._newest + data[-NEWEST:])[-NEWEST:]
            self._save(data[: self.max_on_disk - self.on_disk])

    def _save(self, data: bytes) -> None:
        if not data or self.problem is not None or self._full:
            return
        try:
            if not self.room(self.path.parent, len(data)):
                self._full = True
                self.problem = None if self.on_disk else FULL
                return
            if self._file is None:
                self._file = _private(self.path)
            self._file.write(data)
            self.on_disk += len(data)
        except OSError as error:
            self.problem = error.strerror or str(error)
            self._give_back()

    def _give_back(self) -> None:
        """A part that nobody is told of would only take room. Someone may have the file open."""
        self.on_disk = 0
        if self._file is not None:
            with suppress(OSError):
                self._file.truncate(0)

    def since(self, position: int, most: int) -> News:
        """What was printed since then, at most about `most` bytes of it, the newest."""
        with self._lock:
            until, on_disk, newest = self.total, self.on_disk, self._newest
        begin = max(position, until - most)
        if begin < until - len(newest) and on_disk == until:
            data = self._from_file(begin, until)
        else:
            data = newest[max(0, begin - (until - len(newest))) :]
        left_out = until - position - len(data)
        text = data.decode(errors="ignore")  # a letter that is cut at the edge goes
        if left_out:
            text = f"[... {left_out} bytes left out here{self._where(on_disk)} ...]\n{text}"
        return News(since=position, until=until, text=text)

    def _from_file(self, begin: int, end: int) -> bytes:
        with self.path.open("rb") as file:
            file.seek(begin)
            return file.read(end - begin)

    def _where(self, on_disk: int) -> str:
        if self.problem is not None:
            return f"; they could not be saved: {self.problem}"
        if on_disk < self.total:
            why = f" because {FULL}" if self._full else ""
            return f"; the first {on_disk} bytes of all are in {self.path}, more is not kept{why}"
        return f"; the whole is in {self.path}"

    def unsaved(self, position: int) -> bytes:
        """What was printed since then and is in memory only."""
        with self._lock:
            begin = max(position, self.on_disk) - (self.total - len(self._newest))
            return self._newest[max(0, begin) :]

    def close(self) -> None:
        with self._lock:
            if self._file is not None:
                self._file.close()
                self._file = None


def _private(path: Path) -> BinaryIO:
    """A new file that only the user can read: output may hold secrets."""
    path.parent.mkdir(parents=True, exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0)
    return os.fdopen(os.open(path, flags, 0o600), "wb", buffering=0)
