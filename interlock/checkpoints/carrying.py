"""A branch of a session takes its checkpoints along: it can go back to before it began."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path

from interlock.checkpoints.keeper import FOLDER, LOG
from interlock.sessions.transcript import private_folder


def carry_over(source: Path, to: Path) -> None:
    """From one session's folder to another's. Contents are never changed, so a second name for
    each will do where the file system has that. What cannot be carried cannot be rewound there.
    """
    theirs, ours = source / FOLDER, to / FOLDER
    with suppress(OSError):
        private_folder(ours)
        for content in theirs.iterdir():
            if content.name == LOG:
                continue
            with suppress(OSError):
                _second_name(content, ours / content.name)
        shutil.copy(theirs / LOG, ours / LOG)  # last: what it names is there


def _second_name(content: Path, to: Path) -> None:
    try:
        os.link(content, to)
    except FileExistsError:
        pass
    except OSError:
        shutil.copy(content, to)
