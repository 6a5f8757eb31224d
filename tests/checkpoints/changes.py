"""Changes as the agent makes them, and ways back."""

from __future__ import annotations

import os
from pathlib import Path

from interlock.checkpoints import Checkpoints, Contents, read_log
from interlock.checkpoints.plan import Plan, planned
from interlock.checkpoints.restore import Restored, present, restored
from interlock.tools import disk


def checkpoints_in(folder: Path, **bounds: int) -> Checkpoints:
    where = folder / "session" / "checkpoints"
    return Checkpoints(folder=where, contents=Contents(where, **bounds))


def change(checkpoints: Checkpoints, path: Path, text: str) -> None:
    """As a tool does it: kept first, then made."""
    path = Path(os.path.realpath(path))
    before = path.read_bytes() if path.exists() else None
    checkpoints.before_change(path, before, text.encode())
    if before is None:
        disk.create(path, text.encode())
    else:
        disk.replace(path, text.encode(), before)


def plan_to(checkpoints: Checkpoints, point: str, *force: Path) -> Plan:
    return planned(read_log(checkpoints.log), point, present, frozenset(force))


def rewind(checkpoints: Checkpoints, to: str, undo: str, *force: Path) -> Restored:
    return restored(plan_to(checkpoints, to, *force), checkpoints, undo)
