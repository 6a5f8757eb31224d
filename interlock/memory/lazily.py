"""Note files of folders below the working folder: told when work first touches one of theirs.

What stands in the conversation is the only memory of what was told: what a compaction has taken
out and nobody has put back is told again at the next touch, also in a session taken up again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from attrs import define, evolve, field

from interlock.memory.files import NAMES, Places, at_start, take_folder, told, told_in
from interlock.memory.note_file import NoteFile, left_out
from interlock.memory.reading import Reading, real
from interlock.memory.rules import covers, rule_files
from interlock.memory.withheld import Withheld

_INTRODUCTION = "These notes belong to the files that you now work with:"


@define(kw_only=True)
class LazyNotes:
    """One conversation's. `start` are the notes that stand in front of every request."""

    places: Places
    start: tuple[NoteFile, ...] = ()
    _told: dict[Path, None] = field(factory=dict, init=False)  # in the order they came
    _waiting: dict[Path, NoteFile] = field(factory=dict, init=False)  # rules, named as odd

    @classmethod
    def of(cls, places: Places) -> LazyNotes:
        return cls(places=places, start=at_start(places))

    def anew(self, withheld: Withheld) -> LazyNotes:
        """The same for another conversation, in which nothing was told yet, with further files
        that must not be."""
        start = tuple(
            left_out(note.path, note.kind, f"left out: {why}", note.size)
            if (why := withheld(note.path))
            else note
            for note in self.start
        )
        return LazyNotes(places=evolve(self.places, withheld=withheld), start=start)

    def touched(self, paths: Iterable[Path], standing: Collection[Path] = ()) -> str | None:
        """What is to be told because these files are worked with. `standing` are the files that
        stand in the conversation already."""
        reading, rules = self._reading(standing), dict[Path, list[Path]]()
        for path in dict.fromkeys(map(real, paths)):
            self._take(reading, path, rules)
        self._told |= dict.fromkeys(note.path for note in reading.notes if not note.waits)
        self._waiting |= {note.path: note for note in reading.notes if note.waits}
        text = told(reading.notes)
        return f"{_INTRODUCTION}\n\n{text}" if text else None

    def recall(self, texts: Iterable[str]) -> None:
        """What an earlier process told, as it stands in the history."""
        for text in texts:
            self._told |= dict.fromkeys(told_in(text))

    def forget(self) -> None:
        """What was told stands in the conversation no more."""
        self._told.clear()
        self._waiting.clear()

    def again(self, most: int) -> str | None:
        """What was told, as it is now, in at most `most` bytes; what does not fit as a whole is
        told again when its folder is touched."""
        kept = list[NoteFile]()
        for note in self.later():
            most -= len(told([note]).encode())
            if most < 0:
                break
            kept.append(note)
        self._told = dict.fromkeys(note.path for note in kept if not note.waits)
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
        waiting = (note for path, note in self._waiting.items() if path not in self._told)
        return (*reading.notes, *waiting)

    def _reading(self, standing: Iterable[Path] = ()) -> Reading:
        already = [note.path for note in self.start if not note.waits]
        reading = self.places.reading(map(real, (*already, *standing)))
        reading.named |= {note.path for note in self.start if note.waits} | self._waiting.keys()
        return reading

    def _take(self, reading: Reading, path: Path, rules: dict[Path, list[Path]]) -> None:
        """`rules` are those of the folders that the round has come through."""
        top, home = self.places.top.resolve(), self.places.home
        for folder in _down_to(path, top):
            if folder not in rules:
                rules[folder] = rule_files(folder)
                take_folder(reading, folder)
            self._take_rules(reading, rules[folder], "rule", path, folder)
        if home / "rules" not in rules:
            rules[home / "rules"] = rule_files(home, user=True)
        self._take_rules(reading, rules[home / "rules"], "user", path, top)

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
