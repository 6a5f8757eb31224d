"""Whole lines at the end of a file that others may append to as well."""

from __future__ import annotations

import os


def append_line(file: int, line: bytes) -> None:
    """Write `line` and its end. `file` is open for reading and appending. Raises OSError.

    A crash may have cut what stands last: a line of its own must not be glued to it.
    """
    size = os.fstat(file).st_size
    torn = bool(size) and os.pread(file, 1, size - 1) != b"\n"
    rest = memoryview(b"\n" * torn + line + b"\n")
    while rest:
        rest = rest[os.write(file, rest) :]
