"""Rule files: notes of their own about one matter, `.claude/rules/**/*.md`.

A rule with `paths:` in its front matter is for some files only, and is told when work first
touches one of them (`lazily.py`); the others belong to the session's start.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from attrs import frozen

from interlock.front_matter import Fronted
from interlock.permissions.globs import BadPattern, compiled, literally
from phases.world.messages import Json

_FOLDERS = (".claude/rules", ".interlock/rules")
_MOST = 200  # rule files of one folder; more are no rules that anybody reads
_ESCAPED = re.compile(r"\\.")
_SPAN = re.compile(r"(?P<first>\w)-(?P<last>\w)(?=[^\[]*\])")  # within brackets


@frozen
class Meant:
    """Which files a rule is for, and what is odd in how it says so."""

    patterns: tuple[str, ...]
    problem: str | None = None


def meant_for(front: Fronted) -> Meant | None:
    """The files that a rule names; None for one that is for all."""
    given = front.fields.get("paths")
    if given is None or given in ("", []):
        return None
    if not _is_text(given):
        why = f"paths: {given!r} is no pattern of files, like src/**/*.py"
        return Meant((), f"{why}; so it is for no file, and never told")
    odd = {one: reason for one in front.words("paths") if (reason := _odd(one))}
    patterns = tuple(pattern for pattern in front.words("paths") if pattern not in odd)
    problems = [f"paths: {pattern!r} matches nothing: {why}" for pattern, why in odd.items()]
    if not patterns:
        problems.append("so it is for no file, and never told")
    return Meant(patterns, "; ".join(problems) or None)


def _is_text(given: Json) -> bool:
    if isinstance(given, list):
        return all(isinstance(one, str) for one in given)
    return isinstance(given, str)


def _odd(pattern: str) -> str | None:
    """Why a pattern matches nothing."""
    try:
        compiled(pattern.removeprefix("./"))
    except BadPattern as error:
        return str(error)
    plain = _ESCAPED.sub("", pattern)
    # Such a one stands for itself, which no file is called.
    if any(plain.count(one) > plain.count(other) for one, other in ("[]", "{}")):
        return "a bracket in it is not closed"
    backwards = (found[0] for found in _SPAN.finditer(plain) if found["first"] > found["last"])
    return next((f"{span} runs backwards" for span in backwards), None)


def rule_files(folder: Path, *, user: bool = False) -> list[Path]:
    """The rule files of a folder of the project, or of the user's own, in the order of paths."""
    names = ("rules",) if user else _FOLDERS
    found: list[Path] = []
    for name in names:
        top = folder / name
        if top.is_dir():
            files = (path for path in top.rglob("*.md") if not path.is_dir())
            found += sorted(islice(files, _MOST))
    return found


def covers(patterns: Iterable[str], path: Path, folder: Path) -> bool:
    """Whether a rule with these `patterns` is for `path`; they count from `folder`."""
    if not path.is_relative_to(folder) or path == folder:
        return False
    parts = path.relative_to(folder).parts
    for pattern in patterns:
        plain = pattern.removeprefix("./")
        # Folders are called `[id]`, too.
        for reading in filter(None, (plain, literally(plain))):
            try:
                if compiled(reading).covers(parts):
                    return True
            except BadPattern:
                continue
    return False
