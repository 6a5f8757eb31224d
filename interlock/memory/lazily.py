"""Note files of folders below the working folder: told when work first touches one of theirs.

What stands in the conversation is the only memory of what was told: what a compaction has taken
out and nobody has put back is told again at the next touch, also in a session taken up again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from attrs import define, field

from interlock.memory.files import NAMES, Places, at_start, take_folder, told, told_in
from interlock.memory.reading import NoteFile, Reading
from interlock.memory.rules import covers, rule_files

_INTRODUCTION = "These notes belong to the files that you now work with:"


@define(kw_only=True)
class LazyNotes:
    """One conversation's. `start` are the notes that stand in front of every request."""

    places: Places
    start: tuple[NoteFile, ...] = ()
    _told: dict[Path, None] = field(factory=dict, init=False)  # in the order they came

    @classmethod
    def of(cls, places: Places) -> LazyNotes:
        return cls(places=places, start=at_start(places))

    def anew(self) -> LazyNotes:
        """The same for another conversation, in which nothing was told yet."""
        return LazyNotes(places=self.places, start=self.start)

    def touched(self, paths: Iterable[Path], standing: Collection[Path] = ()) -> str | None:
        """What is to be told because these files are worked with. `standing` are the files that
        stand in the conversation already."""
        reading, done = self._reading(standing), set[Path]()
        for path in dict.fromkeys(map(_real, paths)):
            self._take(reading, path, done)
        self._told |= dict.fromkeys(note.path for note in reading.notes)
        text = told(reading.notes)
        return f"{_INTRODUCTION}\n\n{text}" if text else None

    def recall(self, texts: Iterable[str]) -> None:
        """What an earlier process told, as it stands in the history."""
        for text in texts:
            self._told |= dict.fromkeys(told_in(text))

    def forget(self) -> None:
        """What was told stands in the conversation no more."""
        self._told.clear()

    def again(self, most: int) -> str | None:
        """What was told, as it is now, in at most `most` bytes; what does not fit as a whole is
        told again when its folder is touched."""
        kept = list[NoteFile]()
        for note in self.later():
            most -= len(told([note]).encode())
            if most < 0:
                break
            kept.append(note)
        self._told = dict.fromkeys(note.path for note in kept)
        return told(kept) or None

    def later(self) -> tuple[NoteFile, ...]:
        """What was told after the start, as it is now."""
        reading = self._reading()
        for path in self._told:
            if (kind := _kind(path)) == "rule":
                reading.take_rule(path, kind, _any)
                reading.take_rule(path, kind)
            else:
                reading.take(path, kind)
        return tuple(reading.notes)

    def _reading(self, standing: Iterable[Path] = ()) -> Reading:
        already = [note.path.resolve() for note in self.start]
        return self.places.reading([*already, *map(_real, standing)])

    def _take(self, reading: Reading, path: Path, done: set[Path]) -> None:
        top = self.places.top.resolve()
        for folder in _down_to(path, top):
            if folder not in done:
                done.add(folder)
                take_folder(reading, folder)
            self._take_rules(reading, rule_files(folder), "rule", path, folder)
        self._take_rules(reading, rule_files(self.places.home, user=True), "user", path, top)

    @staticmethod
    def _take_rules(
        reading: Reading, rules: Iterable[Path], kind: str, path: Path, folder: Path
    ) -> None:
        for rule in rules:
            reading.take_rule(rule, kind, lambda patterns: covers(patterns, path, folder))


def _any(patterns: tuple[str, ...]) -> bool:
    return True


def _down_to(path: Path, top: Path) -> list[Path]:
    """The folders from the top down to the one that the path is, or lies in."""
    holders = [path, *path.parents] if path.is_dir() else [*path.parents]
    return [folder for folder in reversed(holders) if folder.is_relative_to(top)]


def _kind(path: Path) -> str:
    if path.name == "CLAUDE.local.md":
        return "local"
    return "project" if path.name in NAMES else "rule"


def _real(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError):
        return path
