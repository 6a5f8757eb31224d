"""Landlock, where bubblewrap is missing: this file runs a command that can write to few folders.

Standard library only: it is run by itself, with a bare interpreter, in place of the command
(`python -I -S landlock.py FOLDER... -- ARGV...`), gives up rights and becomes the command. The
kernel holds it and all it starts to that. It cannot hide files; what it can do depends on its
version, and `abi` says which that is.
"""

from __future__ import annotations

import ctypes
import os
import sys

_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446  # the same on every architecture
_VERSION = 1
_PATH_BENEATH = 1
_NO_NEW_PRIVILEGES = 38

# All that changes files, by the version that knows it.
_WRITES = {1: 0b1_1111_1111_0010, 2: 1 << 13, 3: 1 << 14}
_TO_A_FILE = (1 << 1) | (1 << 14)  # write and truncate: all that a rule for a file may hold
_TCP = 0b11  # bind and connect, from version 4
_SCOPES = 0b11  # abstract sockets and signals, from version 6


class _Ruleset(ctypes.Structure):
    _fields_ = (
        ("files", ctypes.c_uint64),
        ("network", ctypes.c_uint64),
        ("scoped", ctypes.c_uint64),
    )


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = (("allowed", ctypes.c_uint64), ("folder", ctypes.c_int32))


def abi() -> int:
    """The version of Landlock that this kernel has in force; 0 for none."""
    if not sys.platform.startswith("linux"):
        return 0
    return max(0, _syscall(_CREATE, None, 0, _VERSION))


def confine(folders: list[str], *, network: bool) -> None:
    """Give up all writing outside `folders`, for good. Raises OSError."""
    version = abi()
    writes = sum(bits for since, bits in _WRITES.items() if since <= version)
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    rules = _Ruleset(writes, 0 if network else _TCP, _SCOPES)
    ruleset = _checked(_syscall(_CREATE, ctypes.byref(rules), size, 0))
    for name in (*folders, "/dev/null", "/dev/tty", "/dev/zero", "/dev/shm"):
        try:
            folder = os.open(name, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue
        allowed = writes if os.path.isdir(name) else writes & _TO_A_FILE  # noqa: PTH112
        rule = _Beneath(allowed, folder)
        _checked(_syscall(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(rule), 0))
        os.close(folder)
    _checked(_libc().prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
    _checked(_syscall(_RESTRICT, ruleset, 0))
    os.close(ruleset)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _syscall(*arguments: object) -> int:
    return int(_libc().syscall(*arguments))


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"landlock: {os.strerror(number)}")
    return result


def _main(arguments: list[str]) -> None:
    at = arguments.index("--")
    network = arguments[0] == "network"
    try:
        confine(arguments[1:at], network=network)
    except OSError as error:
        # Nothing runs where it would run unconfined.
        sys.exit(f"interlock: the command was not run: {error}")
    os.execvp(arguments[at + 1], arguments[at + 1 :])


if __name__ == "__main__":
    _main(sys.argv[1:])
