"""A new file that has no name until it is whole, so that a crash leaves nothing of it behind.

Where the file system knows no nameless files it has a name of ours for the while, held by a
lock. `sweep` takes away such names that no living process holds. Knows descriptors and names
only; what is written, and over what, is `disk.py`'s.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from attrs import define

SUFFIX = ".interlock-new"
_MAX_SWEPT = 2_000  # names looked at: a folder of ordinary size, in about a millisecond
_NAMELESS = getattr(os, "O_TMPFILE", 0)


@define
class Fresh:
    """`folder` and `file` are descriptors; `name` is None while there is none."""

    folder: int
    file: int
    name: str | None

    def appear(self, name: str) -> None:
        """Take a name that is free; raises FileExistsError if it is not."""
        if self.name is None:
            self._link(name)
            return
        try:
            os.link(self.name, name, src_dir_fd=self.folder, dst_dir_fd=self.folder)
        except FileExistsError:
            raise
        except OSError:  # a file system without hard links: claim the name, then take it
            os.close(
                os.open(name, os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=self.folder)
            )
            self.replace(name)

    def replace(self, name: str) -> None:
        """Take a name, all at once, from the file that has it."""
        if self.name is None:
            named = _name()
            self._link(named)
            self.name = named
        os.rename(self.name, name, src_dir_fd=self.folder, dst_dir_fd=self.folder)
        self.name = None

    def _link(self, name: str) -> None:
        os.link(
            f"/proc/self/fd/{self.file}",
            name,
            src_dir_fd=self.folder,  # not used, but with it Python follows the link in /proc
            dst_dir_fd=self.folder,
            follow_symlinks=True,
        )


@contextlib.contextmanager
def fresh(folder: int, mode: int) -> Iterator[Fresh]:
    """A new file in this folder; gone at the end unless it took a name."""
    new = _nameless(folder, mode) or _named(folder, mode)
    try:
        yield new
    finally:
        if new.name is not None:
            with contextlib.suppress(OSError):
                os.unlink(new.name, dir_fd=folder)
        os.close(new.file)


def sweep(path: Path, folder: int) -> None:
    """Take away what a process that was killed has left in this folder."""
    with contextlib.suppress(OSError), os.scandir(path) as entries:
        for entry in islice(entries, _MAX_SWEPT):
            if entry.name.endswith(SUFFIX):
                with contextlib.suppress(OSError):
                    _take_away(entry.name, folder)


def _take_away(name: str, folder: int) -> None:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    file = os.open(name, flags, dir_fd=folder)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails while its writer lives
        os.unlink(name, dir_fd=folder)
    finally:
        os.close(file)


def _nameless(folder: int, mode: int) -> Fresh | None:
    if not _NAMELESS:
        return None
    try:
        file = os.open(".", _NAMELESS | os.O_RDWR | os.O_CLOEXEC, mode, dir_fd=folder)
    except OSError:
        return None  # the file system has no such thing; what else is wrong shows with a name
    if not os.path.exists(f"/proc/self/fd/{file}"):  # noqa: PTH110 (a magic link, no path)
        os.close(file)
        return None
    _held(file)
    return Fresh(folder, file, None)


def _named(folder: int, mode: int) -> Fresh:
    while True:
        name = _name()
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        file = os.open(name, flags, mode, dir_fd=folder)
        if _held(file) and os.fstat(file).st_nlink:
            return Fresh(folder, file, name)
        os.close(file)  # swept by another before we held it


def _held(file: int) -> bool:
    """Hold the lock that says a living process writes this."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # no locks here, so a sweep cannot take it away either
    return True


def _name() -> str:
    return f".{secrets.token_hex(6)}{SUFFIX}"
