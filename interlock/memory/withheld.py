"""What may be told to the model unasked, and what not: asked before any file is opened.

The rules that keep a file back are the permissions' affair and come from outside; here are the
files that no rule can open to a project's notes: the insides of git, which hold addresses with
passwords, and what belongs to the user alone.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

# Why the model must not be told a file, in words; None where it may be.
Withheld = Callable[[Path], str | None]

_TEXTS = frozenset({".markdown", ".md", ".mdc", ".mdx", ".rst", ".txt"})
_OF_OTHERS = frozenset({"agent-memory", "projects"})  # of the user's folder: memories, sessions


def told_freely(path: Path) -> str | None:
    """No rule keeps anything back."""
    return None


def within_git(path: Path) -> bool:
    """Whether a real path lies in the insides of a repository."""
    return ".git" in map(str.lower, path.parts)


def is_text(path: Path) -> bool:
    """Whether it is called as notes are; keys and settings are not."""
    return path.suffix.lower() in _TEXTS


def belongs_to_the_user(path: Path, home: Path, inside: tuple[Path, ...]) -> bool:
    """Whether a real path in the user's folder is no note: settings, keys, what other projects
    have said and remember. A project that lies within that folder is none of that."""
    if not path.is_relative_to(home) or path == home:
        return False
    within = (folder for folder in inside if folder != home and folder.is_relative_to(home))
    if any(map(path.is_relative_to, within)):
        return False
    return not is_text(path) or path.relative_to(home).parts[0] in _OF_OTHERS
