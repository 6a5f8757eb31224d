"""What a command needs of the place it is called from, looked for before it begins."""

from __future__ import annotations

import sys
from pathlib import Path

from interlock.errors import UsageError


def insist_on_stdout() -> None:
    """Raise UsageError where nothing could be printed."""
    if sys.stdout is None:
        raise UsageError("standard output is closed: there is nowhere to put the answer")


def folder_of(given: str | None) -> Path:
    """The folder that `--cwd` names, or this one. Raises UsageError."""
    folder = Path(given or ".").absolute()
    if not folder.is_dir():
        raise UsageError(f"no such folder: {given} (--cwd)")
    return folder
