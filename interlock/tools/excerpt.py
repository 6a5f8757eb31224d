"""The beginning and the end of a long text, in bounded memory, and the whole of it on disk.

One mechanism for both places where text can be too long: a command's output as it arrives, and
the result of any tool before the model gets it.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from attrs import define, field

from interlock.tools.room import FULL, has_room

# A command that prints without end must not fill the disk either.
MAX_SAVED = 64 * 1024 * 1024  # characters


@define
class Excerpt:
    """Keeps at most `limit` characters. `save_as` is the file for the whole text; it is made
    only when the limit is passed."""

    limit: int
    save_as: Path | None = None
    room: Callable[[Path, int], bool] = has_room
    total: int = 0
    _head: list[str] = field(factory=list)
    _head_room: int = 0
    _tail: deque[str] = field(factory=deque)
    _tail_size: int = 0
    _file: TextIO | None = None
    _saved: int = 0
    _problem: str | None = None
    _full: bool = False

    def __attrs_post_init__(self) -> None:
        self._head_room = self.limit // 2

    def add(self, text: str) -> None:
        if not text:
            return
        self.total += len(text)
        if self.total > self.limit and self._file is None and self.save_as is not None:
            self._begin_file()
        self._save(text)
        into_head = text[: self._head_room]
        if into_head:
            self._head.append(into_head)
            self._head_room -= len(into_head)
            text = text[len(into_head) :]
        if text:
            self._tail.append(text)
            self._tail_size += len(text)
            self._shorten()

    def text(self) -> str:
        """What is kept, with a note in the middle where something is left out."""
        head, tail = "".join(self._head), "".join(self._tail)
        if self.total <= self.limit:
            return head + tail
        tail = tail[-(self.limit - self.limit // 2) :]
        left_out = self.total - len(head) - len(tail)
        return f"{head}\n\n[... {left_out} characters left out here{self._where()} ...]\n\n{tail}"

    def close(self) -> None:
        if self._file is None:
            return
        try:
            self._file.close()
        except OSError as error:
            self._give_up(error)

    def _where(self) -> str:
        if self._problem is not None:
            return f"; the whole could not be saved: {self._problem}"
        if self._file is None:
            return ""
        if self._saved < self.total:
            why = f", no more because {FULL}" if self._full else ""
            return f"; the first {self._saved} characters of all are in {self.save_as}{why}"
        return f"; the whole is in {self.save_as}"

    def _shorten(self) -> None:
        room = self.limit - self.limit // 2
        while self._tail_size - len(self._tail[0]) >= room:
            self._tail_size -= len(self._tail.popleft())
        if self._tail_size > 2 * room + 65536:
            kept = "".join(self._tail)[-room:]
            self._tail, self._tail_size = deque([kept]), len(kept)

    def _begin_file(self) -> None:
        assert self.save_as is not None
        if self._problem is not None:
            return
        try:
            if not self.room(self.save_as.parent, self.total):
                self._problem = FULL
                return
            self.save_as.parent.mkdir(parents=True, exist_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0)
            # Output may hold secrets: for the user only.
            file = os.open(self.save_as, flags, 0o600)
            self._file = os.fdopen(file, "w", encoding="utf-8", errors="replace", newline="")
        except OSError as error:
            self._problem = error.strerror or str(error)
            return
        self._save("".join(self._head) + "".join(self._tail))

    def _save(self, text: str) -> None:
        stopped = self._problem is not None or self._full or self._saved >= MAX_SAVED
        if self._file is None or self.save_as is None or stopped:
            return
        text = text[: MAX_SAVED - self._saved]
        if not self.room(self.save_as.parent, len(text)):
            self._full = True
            return
        try:
            self._file.write(text)
            self._saved += len(text)
        except OSError as error:
            self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        """A part that nobody is told of would only take room."""
        assert self._file is not None
        assert self.save_as is not None
        self._problem = error.strerror or str(error)
        with suppress(OSError):
            self.save_as.unlink()
        with suppress(OSError):
            self._file.close()


def shortened(text: str, limit: int, save_as: Path | None) -> str:
    """`text`, or its beginning and end if it is longer than `limit`."""
    if len(text) <= limit:
        return text
    excerpt = Excerpt(limit, save_as)
    try:
        excerpt.add(text)
    finally:
        excerpt.close()
    return excerpt.text()
