"""One round through note files and what they import: each once, bounded in depth and size."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from attrs import define, evolve, field, frozen

from interlock.front_matter import Fronted, fronted
from interlock.memory.excluding import Excluded
from interlock.memory.imports import Import, imports, is_path, leads_to
from interlock.memory.note_file import NoteFile, left_out, read_note
from interlock.memory.rules import Meant, meant_for
from interlock.memory.withheld import Withheld, belongs_to_the_user, is_text, within_git
from interlock.regular_files import problem_of

MOST = 400_000  # bytes of all files together
DEEPEST = 5  # imports within imports


@frozen(kw_only=True)
class _Rule:
    """A rule file, opened once in a round. Without `front` it is not to be opened."""

    where: Path  # real
    excluded: bool = False
    front: Fronted | None = None
    meant: Meant | None = None


@define(kw_only=True)
class Reading:
    """No file is read twice, so nothing can go round in circles."""

    inside: tuple[Path, ...]  # where files of the project may import from
    home: Path  # the user's own folder, real
    excluded: Excluded
    withheld: Withheld
    seen: set[Path]  # real paths
    named: set[Path] = field(factory=set)  # rules of which it was told what is odd
    notes: list[NoteFile] = field(factory=list)
    _parts: dict[Path, set[range]] = field(factory=dict)  # files of which only lines were read
    _rules: dict[Path, _Rule] = field(factory=dict)  # asked once for each file that is touched
    _size: int = 0

    def take(self, path: Path, kind: str) -> None:
        """Read a file, if there is one, and what it imports."""
        if is_file(path):
            self._take(path, kind, depth=0)
        elif real(path) not in self.seen and (why := problem_of(path)) and not self.excluded(path):
            self.seen.add(real(path))
            self.notes.append(left_out(path, kind, f"left out: {why}"))

    def take_rule(
        self,
        path: Path,
        kind: str,
        wanted: Callable[[tuple[str, ...]], bool] | None = None,
    ) -> None:
        """Read a rule: one for some files only if those are `wanted`; by default they are not, and
        only what is odd in it is told."""
        rule = self._rules.get(path)
        if rule is None:
            rule = self._rules[path] = self._looked_at(path, kind)
        if rule.where in self.seen or rule.excluded:
            return
        front, meant = rule.front, rule.meant
        if front is None:
            # Whom it is for stands in it, and is not looked at.
            if wanted is None:
                self.take(path, kind)
        elif meant is None:
            if wanted is None:
                self._take(path, kind, depth=0, text=front.body, problem=front.problem)
        elif wanted is None:
            if meant.problem is not None and path not in self.named:
                self.notes.append(evolve(left_out(path, kind, meant.problem), waits=True))
        elif wanted(meant.patterns):
            self._take(path, kind, depth=0, text=front.body, problem=meant.problem)

    def _looked_at(self, path: Path, kind: str) -> _Rule:
        excluded = self.excluded(path)
        if excluded or not is_file(path) or self._refusal(path, kind) is not None:
            return _Rule(where=real(path), excluded=excluded)
        front = fronted(read_note(path, kind).text)
        return _Rule(where=real(path), front=front, meant=meant_for(front))

    def _take(
        self,
        path: Path,
        kind: str,
        *,
        depth: int,
        importer: Path | None = None,
        text: str | None = None,
        problem: str | None = None,
        lines: range | None = None,
    ) -> None:
        where = real(path)
        if (lines is None and where in self.seen) or self.excluded(path):
            return
        self.seen.add(where)
        why = self._refusal(path, kind)
        note = read_note(path, kind) if why is None else left_out(path, kind, why)
        if text is not None and note.text:
            note = evolve(note, text=text)
        if lines is not None:
            self._parts.setdefault(where, set()).add(lines)
            note = _cut_to(note, lines)
        self._size += len(note.text.encode())
        if self._size > MOST:
            why = f"left out: with it the notes would be more than {MOST:,} bytes"
            note = evolve(note, text="", problem=why)
        at = len(self.notes)
        self.notes.append(evolve(note, importer=importer))
        problems = [each for each in (note.problem, problem) if each]
        for one in imports(note.text):
            why = self._import(one, note, depth + 1)
            if why is not None:
                problems.append(why)
        self.notes[at] = evolve(self.notes[at], problem="; ".join(problems) or None)

    def _refusal(self, path: Path, kind: str) -> str | None:
        """Why a file is left out, whatever is in it."""
        where = real(path)
        if within_git(where) or within_git(path):
            return "left out: it belongs to the insides of git"
        # Links to texts kept elsewhere are common; one to a key is no note.
        if kind in _CHECKED_IN and not self._is_inside(where) and not is_text(where):
            return f"left out: it is a link to {where}, outside the project and no text"
        why = self.withheld(path)
        return None if why is None else f"left out: {why}"

    def _import(self, one: Import, by: NoteFile, depth: int) -> str | None:
        """Read what is imported; why it is not, in words, where it surely was meant."""
        folder = real(by.path).parent
        path, lines = leads_to(one.written, folder), None
        if not is_file(path) and is_file(leads_to(one.path, folder)):
            path, lines = leads_to(one.path, folder), one.lines
        if path is None or not os.path.lexists(path):
            return f"@{one.written} is not there" if is_path(one.written) else None
        why = self._closed(path, by, depth)
        if why is not None:
            return f"@{one.written} {why}"
        where = real(path)
        if where in self.seen:
            told = self._parts.get(where)
            if told is None or lines in told:
                return None
            if lines is None:
                return f"@{one.written} is not told whole: another import asks for lines of it"
        self._take(where, by.kind, depth=depth, importer=by.path, lines=lines)
        return None

    def _closed(self, path: Path, by: NoteFile, depth: int) -> str | None:
        """Why a path is not imported by this note, in words behind its name."""
        where = real(path)
        if within_git(where) or within_git(path):
            return "is left out: it belongs to the insides of git"
        if not is_file(path):
            return f"is left out: {problem_of(path) or 'it is no file'}"
        if (why := self._others(where, by.kind)) is not None:
            return why
        if (why := self.withheld(path)) is not None:
            return f"is left out: {why}"
        if depth > DEEPEST:
            return f"is left out: it is more than {DEEPEST} imports deep"
        return None

    def _others(self, where: Path, kind: str) -> str | None:
        """Why a note of this kind may not show a file of somebody else."""
        if kind == "user":
            return None
        if not self._is_inside(where):
            # Nobody can tell a CLAUDE.local.md that came with the repository from the user's own.
            if kind in _CHECKED_IN or not is_text(where):
                return "lies outside the project and is left out"
        elif belongs_to_the_user(where, self.home, self.inside):
            return "is left out: a project takes only notes from the user's folder"
        return None

    def _is_inside(self, where: Path) -> bool:
        return any(map(where.is_relative_to, self.inside))


_CHECKED_IN = ("project", "rule")


def is_file(path: Path | None) -> bool:
    return path is not None and os.path.isfile(path)  # noqa: PTH113 (it never raises)


def real(path: Path) -> Path:
    """With its links followed, as far as they lead anywhere: circles raise nothing."""
    return Path(os.path.realpath(path))


def _cut_to(note: NoteFile, lines: range) -> NoteFile:
    every = note.text.splitlines(keepends=True)
    last = min(lines.stop - 1, len(every))
    text = "".join(every[lines.start - 1 : last])
    cut = f"lines {lines.start} to {last} of {len(every)}" if text else "it has no such lines"
    return evolve(note, text=text, problem="; ".join(filter(None, (note.problem, cut))))
