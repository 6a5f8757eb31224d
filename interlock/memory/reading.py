"""One round through note files and what they import: each once, bounded in depth and size."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from attrs import define, evolve, field, frozen

from interlock.front_matter import fronted
from interlock.memory.excluding import Excluded
from interlock.memory.imports import imports, is_path, leads_to

# A file of rules that a person wrote and reads is far smaller; what is larger is no such file.
LARGEST = 100_000  # bytes
MOST = 400_000  # bytes of all files together
DEEPEST = 5  # imports within imports


@frozen(kw_only=True)
class NoteFile:
    """One file: what of it is told, and why that may not be all."""

    path: Path
    kind: str  # user, project, rule or local
    text: str
    size: int  # bytes of the file
    problem: str | None = None
    importer: Path | None = None  # the file that asked for it


@define(kw_only=True)
class Reading:
    """No file is read twice, so nothing can go round in circles."""

    inside: tuple[Path, ...]  # where files of the project may import from
    excluded: Excluded
    seen: set[Path]  # real paths
    notes: list[NoteFile] = field(factory=list)
    _size: int = 0

    def take(self, path: Path, kind: str) -> None:
        """Read a file, if there is one, and what it imports."""
        if os.path.isfile(path):  # noqa: PTH113 (it never raises)
            self._take(path, kind, depth=0)

    def take_rule(
        self,
        path: Path,
        kind: str,
        wanted: Callable[[tuple[str, ...]], bool] | None = None,
    ) -> None:
        """Read a rule: one for some files only if those are `wanted`; by default they are not."""
        if path.resolve() in self.seen or self.excluded(path):
            return
        front = fronted(_read(path, kind).text)
        paths = front.words("paths")
        if bool(paths) != (wanted is not None):
            return
        if wanted is None or wanted(paths):
            self._take(path, kind, depth=0, text=front.body)

    def _take(
        self,
        path: Path,
        kind: str,
        *,
        depth: int,
        importer: Path | None = None,
        text: str | None = None,
    ) -> None:
        real = path.resolve()
        if real in self.seen or self.excluded(path):
            return
        self.seen.add(real)
        note = evolve(_read(path, kind), importer=importer)
        if text is not None:
            note = evolve(note, text=text)
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
        if real in self.seen:
            return None
        # The user's own file may name what it likes; a project's would show others' files.
        checked_in = by.kind in ("project", "rule")
        if checked_in and not any(map(real.is_relative_to, self.inside)):
            return f"@{written} lies outside the project and is left out"
        if depth > DEEPEST:
            return f"@{written} is left out: it is more than {DEEPEST} imports deep"
        self._take(real, by.kind, depth=depth, importer=by.path)
        return None


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
