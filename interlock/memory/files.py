"""The note files that are read at a session's start: what they are, where from, how much of each.

The user's own, then those of the folders from the top of the project down to the working folder,
each `CLAUDE.md` and `AGENTS.md`, then the user's own ones for the project (`CLAUDE.local.md`). The
nearest stands last: where two disagree, it is the one to follow. What a file imports with `@path`
follows it. Knows nothing of requests.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from attrs import define, evolve, field, frozen

from interlock.memory.imports import imports, is_path, leads_to

NAMES = ("CLAUDE.md", "AGENTS.md")
LOCAL = "CLAUDE.local.md"
# A file of rules that a person wrote and reads is far smaller; what is larger is no such file.
LARGEST = 100_000  # bytes
MOST = 400_000  # bytes of all files together
DEEPEST = 5  # imports within imports


@frozen(kw_only=True)
class NoteFile:
    """One file: what of it is told, and why that may not be all."""

    path: Path
    kind: str  # user, project or local
    text: str
    size: int  # bytes of the file
    problem: str | None = None
    importer: Path | None = None  # the file that asked for it


def found(cwd: Path, home: Path, further: Sequence[Path] = ()) -> tuple[NoteFile, ...]:
    """The note files for a session in `cwd`, each once, in the order in which they are told.

    Files of a project import from the project, the user's folder and `further` folders only.
    """
    folders = _from_the_top(cwd)
    inside = tuple(folder.resolve() for folder in (folders[0], home, *further))
    reading = _Reading(inside=inside)
    for path, kind in _places(folders, home):
        if path.is_file():
            reading.take(path, kind, depth=0)
    return tuple(reading.notes)


@define(kw_only=True)
class _Reading:
    """One round through all files; no file is read twice, so nothing can go round in circles."""

    inside: tuple[Path, ...]
    notes: list[NoteFile] = field(factory=list)
    _seen: set[Path] = field(factory=set)
    _size: int = 0

    def take(self, path: Path, kind: str, *, depth: int, importer: Path | None = None) -> None:
        real = path.resolve()
        if real in self._seen:
            return
        self._seen.add(real)
        note = evolve(_read(path, kind), importer=importer)
        self._size += len(note.text.encode())
        if self._size > MOST:
            why = f"left out: with it the notes would be more than {MOST:,} bytes"
            note = evolve(note, text="", problem=why)
        at = len(self.notes)
        self.notes.append(note)
        problems = [note.problem] if note.problem else []
        for written in imports(note.text):
            problem = self._import(written, note, depth + 1)
            if problem is not None:
                problems.append(problem)
        self.notes[at] = evolve(note, problem="; ".join(problems) or None)

    def _import(self, written: str, by: NoteFile, depth: int) -> str | None:
        """Read what is imported; why it is not, in words, where it surely was meant."""
        real = leads_to(written, by.path.resolve().parent)
        if real is None or not os.path.isfile(real):  # noqa: PTH113 (it never raises)
            return f"@{written} is not there" if is_path(written) else None
        if real in self._seen:
            return None
        # The user's own file may name what it likes; a project's would show others' files.
        if by.kind == "project" and not any(map(real.is_relative_to, self.inside)):
            return f"@{written} lies outside the project and is left out"
        if depth > DEEPEST:
            return f"@{written} is left out: it is more than {DEEPEST} imports deep"
        self.take(real, by.kind, depth=depth, importer=by.path)
        return None


def told(notes: Sequence[NoteFile]) -> str:
    """The files as one text, each under its path; "" where there is none."""
    parts = []
    for note in notes:
        whose = f"imported by {note.importer}" if note.importer else _WHOSE[note.kind]
        head = f"Contents of {note.path} ({whose}):"
        tail = f"\n({note.problem})" if note.problem else ""
        if note.text.strip() or tail:
            parts.append(f"{head}\n\n{note.text.strip()}{tail}")
    return "\n\n".join(parts)


_WHOSE = {
    "user": "the user's own instructions, for all projects",
    "project": "instructions of the project, checked in",
    "local": "the user's own instructions for this project, not checked in",
}


def _places(folders: Sequence[Path], home: Path) -> Iterator[tuple[Path, str]]:
    for name in NAMES:
        yield home / name, "user"
    for folder in folders:
        for name in NAMES:
            yield folder / name, "project"
            yield folder / ".claude" / name, "project"
        yield folder / LOCAL, "local"


def _from_the_top(cwd: Path) -> list[Path]:
    """The folders from the top of the git working tree down to `cwd`; without git, `cwd` alone."""
    folders = [cwd, *cwd.parents]
    tops = [at for at, folder in enumerate(folders) if (folder / ".git").exists()]
    return folders[tops[0] :: -1] if tops else [cwd]


def _read(path: Path, kind: str) -> NoteFile:
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
            size = path.stat().st_size
    except OSError as error:
        why = f"it cannot be read: {error.strerror or error}"
        return NoteFile(path=path, kind=kind, text="", size=0, problem=why)
    if b"\0" in data:
        why = "it is no text, and left out"
        return NoteFile(path=path, kind=kind, text="", size=size, problem=why)
    text = data[:LARGEST].decode("utf-8-sig", "replace")
    problem = None
    if len(data) > LARGEST:
        problem = f"the first {LARGEST:,} of {size:,} bytes; use Read for the rest"
    return NoteFile(path=path, kind=kind, text=text, size=size, problem=problem)
