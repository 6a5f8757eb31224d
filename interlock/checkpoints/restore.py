"""Doing what a plan says: each file for itself, safely, and so that it can be taken back again.

Before a file is touched what it holds is kept like before any change of the agent's. A file that
is not as it was when the plan was made, or whose path leads elsewhere by now, is left.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from attrs import frozen

from interlock.checkpoints.contents import Gone, digest
from interlock.checkpoints.keeper import Checkpoints
from interlock.checkpoints.plan import Back, Left, Plan, Present
from interlock.tools import disk
from interlock.tools.paths import PathMoved

_CHANGED = "it was changed while the rewind was shown"


@frozen(kw_only=True)
class Restored:
    """The files that went back, and those that were left after all."""

    back: tuple[Back, ...] = ()
    left: tuple[Left, ...] = ()


def current(path: Path) -> bytes | None:
    """What the file holds; None if there is none. Raises `disk`'s errors."""
    try:
        return disk.whole(path)
    except FileNotFoundError:
        return None


def present(path: Path) -> Present:
    """What stands at this path, and at no other that it leads to now."""
    try:
        data = current(path)
    except PathMoved as error:
        return Present(problem=f"it leads elsewhere now: {error}")
    except disk.NotAFile as error:
        return Present(problem=str(error))
    except OSError as error:
        return Present(problem=f"it cannot be read ({error.strerror or error})")
    return Present(digest=None if data is None else digest(data))


def restored(plan: Plan, checkpoints: Checkpoints, point: str) -> Restored:
    """Bring the plan's files back; `point` is where this can be undone to."""
    checkpoints.begin(point)
    back: list[Back] = []
    left: list[Left] = []
    for each in plan.back:
        problem = _restored(each, checkpoints)
        if problem is None:
            back.append(each)
        else:
            left.append(Left(path=each.path, why=problem))
    return Restored(back=tuple(back), left=(*plan.left, *left))


def _restored(each: Back, checkpoints: Checkpoints) -> str | None:
    """Bring one file back; why that could not be done, or None."""
    try:
        data = None if each.to is None else checkpoints.contents.get(each.to)
        now = current(each.path)
        if (None if now is None else digest(now)) != each.now:
            return _CHANGED
        if not checkpoints.keep(each.path, now, data):
            return "what it holds now cannot be kept, so this could not be undone"
        _put(each, now, data)
    except Gone as problem:
        return str(problem)
    except disk.ChangedMeanwhile:
        return _CHANGED
    except (PathMoved, disk.NotAFile, disk.HalfWritten) as problem:
        return str(problem)
    except OSError as error:
        return f"it cannot be written ({error.strerror or error})"
    return None


def _put(each: Back, now: bytes | None, data: bytes | None) -> None:
    if data is not None:
        if now is None:
            disk.create(each.path, data, each.mode)
        else:
            disk.replace(each.path, data, now)
    elif now is not None:
        disk.remove(each.path, now)
        for folder in reversed(each.folders):
            with contextlib.suppress(OSError):  # somebody put something in it
                folder.rmdir()
