"""Command lines that need no question: one simple command of a short list, options known.

Short on purpose. `git diff --output=x` writes, `git diff /a /b` reads outside the repository,
`cat` shows any file: a list that is judged by the first word lets such things through.
"""

from __future__ import annotations

import re
from pathlib import Path

from interlock.permissions.lines import Words, plain

_WORD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.^-]*(/[A-Za-z0-9_][A-Za-z0-9_.^-]*)*")
_ECHOED = re.compile(r"[\w.,:+=@%/-]*")
_OPTIONS = {
    "status": r"-s|-b|-sb|--short|--branch|--porcelain|--untracked-files=(no|normal)",
    "diff": r"--stat|--cached|--staged|--name-only|--name-status|--shortstat|--no-color",
    "log": r"--oneline|--stat|--graph|--decorate|--no-color|--all|-[0-9]{1,4}",
}
_SHOWS_CONTENT = frozenset({"diff", "log"})


def harmless(line: str, cwd: Path, folders: tuple[Path, ...], content_too: bool) -> bool:
    """Whether the line only looks, and only inside `folders`.

    `content_too` False: nothing that shows what files hold, for there are files not to be read.
    """
    if not any(cwd.is_relative_to(folder) for folder in folders):
        return False
    words = plain(line)
    if words is None or any(letter in "*?[~!'\"\\#" for letter in line):
        return False
    match words:
        case ("pwd",) | ("git", "branch", "--show-current"):
            return True
        case ("echo", *said):
            return all(_ECHOED.fullmatch(word) for word in said)
        case ("ls", *rest):
            return _only_lists(tuple(rest), cwd, folders)
        case ("git", ("status" | "diff" | "log") as what, *rest):
            return (content_too or what not in _SHOWS_CONTENT) and all(
                re.fullmatch(_OPTIONS[what], word) or _WORD.fullmatch(word) for word in rest
            )
    return False


def _only_lists(rest: Words, cwd: Path, folders: tuple[Path, ...]) -> bool:
    for word in rest:
        if word.startswith("-"):
            if not re.fullmatch(r"-[A-Za-z1]+", word):
                return False
        elif not any((cwd / word).resolve().is_relative_to(folder) for folder in folders):
            return False
    return True
