"""A session that nobody else writes meanwhile: to see whether it can go on, and to delete it."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from interlock.errors import SessionBusy, TranscriptError
from interlock.sessions.reading import read

# In the user's folder: what is about to be gone, and no session any more.
ASIDE = ".interlock-deleted"


def insist_on_usable(path: Path) -> None:
    """Raise TranscriptError where the session could not be gone on with just now: it is gone,
    cannot be read, or another process writes it."""
    with held(path):
        read(path)


def delete(path: Path) -> None:
    """Delete the session at `path` with all that lies beside it. Raises TranscriptError."""
    with held(path):
        # The transcript first: what is left after a crash is no session any more.
        try:
            path.unlink()
            put_aside(path.with_suffix(""))
        except OSError as error:
            where = str(error.filename or path)
            problem = f"cannot be deleted: {error.strerror or error}"
            raise TranscriptError(where, problem) from error


def put_aside(folder: Path, stop: Callable[[], bool] = lambda: False) -> None:
    """Take a session's folder away whole, then empty it, as far as `stop` lets it. Raises OSError.

    In one move, since a folder half of whose files are gone still looks like one with runs.
    """
    if not folder.exists():
        return
    aside = folder.parents[2] / ASIDE
    there = aside / f"{folder.name}.{os.getpid()}"
    try:
        aside.mkdir(mode=0o700, exist_ok=True)
        folder.rename(there)
    except OSError:
        shutil.rmtree(folder)  # projects may lie on another disk than home
        return
    emptied(there, stop)
    with suppress(OSError):
        aside.rmdir()


def emptied(folder: Path, stop: Callable[[], bool]) -> None:
    """Delete a folder that was put aside; where `stop` says so, the rest is for another time."""
    for inside, folders, files in os.walk(folder, topdown=False):
        for name in files:
            if stop():
                return
            Path(inside, name).unlink(missing_ok=True)
        for name in folders:
            each = Path(inside, name)
            if each.is_symlink():
                each.unlink(missing_ok=True)
            elif each.exists():
                each.rmdir()
    with suppress(FileNotFoundError):
        folder.rmdir()


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Be its one writer meanwhile. Raises TranscriptError."""
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
