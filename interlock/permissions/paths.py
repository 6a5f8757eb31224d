"""Whether a path pattern of a rule covers a real path, and which files matter more than others."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from interlock.permissions.globs import compiled, literally

_IGNORES_CASE = sys.platform in ("darwin", "win32")

# A change here is run or obeyed later, by a shell, by git, an editor or by us, without anyone
# having looked.
_GUARDED = frozenset(
    {
        ".bash_login", ".bash_profile", ".bashrc", ".claude", ".claude.json", ".envrc", ".git",
        ".gitconfig", ".gitmodules", ".idea", ".interlock", ".mcp.json", ".profile",
        ".ripgreprc", ".vscode", ".zprofile", ".zshenv", ".zshrc",
    }
)  # fmt: skip


def covers(specifier: str, path: Path, root: Path, either: bool = False) -> bool:
    """Whether a path pattern covers a path. `either`: read in both ways what could be meant in
    two, a leading `/` and brackets, which are a part of some names."""
    readings = [relative(specifier)]
    if either and specifier.startswith("/") and not specifier.startswith("//"):
        readings.append((specifier, Path("/")))
    if either:
        plain = [(literally(pattern), anchor) for pattern, anchor in readings]
        readings += [(pattern, anchor) for pattern, anchor in plain if pattern is not None]
    for pattern, anchor in readings:
        top = anchor or root
        for base in dict.fromkeys((top, real_or_written(top))):
            if path.is_relative_to(base):
                parts = path.relative_to(base).parts
                if compiled(pattern, _IGNORES_CASE).covers(parts):
                    return True
    return False


def relative(specifier: str) -> tuple[str, Path | None]:
    """The pattern, and the folder it counts from; None for the working folder."""
    if specifier.startswith("//"):
        return "/" + specifier.lstrip("/"), Path("/")
    if specifier.startswith("~/"):
        return specifier[1:], Path.home()
    return (specifier[1:] if specifier.startswith("./") else specifier), None


def real(path: Path) -> Path | None:
    """The path with its links followed; None where the system does not let it be followed.

    `/proc/1/root` and its like are links that may not be read: whoever asks must take such a
    path for one that is not known, and never for one that is harmless.
    """
    try:
        return Path(os.path.realpath(path))
    except (OSError, ValueError):
        return None


def real_or_written(path: Path) -> Path:
    """As `real`; where it cannot be followed, the path as it is written."""
    return real(path) or Path(os.path.normpath(Path.cwd() / path))


def expanded_home(path: Path) -> Path:
    """With `~` made the home folder; as it is, where nobody has that name."""
    try:
        return path.expanduser()
    except RuntimeError:
        return path


def is_folder(path: Path) -> bool:
    """Whether it is a folder that may be looked at."""
    try:
        return path.is_dir()
    except OSError:
        return False


def inside(path: Path, folders: tuple[Path, ...]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)


def guarded(path: Path, folders: tuple[Path, ...]) -> bool:
    """Whether a file in the folders steers git, a shell, an editor or the agent itself."""
    return any(
        part.lower() in _GUARDED
        for folder in folders
        if path.is_relative_to(folder)
        for part in path.relative_to(folder).parts
    )
