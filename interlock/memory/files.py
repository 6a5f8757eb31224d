"""The note files of a session: what they are, where they lie, how much of each is told.

At its start the user's own are read, then those of the folders from the top of the project down to
the working folder, each `CLAUDE.md` and `AGENTS.md` and its rules, then the user's own ones for
the project (`CLAUDE.local.md`). The nearest stands last: where two disagree, it is the one to
follow. What a file imports with `@path` follows it. Folders further down: `lazily.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from attrs import frozen

from interlock.memory.excluding import NOTHING, Excluded
from interlock.memory.note_file import NoteFile
from interlock.memory.reading import Reading
from interlock.memory.rules import rule_files
from interlock.memory.withheld import Withheld, told_freely

NAMES = ("CLAUDE.md", "AGENTS.md")
LOCAL = "CLAUDE.local.md"


@frozen(kw_only=True)
class Places:
    """Where a session's note files lie. `top` is that of the project: of the git working tree, or
    the working folder itself. Paths are real but for the working folder's own."""

    cwd: Path
    home: Path
    further: tuple[Path, ...] = ()  # what files of the project may import from, too
    excluded: Excluded = NOTHING
    withheld: Withheld = told_freely

    @property
    def folders(self) -> tuple[Path, ...]:
        """From the top of the project down to the working folder."""
        return tuple(_from_the_top(self.cwd))

    @property
    def top(self) -> Path:
        return self.folders[0]

    @property
    def importable(self) -> tuple[Path, ...]:
        return tuple(folder.resolve() for folder in (self.top, self.home, *self.further))

    def reading(self, already: Iterable[Path] = ()) -> Reading:
        """A round through files, but for those that were read `already`."""
        return Reading(
            inside=self.importable,
            home=self.home.resolve(),
            excluded=self.excluded,
            withheld=self.withheld,
            seen=set(already),
        )


def found(
    cwd: Path, home: Path, further: Sequence[Path] = (), excluded: Excluded = NOTHING
) -> tuple[NoteFile, ...]:
    """The note files for a session in `cwd`, each once, in the order in which they are told.

    Files of a project import from the project, the user's folder and `further` folders only.
    """
    return at_start(Places(cwd=cwd, home=home, further=tuple(further), excluded=excluded))


def at_start(places: Places) -> tuple[NoteFile, ...]:
    """Those that are told from the first request on."""
    reading = places.reading()
    for name in NAMES:
        reading.take(places.home / name, "user")
    for rule in rule_files(places.home, user=True):
        reading.take_rule(rule, "user")
    for folder in places.folders:
        take_folder(reading, folder)
    return tuple(reading.notes)


def take_folder(reading: Reading, folder: Path) -> None:
    """Read what lies in one folder of the project, but for rules that are for some files only."""
    for name in NAMES:
        reading.take(folder / name, "project")
        reading.take(folder / ".claude" / name, "project")
    for rule in rule_files(folder):
        reading.take_rule(rule, "rule")
    reading.take(folder / LOCAL, "local")


def told(notes: Sequence[NoteFile]) -> str:
    """The files as one text, each under its path; "" where there is none."""
    parts = []
    for note in notes:
        if note.waits:
            parts.append(f"About the rule {note.path}: {note.problem}")
            continue
        whose = f"imported by {note.importer}" if note.importer else _WHOSE[note.kind]
        head = f"Contents of {note.path} ({whose}):"
        tail = f"\n({note.problem})" if note.problem else ""
        if note.text.strip() or tail:
            parts.append(f"{head}\n\n{note.text.strip()}{tail}")
    return "\n\n".join(parts)


_WHOSE = {
    "user": "the user's own instructions, for all projects",
    "project": "instructions of the project, checked in",
    "rule": "a rule of the project, checked in",
    "local": "the user's own instructions for this project, not checked in",
}
_HEADS = re.compile(
    rf"^Contents of (.+) \((?:imported by .+|{'|'.join(map(re.escape, _WHOSE.values()))})\):$",
    re.MULTILINE,
)


def told_in(text: str) -> Iterator[Path]:
    """The files that stand in a text that `told` has made."""
    return (Path(head[1]) for head in _HEADS.finditer(text))


def _from_the_top(cwd: Path) -> list[Path]:
    """The folders from the top of the git working tree down to `cwd`; without git, `cwd` alone."""
    folders = [cwd, *cwd.parents]
    tops = [at for at, folder in enumerate(folders) if (folder / ".git").exists()]
    return folders[tops[0] :: -1] if tops else [cwd]
