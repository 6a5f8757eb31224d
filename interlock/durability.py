"""When what is written is forced onto the disk: a policy, and the one place that asks for it.

A write that has returned is with the operating system: it survives the death of this process,
not a power cut. `docs/durability.md` says what each policy promises, and a test holds it to that.
Knows files by their descriptors; what is in them, and in which order, is their writers' affair.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable
from enum import StrEnum
from pathlib import Path

from attrs import frozen


class Fsync(StrEnum):
    """What must not happen before the disk has what was written."""

    NEVER = "never"
    PROMPT = "prompt"
    REQUEST = "request"
    ALWAYS = "always"


class Moment(StrEnum):
    """Where a writer stands. What is forced onto the disk then is all that its file holds."""

    PROMPT = "a prompt was written"
    REQUEST = "a request is about to leave"
    EFFECT = "a call that changes something is about to begin"
    END = "a run is over"
    RECORD = "a record was written"


_AT = {
    Fsync.NEVER: frozenset[Moment](),
    Fsync.PROMPT: frozenset({Moment.PROMPT}),
    # With the effects: a call that ran must not be told as one that was never begun.
    Fsync.REQUEST: frozenset({Moment.PROMPT, Moment.REQUEST, Moment.EFFECT, Moment.END}),
    Fsync.ALWAYS: frozenset(Moment),
}
# Pipes, and file systems that have no such thing; a disk that fails says EIO, ENOSPC or EDQUOT.
_HAS_NO_FSYNC = frozenset({errno.EINVAL, errno.ENOSYS, errno.ENOTSUP})


@frozen
class Disk:
    """Forces files onto the disk at the moments of a policy. `fsync` is the system's own."""

    policy: Fsync = Fsync.REQUEST
    fsync: Callable[[int], None] = os.fsync

    def wants(self, moment: Moment) -> bool:
        return moment in _AT[self.policy]

    def sync(self, file: int) -> None:
        """Return when the disk has all of an open file. Raises OSError."""
        try:
            self.fsync(file)
        except OSError as error:
            if error.errno not in _HAS_NO_FSYNC:
                raise

    def sync_folders(self, folders: Iterable[Path]) -> None:
        """The same for the names in these folders: a new file is safe only with its name.

        One that may not be looked into was not made by us.
        """
        for folder in folders:
            try:
                file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            except PermissionError:
                continue
            try:
                self.sync(file)
            finally:
                os.close(file)


def mend_of(error: OSError) -> str:
    """What a person can do about a file that cannot be written."""
    match error.errno:
        case errno.ENOSPC | errno.EDQUOT:
            return "make room on that disk"
        case errno.EFBIG:
            return "raise the limit on file sizes (ulimit -f)"
        case errno.EROFS | errno.EACCES | errno.EPERM:
            return "make it writable, or set INTERLOCK_HOME to a folder that is"
        case errno.EEXIST:
            return "move away the file that stands in its place, or set INTERLOCK_HOME to another"
        case errno.ENOENT | errno.ENOTDIR | errno.ESTALE:
            return "put its folder back, or set INTERLOCK_HOME to another"
        case errno.EIO:
            return "the disk itself failed: look at it before you go on"
        case errno.EMFILE | errno.ENFILE:
            return "raise the limit on open files (ulimit -n)"
    return "set INTERLOCK_HOME to a folder that can be written"
