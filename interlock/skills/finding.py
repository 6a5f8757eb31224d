"""Where skills and commands lie, and which of two of one name counts.

The user's own go before a project's: a repository takes over no name that its user knows. In a
project `.interlock` goes before `.claude`, and the folder nearer to the work before the farther.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from attrs import field, frozen

from interlock.skills.skill import Kind, Skill, Unreadable, load

FILE = "SKILL.md"
MOST = 500  # skills and commands of one folder; what is more is told as a problem
_DEEPEST = 4  # folders within `skills`; they are no place for whole trees
_IN_PROJECT = (".interlock", ".claude")


@frozen(kw_only=True)
class Problem:
    """A file that could not be used, or not as it stands."""

    path: Path
    words: str
    line: int | None = None
    unusable: bool = False

    @property
    def place(self) -> str:
        return str(self.path) if self.line is None else f"{self.path}:{self.line}"


@frozen(kw_only=True)
class Catalogue:
    """What was found. `shadowed` have a name that another one has taken."""

    skills: dict[str, Skill] = field(factory=dict)
    shadowed: tuple[Skill, ...] = ()
    problems: tuple[Problem, ...] = ()


Mark = tuple[Path, int, int]  # a file as it is now: path, time of its last change, size


# Why a file must not be told, in words; None where it may be.
Withheld = Callable[[Path], str | None]


def told_freely(path: Path) -> str | None:
    """No rule keeps anything back."""
    return None


def catalogue(
    home: Path,
    folders: Sequence[Path],
    withheld: Withheld = told_freely,
    shipped: Sequence[Skill] = (),
) -> Catalogue:
    """All there is, but for what is withheld. `folders` are those of the project, the most
    important last; `shipped` come with plugins, and give way to all others."""
    skills: dict[str, Skill] = {}
    shadowed, problems = list[Skill](), list[Problem]()

    def take(found: Skill) -> None:
        problems.extend(
            Problem(path=found.path, words=odd.words, line=odd.line) for odd in found.problems
        )
        if skills.setdefault(found.name, found) is not found:
            shadowed.append(found)

    for path, name, kind, origin in _files(home, folders):
        if (why := withheld(path) or _leads_elsewhere(path)) is not None:
            problems.append(Problem(path=path, words=f"left out: {why}"))
            continue
        try:
            take(load(path, name=name, kind=kind, origin=origin))
        except Unreadable as error:
            problems.append(Problem(path=path, words=str(error), unusable=True))
    for one in shipped:
        if (why := withheld(one.path)) is not None:
            problems.append(Problem(path=one.path, words=f"left out: {why}"))
        else:
            take(one)
    return Catalogue(skills=skills, shadowed=tuple(shadowed), problems=tuple(problems))


def _leads_elsewhere(path: Path) -> str | None:
    """A link to instructions kept elsewhere is common; one to a key is none of them, and its
    first line would stand in the list."""
    real = Path(os.path.realpath(path))
    if real.is_file() and real.suffix.lower() != ".md":
        return f"it is a link to {real}, which is no text"
    return None


def marks(home: Path, folders: Sequence[Path]) -> tuple[Mark, ...]:
    """What tells whether anything has changed since: cheap enough to ask between two turns."""
    found = []
    for path, *_ in _files(home, folders):
        try:
            seen = path.stat()
        except OSError:
            continue
        found.append((path, seen.st_mtime_ns, seen.st_size))
    return tuple(found)


def _files(home: Path, folders: Sequence[Path]) -> Iterator[tuple[Path, str, Kind, str]]:
    """Every file with its name, the most important first."""
    yield from _of(home, "user")
    for folder in reversed(folders):
        for name in _IN_PROJECT:
            yield from _of(folder / name, "project")


def _of(folder: Path, origin: str) -> Iterator[tuple[Path, str, Kind, str]]:
    skills, commands = folder / "skills", folder / "commands"
    for path in _sorted(skills, f"*/{FILE}"):
        holder = path.parent.relative_to(skills).parts
        if len(holder) <= _DEEPEST:
            yield path, ":".join(holder), Kind.SKILL, origin
    for path in _sorted(commands, "*.md"):
        yield (
            path,
            ":".join(path.relative_to(commands).with_suffix("").parts),
            Kind.COMMAND,
            origin,
        )


def _sorted(folder: Path, pattern: str) -> list[Path]:
    if not folder.is_dir():
        return []
    try:
        return sorted(islice((path for path in folder.rglob(pattern) if not path.is_dir()), MOST))
    except OSError:
        return []
