"""Keeps checkpoints of what the agent changes: the tools' seam, and the prompts it goes by.

A checkpoint that cannot be kept is told and holds nobody up: the change is made all the same, and
a rewind will leave that file alone.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from threading import Lock

from attrs import define, field

from interlock.checkpoints.contents import Contents, TooLarge, digest
from interlock.checkpoints.log import Kept, append, change_entry, point_entry
from phases.world.messages import Kind
from phases.world.updates import Notice, Recorded, Show, Update

FOLDER = "checkpoints"
LOG = "log.jsonl"


@define(kw_only=True)
class Checkpoints:
    """The checkpoints of one session, in `folder`. Called from any thread."""

    folder: Path
    on: bool = True  # off: only rewinds are kept, so that they can be undone
    contents: Contents = field()
    _point: str | None = field(default=None, init=False)
    # What the agent left in each file since the point: what stood there then is kept already.
    _left: dict[Path, str] = field(factory=dict, init=False)
    _untold: list[str] = field(factory=list, init=False)
    _failed: bool = field(default=False, init=False)
    _lock: Lock = field(factory=Lock, init=False, repr=False)

    @contents.default
    def _own_contents(self) -> Contents:
        return Contents(self.folder)

    @classmethod
    def of(cls, session_folder: Path, *, on: bool = True) -> Checkpoints:
        return cls(folder=session_folder / FOLDER, on=on)

    @property
    def log(self) -> Path:
        return self.folder / LOG

    def watching(self, show: Show) -> Show:
        """Passes updates on; each prompt that is written down becomes a point to go back to."""

        def seen(update: Update) -> None:
            if self.on and isinstance(update, Recorded):
                message = update.message
                if message.kind is Kind.PROMPT and message.replaces is None:
                    self.begin(message.id)
            show(update)
            while self._untold:
                show(Notice("warning", self._untold.pop(0)))

        return seen

    def before_change(self, path: Path, before: bytes | None, after: bytes | None) -> None:
        """A tool is about to change a file."""
        if self.on:
            self.keep(path, before, after)

    def begin(self, point: str) -> None:
        """What changes from here on can be taken back to this point."""
        with self._lock:
            self._point = point
            self._left.clear()
            self._write(lambda: append(self.log, point_entry(point)))

    def keep(self, path: Path, before: bytes | None, after: bytes | None) -> bool:
        """Keep what a file holds, right before it is changed; whether that can be undone."""
        with self._lock:
            if self._point is None:  # nothing was asked: nothing to go back to
                return False
            return self._kept(self._point, path, before, after)

    def _kept(self, point: str, path: Path, before: bytes | None, after: bytes | None) -> bool:
        lost = None
        old = None if before is None else digest(before)
        new = None if after is None else digest(after)
        if before is not None and self._left.get(path) != old:
            try:
                self.contents.put(before)
            except TooLarge as problem:
                lost = str(problem)
                self._untold.append(f"no checkpoint of {path}: {problem}; a rewind will leave it")
            except OSError as error:
                self._fail(error)
                return False
        change = Kept(
            point=point,
            path=path,
            before=old,
            after=new,
            mode=None if before is None else _mode(path),
            lost=lost,
            folders=_missing(path) if before is None else (),
        )
        if not self._write(lambda: append(self.log, change_entry(change))):
            return False
        if new is None:
            self._left.pop(path, None)
        else:
            self._left[path] = new
        return lost is None

    def _write(self, write: Callable[[], None]) -> bool:
        try:
            write()
        except OSError as error:
            self._fail(error)
            return False
        return True

    def _fail(self, error: OSError) -> None:
        if not self._failed:
            why = error.strerror or str(error)
            self._untold.append(
                f"checkpoints cannot be kept in {self.folder} ({why}): what is changed now cannot "
                "be rewound"
            )
        self._failed = True


def _mode(path: Path) -> int | None:
    try:
        return stat.S_IMODE(path.stat(follow_symlinks=False).st_mode)
    except OSError:
        return None


def _missing(path: Path) -> tuple[Path, ...]:
    """The folders that must be made for a new file, the outermost first."""
    found: list[Path] = []
    folder = path.parent
    while not os.path.lexists(folder):
        found.append(folder)
        folder = folder.parent
    return tuple(reversed(found))
