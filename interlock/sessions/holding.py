"""A session that nobody else writes meanwhile: to see whether it can go on, and to delete it."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from interlock.errors import SessionBusy, TranscriptError
from interlock.sessions.reading import read


def insist_on_usable(path: Path) -> None:
    """Raise TranscriptError where the session could not be gone on with just now: it is gone,
    cannot be read, or another process writes it."""
    with _held(path):
        read(path)


def delete(path: Path) -> None:
    """Delete the session at `path` with all that lies beside it. Raises TranscriptError."""
    with _held(path):
        # The transcript first: what is left after a crash is no session any more.
        try:
            path.unlink()
            folder = path.with_suffix("")
            if folder.exists():
                shutil.rmtree(folder)
        except OSError as error:
            where = str(error.filename or path)
            problem = f"cannot be deleted: {error.strerror or error}"
            raise TranscriptError(where, problem) from error


@contextmanager
def _held(path: Path) -> Iterator[None]:
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise TranscriptError(str(path), f"cannot be read: {error.strerror or error}") from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        problem = "another process is writing this session"
        raise SessionBusy(str(path), problem) from None
    finally:
        os.close(file)
