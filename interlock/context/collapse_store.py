"""Where collapses are kept: one file per session, append-only JSON lines.

A line stages a note with the messages it stands for, or commits notes that were staged. What
cannot be read is passed over: those rounds are then shown whole again, and nothing is lost.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import orjson
from attrs import frozen

from interlock.quiet import Quiet
from phases.world.messages import Json, Kind, Message, Text, encoded

_log = Quiet(__name__)


@frozen(kw_only=True)
class Collapsed:
    """A note and the ids of the messages that it stands for, in order."""

    id: str
    covers: tuple[str, ...]
    text: str

    @property
    def mark(self) -> Message:
        return Message(id=self.id, role="user", kind=Kind.NOTE, content=(Text(self.text),))


class CollapseStore:
    """`staged` and `committed` go by the first message that each collapse covers.

    What is staged is a new mapping whenever it changes, never the old one changed.
    """

    def __init__(self, path: Path | None) -> None:
        self.staged: dict[str, Collapsed] = {}
        self.committed: dict[str, Collapsed] = {}
        self._path = path
        self._torn = False
        if path is not None:
            self._load(path)

    def stage(self, one: Collapsed) -> None:
        self.staged = {**self.staged, one.covers[0]: one}
        self._append({"stage": one.id, "covers": list(one.covers), "note": one.text})

    def commit(self, chosen: Iterable[Collapsed]) -> None:
        chosen = tuple(chosen)
        self.committed |= {one.covers[0]: one for one in chosen}
        self.staged = {
            first: one for first, one in self.staged.items() if first not in self.committed
        }
        self._append({"commit": [one.id for one in chosen]})

    def keep_staged(self, kept: Iterable[Collapsed]) -> None:
        """Forget what else is staged: the messages it was made of have gone."""
        self.staged = {one.covers[0]: one for one in kept}

    def _load(self, path: Path) -> None:
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return
        except OSError as error:
            _log.warning("collapses cannot be read", path=str(path), error=str(error))
            return
        self._torn = bool(data) and not data.endswith(b"\n")
        known: dict[str, Collapsed] = {}
        for line in data.splitlines():
            try:
                entry = orjson.loads(line)
            except orjson.JSONDecodeError:
                continue  # cut by a crash
            if isinstance(entry, dict):
                self._take(entry, known)

    def _take(self, entry: dict[str, Json], known: dict[str, Collapsed]) -> None:
        match entry:
            case {"stage": str(id_), "covers": [str(), *_] as covers, "note": str(text)}:
                one = Collapsed(id=id_, covers=tuple(map(str, covers)), text=text)
                known[id_] = self.staged[one.covers[0]] = one
            case {"commit": [*ids]}:
                for id_ in ids:
                    if isinstance(id_, str) and id_ in known:
                        one = known[id_]
                        self.staged.pop(one.covers[0], None)
                        self.committed[one.covers[0]] = one

    def _append(self, entry: Json) -> None:
        if self._path is None:
            return
        line = (b"\n" if self._torn else b"") + encoded(entry) + b"\n"
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
            file = os.open(self._path, flags, 0o600)
            with os.fdopen(file, "ab") as out:
                out.write(line)
            self._torn = False
        except OSError as error:
            # It holds for this process; after a resume the rounds are shown whole once more.
            _log.warning("collapse not kept", path=str(self._path), error=str(error))
            self._torn = True
