"""Reading what is known to be a file: opening a pipe or a device in its place would never end.

For files that lie where the agent looks by itself, in a project or in the user's folder. A path
that a person names in a flag may be a pipe (`--settings <(…)`) and is no affair of this module.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

_SORTS = (
    (stat.S_ISDIR, errno.EISDIR, "it is a folder"),
    (stat.S_ISFIFO, errno.EINVAL, "it is a pipe, and no file"),
    (stat.S_ISSOCK, errno.EINVAL, "it is a socket, and no file"),
)


def read_regular(path: Path, most: int = -1) -> bytes:
    """The file, or its first `most` bytes. Raises OSError, also for what is no regular file."""
    with open_regular(path) as file:
        return file.read(most)


def open_regular(path: Path) -> BinaryIO:
    """The file, to be read and closed. Raises as `read_regular` does."""
    # Not after a look at the path alone: what is opened may be another thing by then. Without
    # O_NONBLOCK the opening of a pipe waits for a writer.
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        _insist_on_a_file(path, os.fstat(handle).st_mode)
    except OSError:
        os.close(handle)
        raise
    return open(handle, "rb")  # noqa: PTH123 (a descriptor)


def problem_of(path: Path) -> str | None:
    """Why there is something at this path that cannot be a file's text, in words; None for a file
    and where there is nothing."""
    try:
        _insist_on_a_file(path, path.stat().st_mode)
    except OSError as error:
        if error.errno == errno.ELOOP:
            return "it is a link that leads in circles"
        if error.errno == errno.ENOENT and path.is_symlink():
            return "it is a link to nothing"
        return None if error.errno in (errno.ENOENT, errno.ENOTDIR) else error.strerror
    return None


def _insist_on_a_file(path: Path, mode: int) -> None:
    if stat.S_ISREG(mode):
        return
    for is_such, number, words in _SORTS:
        if is_such(mode):
            raise OSError(number, words, str(path))
    raise OSError(errno.EINVAL, "it is a device, and no file", str(path))
