"""Reading and replacing whole files, so that nothing but the content changes.

A file keeps its mode, owner, extended attributes and its links: the path given is a real one,
so a symlink stays and its target changes. A rename makes the change all at once; a file with
several hard links, or one whose owner or folder forbids the rename, is written in place. All is
done relative to a folder that was opened once, so no link put in meanwhile leads astray.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from attrs import frozen

from interlock.tools.fresh import Fresh, fresh, sweep
from interlock.tools.paths import PathMoved

MAX_WHOLE = 64 * 1024 * 1024  # bytes of a file that is held in memory, for Edit and Write
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC
# A file that something is mounted on, as containers do it, cannot be renamed over.
_NO_RENAME = frozenset({errno.EBUSY, errno.EXDEV})


class NotAFile(Exception):
    """A folder, device or pipe, or too large; the text is for the model."""


class ChangedMeanwhile(Exception):
    """The file is not as it was when the change was worked out."""


class HalfWritten(Exception):
    """Writing in place broke off, and the old content could not be put back."""


@frozen(kw_only=True)
class Written:
    """How a file was written."""

    links: int  # names the file has: 1, or more with hard links
    in_place: bool = False  # not all at once


@contextlib.contextmanager
def opened(path: Path, flags: int = os.O_RDONLY) -> Iterator[int]:
    """A descriptor of the regular file at this real path.

    Raises if a part of the path has become a link since it was resolved, and does not wait for
    the other end of a pipe.
    """
    with _folder(path.parent) as folder, _opened(path, folder, flags) as file:
        yield file


@contextlib.contextmanager
def _opened(path: Path, folder: int, flags: int = os.O_RDONLY) -> Iterator[int]:
    # Looked at before it is opened: to open a device may already do something.
    _require_file(path, os.stat(path.name or ".", dir_fd=folder, follow_symlinks=False))
    flags |= os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW
    file = os.open(path.name, flags, dir_fd=folder)
    try:
        _require_file(path, os.fstat(file))
        yield file
    finally:
        os.close(file)


def _require_file(path: Path, status: os.stat_result) -> None:
    if stat.S_ISLNK(status.st_mode):
        if os.path.realpath(path) == str(path):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
        raise PathMoved(f"{path} was replaced by a link")
    if stat.S_ISDIR(status.st_mode):
        raise NotAFile(f"{path} is a folder")
    if not stat.S_ISREG(status.st_mode):
        raise NotAFile(f"{path} is a device, pipe or socket, not a file")


@contextlib.contextmanager
def _folder(path: Path) -> Iterator[int]:
    """A descriptor of the folder at this real path, and of no other."""
    folder = os.open(path, _FOLDER)
    try:
        if not _leads_to(folder, path):
            raise PathMoved(f"a part of {path} was replaced by a link")
        yield folder
    finally:
        os.close(folder)


def _leads_to(folder: int, path: Path) -> bool:
    try:
        return Path(f"/proc/self/fd/{folder}").readlink() == path
    except OSError:  # no /proc
        return os.path.realpath(path) == str(path) and os.path.samestat(
            os.fstat(folder), path.stat()
        )


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


# --- a new file ------------------------------------------------------------------------------


def create(path: Path, data: bytes, mode: int | None = None) -> Written:
    """A new file; raises `ChangedMeanwhile` if there is one by now. Folders are made.

    `mode` is the one it once had; None: as new files have it here.
    """
    with _made(path.parent) as folder:
        with fresh(folder, 0o666 if mode is None else 0o600) as new:
            _write(new.file, data)
            if mode is not None:
                os.fchmod(new.file, mode)
            try:
                new.appear(path.name)
            except FileExistsError as error:
                raise ChangedMeanwhile(str(path)) from error
        sweep(path.parent, folder)
        _sync_folder(path.parent)
    return Written(links=1)


@contextlib.contextmanager
def _made(path: Path) -> Iterator[int]:
    """The folder, made with those on its way; what was made goes again if the rest fails."""
    top, missing = path, list[Path]()
    while not os.path.lexists(top):
        missing.insert(0, top)
        top = top.parent
    made: list[Path] = []
    try:
        with contextlib.ExitStack() as stack:
            folder = stack.enter_context(_folder(top))
            for one in missing:
                with contextlib.suppress(FileExistsError):  # made by another just now
                    os.mkdir(one.name, dir_fd=folder)
                    made.append(one)
                folder = os.open(one.name, _FOLDER | os.O_NOFOLLOW, dir_fd=folder)
                stack.callback(os.close, folder)
            yield folder
    except BaseException:  # however we leave, no empty folders stay behind
        for one in reversed(made):
            with contextlib.suppress(OSError):  # someone put something in it
                one.rmdir()
        raise


# --- a file that exists ----------------------------------------------------------------------


def replace(path: Path, data: bytes, expected: bytes) -> Written:
    """Put `data` where `expected` stands; compared right before, nothing written if it differs."""
    with _folder(path.parent) as folder, _opened(path, folder) as file:
        status = os.fstat(file)
        if not status.st_mode & 0o222 or not os.access(path.name, os.W_OK, dir_fd=folder):
            mode = stat.S_IMODE(status.st_mode)
            raise PermissionError(errno.EACCES, f"it is read-only (mode {mode:04o})", str(path))
        in_place = status.st_nlink > 1
        if not in_place:
            in_place = not _replaced(path, folder, file, data, expected)
        if in_place:
            _require_unchanged(path, folder, file, expected)
            _overwrite(path, folder, data, expected)
        else:
            sweep(path.parent, folder)
            _sync_folder(path.parent)
    return Written(links=status.st_nlink, in_place=in_place)


def remove(path: Path, expected: bytes) -> None:
    """Take the file away if it holds `expected`; nothing is done if it differs."""
    with _folder(path.parent) as folder, _opened(path, folder) as file:
        _require_unchanged(path, folder, file, expected)
        os.unlink(path.name, dir_fd=folder)
        _sync_folder(path.parent)


def _replaced(path: Path, folder: int, file: int, data: bytes, expected: bytes) -> bool:
    """Put a new file in the old one's place; False if that cannot be without a loss."""
    with contextlib.ExitStack() as stack:
        try:
            new = stack.enter_context(fresh(folder, 0o600))
        except OSError:
            return False  # the folder takes no new files
        if not _made_alike(new, file, data):
            return False
        _require_unchanged(path, folder, file, expected)
        try:
            new.replace(path.name)
        except OSError as error:
            if error.errno in _NO_RENAME:
                return False
            raise
    return True


def _made_alike(new: Fresh, old: int, data: bytes) -> bool:
    """Give the new file its content and all else that the old one has."""
    status, mine = os.fstat(old), os.fstat(new.file)
    try:
        if (mine.st_uid, mine.st_gid) != (status.st_uid, status.st_gid):
            os.fchown(new.file, status.st_uid, status.st_gid)
    except OSError:
        return False  # the owner could not be kept
    # Content first: a secret must at no time be readable by more than before.
    _write(new.file, data)
    _copy_attributes(old, new.file)
    os.fchmod(new.file, stat.S_IMODE(status.st_mode))
    return True


def _require_unchanged(path: Path, folder: int, file: int, expected: bytes) -> None:
    """Raise unless the file still holds `expected` and still has its name."""
    os.lseek(file, 0, os.SEEK_SET)
    try:
        named = os.stat(path.name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError as error:
        raise ChangedMeanwhile(str(path)) from error
    if not os.path.samestat(named, os.fstat(file)) or _all(path, file) != expected:
        raise ChangedMeanwhile(str(path))


def _overwrite(path: Path, folder: int, data: bytes, expected: bytes) -> None:
    """Write in place. If that fails, for want of space say, the old content is put back."""
    with _opened(path, folder, os.O_WRONLY) as file:
        try:
            if len(data) > len(expected) and hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file, len(expected), len(data) - len(expected))
            _write(file, data)
            os.ftruncate(file, len(data))
            os.fsync(file)
        except OSError as error:
            _put_back(path, folder, file, expected, error)
            raise


def _put_back(path: Path, folder: int, file: int, expected: bytes, why: OSError) -> None:
    with contextlib.suppress(OSError):
        os.ftruncate(file, min(os.fstat(file).st_size, len(expected)))
        os.lseek(file, 0, os.SEEK_SET)
        _write(file, expected)
    with _opened(path, folder) as again:
        if _all(path, again) != expected:
            raise HalfWritten(f"{path} was written in part only ({why.strerror})") from why


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
