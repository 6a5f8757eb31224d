"""Reading and replacing whole files, so that nothing but the content changes.

A file keeps its mode, owner, extended attributes and its links: the path given is a real one,
so a symlink stays and its target changes. A rename makes the change all at once; a file with
several hard links, or one whose owner or folder forbids the rename, is written in place.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path

from attrs import frozen

from interlock.tools.paths import PathMoved

MAX_WHOLE = 64 * 1024 * 1024  # bytes of a file that is held in memory, for Edit and Write


class NotAFile(Exception):
    """A folder, device or pipe, or too large; the text is for the model."""


class ChangedMeanwhile(Exception):
    """The file is not as it was when the change was worked out."""


@frozen(kw_only=True)
class Written:
    """How a file was written."""

    links: int  # names the file has: 1, or more with hard links


@contextlib.contextmanager
def opened(path: Path, flags: int = os.O_RDONLY) -> Iterator[int]:
    """A descriptor of the regular file at this real path.

    Raises if a part of the path has become a link since it was resolved, and does not wait for
    the other end of a pipe.
    """
    flags |= os.O_NONBLOCK | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0)
    file = os.open(path, flags)
    try:
        status = os.fstat(file)
        if stat.S_ISDIR(status.st_mode):
            raise NotAFile(f"{path} is a folder")
        if not stat.S_ISREG(status.st_mode):
            raise NotAFile(f"{path} is a device, pipe or socket, not a file")
        _same(path, status)
        yield file
    finally:
        os.close(file)


def _same(path: Path, status: os.stat_result) -> None:
    if os.path.realpath(path) != str(path) or not os.path.samestat(status, os.lstat(path)):
        raise PathMoved(f"{path} was replaced by a link while it was opened")


def whole(path: Path) -> bytes:
    """All bytes of a file that is to be changed."""
    with opened(path) as file:
        return _all(path, file)


def _all(path: Path, file: int) -> bytes:
    if os.fstat(file).st_size > MAX_WHOLE:
        raise NotAFile(f"{path} is larger than {MAX_WHOLE >> 20} MiB; change it with a command")
    chunks, size = [], 0
    while chunk := os.read(file, 1 << 20):
        chunks.append(chunk)
        size += len(chunk)
        if size > MAX_WHOLE:
            raise NotAFile(f"{path} grew over {MAX_WHOLE >> 20} MiB while it was read")
    return b"".join(chunks)


def create(path: Path, data: bytes) -> Written:
    """A new file; raises `ChangedMeanwhile` if there is one by now. Folders are made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if os.path.realpath(path) != str(path):
        raise PathMoved(f"{path} now leads through a link")
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    except FileExistsError as error:
        raise ChangedMeanwhile(str(path)) from error
    try:
        _write(file, data)
    except BaseException:
        path.unlink(missing_ok=True)  # half a file that nobody asked for
        raise
    finally:
        os.close(file)
    _sync_folder(path.parent)
    return Written(links=1)


def replace(path: Path, data: bytes, expected: bytes) -> Written:
    """Put `data` where `expected` stands; compared right before, nothing written if it differs."""
    with opened(path) as file:
        status = os.fstat(file)
        if not os.access(path, os.W_OK):
            raise PermissionError(13, "the file is read-only", str(path))
        temporary = _beside(path, file, status, data) if status.st_nlink == 1 else None
        try:
            os.lseek(file, 0, os.SEEK_SET)
            if _all(path, file) != expected:
                raise ChangedMeanwhile(str(path))
            _same(path, os.fstat(file))
            if temporary is None:
                _in_place(path, data)
            else:
                temporary.replace(path)
                temporary = None
                _sync_folder(path.parent)
        finally:
            if temporary is not None:
                temporary.unlink(missing_ok=True)
    return Written(links=status.st_nlink)


def _beside(path: Path, old: int, status: os.stat_result, data: bytes) -> Path | None:
    """The new content in a file of its own, alike in all but content; None if that cannot be."""
    temporary = path.with_name(f".{path.name[:100]}.{secrets.token_hex(6)}.tmp")
    try:
        file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except OSError:
        return None  # the folder takes no new files
    try:
        new = os.fstat(file)
        if (new.st_uid, new.st_gid) != (status.st_uid, status.st_gid):
            os.fchown(file, status.st_uid, status.st_gid)
        # Content first: a secret must at no time be readable by more than before.
        _write(file, data)
        _copy_attributes(old, file)
        os.fchmod(file, stat.S_IMODE(status.st_mode))
    except PermissionError:
        temporary.unlink(missing_ok=True)
        return None  # the owner could not be kept
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    finally:
        os.close(file)
    return temporary


def _in_place(path: Path, data: bytes) -> None:
    with opened(path, os.O_WRONLY) as file:
        _write(file, data)
        os.ftruncate(file, len(data))
        os.fsync(file)


def _write(file: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(file, left) :]
    os.fsync(file)


def _copy_attributes(old: int, new: int) -> None:
    if not hasattr(os, "listxattr"):
        return
    with contextlib.suppress(OSError):
        for name in os.listxattr(old):
            with contextlib.suppress(OSError):
                os.setxattr(new, name, os.getxattr(old, name))


def _sync_folder(folder: Path) -> None:
    """A rename is on disk only when its folder is; some file systems refuse this."""
    with contextlib.suppress(OSError):
        file = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(file)
        finally:
            os.close(file)
