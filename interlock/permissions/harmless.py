"""Command lines that need no question: one simple command of a short list, options known.

Short on purpose. `cat` shows any file, and even `git status` runs what the repository's own
configuration names (fsmonitor, filters, an external diff): a list that is judged by the first
word lets such things through.
"""

from __future__ import annotations

import re
from pathlib import Path

from interlock.permissions.lines import Words, plain

_ECHOED = re.compile(r"[\w.,:+=@%/-]*")


def harmless(line: str, cwd: Path, folders: tuple[Path, ...]) -> bool:
    """Whether the line only looks, and only inside `folders`."""
    if not any(cwd.is_relative_to(folder) for folder in folders):
        return False
    words = plain(line)
    if words is None or any(letter in "*?[~!'\"\\#" for letter in line):
        return False
    match words:
        case ("pwd",):
            return True
        case ("echo", *said):
            return all(_ECHOED.fullmatch(word) for word in said)
        case ("ls", *rest):
            return _only_lists(tuple(rest), cwd, folders)
    return False


def _only_lists(rest: Words, cwd: Path, folders: tuple[Path, ...]) -> bool:
    for word in rest:
        if word.startswith("-"):
            if not re.fullmatch(r"-[A-Za-z1]+", word):
                return False
        elif not any((cwd / word).resolve().is_relative_to(folder) for folder in folders):
            return False
    return True
