"""From what the model writes as a path to the one real path that is judged and opened."""

from __future__ import annotations

import difflib
import os
import stat
from itertools import islice
from pathlib import Path

_MAX_NEIGHBOURS = 5_000  # names looked at for a suggestion
_BRIEF = 400  # characters; a whole path can be 4,096 bytes, one from `cd` into `cd` longer


class BadPath(Exception):
    """A path that no file can have; the text is for the model."""


class PathMoved(Exception):
    """The path led elsewhere when it was judged: a link was changed in between."""


def unusable(folder: Path) -> str | None:
    """Why nothing can be done in a folder (any more), as the end of a sentence; None if it can.

    It may be deleted, closed to this user, or too deep to be named by its whole path.
    """
    try:
        is_there = stat.S_ISDIR(folder.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        is_there = False
    except OSError as error:
        return f"can no longer be reached ({error.strerror})"
    if not is_there:
        return "no longer exists"
    return None if os.access(folder, os.X_OK) else "can no longer be entered (Permission denied)"


def brief(path: Path) -> str:
    """The path for a note: of one that is too long to be read, both ends."""
    text = str(path)
    return text if len(text) <= _BRIEF else f"{text[: _BRIEF // 2]}...{text[-_BRIEF // 2 :]}"


def absolute(written: str, cwd: Path) -> Path:
    """The path made absolute, `.` and `..` taken away as text, links kept."""
    if not written:
        raise BadPath("the path is empty")
    if "\0" in written:
        raise BadPath("a path cannot hold a NUL character")
    try:
        os.fsencode(written)
        home = Path(written).expanduser() if written.startswith("~") else Path(written)
    except (UnicodeEncodeError, RuntimeError) as error:
        raise BadPath(f"{written!r} cannot be a path: {error}") from error
    if not home.is_absolute() and (why := unusable(cwd)) is not None:
        # Elsewhere is never what was meant, and a deleted folder is not brought back by a name.
        raise BadPath(f"the folder {brief(cwd)} {why}; give {written!r} as an absolute path")
    return Path(os.path.normpath(cwd / home))


def resolved(written: str, cwd: Path) -> Path:
    """The real path: links followed, also those whose target does not exist yet.

    `..` is taken after links are, as the system does it, so nothing is normalised before.
    """
    absolute(written, cwd)
    try:
        return Path(os.path.realpath(cwd / Path(written).expanduser()))
    except (OSError, ValueError) as error:
        raise BadPath(f"{written!r} cannot be resolved: {error}") from error


def shown(path: Path, cwd: Path) -> str:
    """The path as short as it can be said: relative below `cwd`, else absolute."""
    if path.is_relative_to(cwd):
        return str(path.relative_to(cwd))
    return str(path)


def near(path: Path) -> str:
    """A hint at names like the one that does not exist; empty without one."""
    parent = path.parent
    try:
        with os.scandir(parent) as entries:
            names = [entry.name for entry in islice(entries, _MAX_NEIGHBOURS)]
    except FileNotFoundError:
        return f" The folder {parent} does not exist either."
    except OSError:
        return ""
    by_folded = {name.casefold(): name for name in names}
    close = difflib.get_close_matches(path.name.casefold(), by_folded, n=3, cutoff=0.6)
    same_stem = [name for name in names if Path(name).stem == path.stem]
    found = list(dict.fromkeys([*(by_folded[name] for name in close), *same_stem]))[:3]
    return f" Did you mean {' or '.join(str(parent / name) for name in found)}?" if found else ""
