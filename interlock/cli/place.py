"""What a command needs of the place it is called from, looked for before it begins.

Every command passes here, `--help` too: nothing is imported that not all of them need.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from interlock.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path


def insist_on_stdout() -> None:
    """Raise UsageError where nothing could be printed."""
    if sys.stdout is None:
        raise UsageError("standard output is closed: there is nowhere to put the answer")


def folder_of(given: str | None) -> Path:
    """The folder that `--cwd` names, or this one. Raises UsageError."""
    from pathlib import Path

    folder = Path(given or ".").absolute()
    if not folder.is_dir():
        raise UsageError(f"no such folder: {given} (--cwd)")
    return folder
