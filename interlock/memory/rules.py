"""Rule files: notes of their own about one matter, `.claude/rules/**/*.md`.

A rule with `paths:` in its front matter is for some files only, and is told when work first
touches one of them (`lazily.py`); the others belong to the session's start.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from interlock.permissions.globs import BadPattern, compiled

_FOLDERS = (".claude/rules", ".interlock/rules")
_MOST = 200  # rule files of one folder; more are no rules that anybody reads


def rule_files(folder: Path, *, user: bool = False) -> list[Path]:
    """The rule files of a folder of the project, or of the user's own, in the order of paths."""
    names = ("rules",) if user else _FOLDERS
    found: list[Path] = []
    for name in names:
        top = folder / name
        if top.is_dir():
            files = (path for path in top.rglob("*.md") if path.is_file())
            found += sorted(islice(files, _MOST))
    return found


def covers(patterns: Iterable[str], path: Path, folder: Path) -> bool:
    """Whether a rule with these `patterns` is for `path`; they count from `folder`."""
    if not path.is_relative_to(folder) or path == folder:
        return False
    parts = path.relative_to(folder).parts
    for pattern in patterns:
        try:
            if compiled(pattern.removeprefix("./")).covers(parts):
                return True
        except BadPattern:
            continue
    return False
