"""Whether a disk has room for what is only a convenience: long outputs, kept whole in files.

The last part of a disk is not theirs: a transcript that cannot be written ends the run.
"""

from __future__ import annotations

import os
from pathlib import Path

KEPT_FREE = 16 << 20  # bytes
FULL = f"under {KEPT_FREE >> 20} MiB are free on its disk"


def has_room(folder: Path, size: int) -> bool:
    """Whether enough stays free beside `size` bytes; where the system cannot say, yes."""
    try:
        there = next(one for one in (folder, *folder.parents) if one.exists())
        disk = os.statvfs(there)
    except (OSError, AttributeError):
        return True
    # Some network file systems count nothing at all.
    return disk.f_blocks == 0 or disk.f_bavail * disk.f_frsize >= size + KEPT_FREE
