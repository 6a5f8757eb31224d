"""What a rewind would do to files: worked out from the log and from what they hold now.

Pure: reads and writes nothing. A file goes back if, from the point on, nobody but the agent has
changed it; else it is left, and named with the reason. One that is named in `force` goes back all
the same: what it holds now is kept first, so that can be undone too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from itertools import groupby
from pathlib import Path

from attrs import frozen

from interlock.checkpoints.log import Kept, Log


@frozen(kw_only=True)
class Present:
    """What stands at a path now; `problem` says why nothing can be done there."""

    digest: str | None = None  # None: there is no file
    problem: str | None = None


@frozen(kw_only=True)
class Back:
    """A file that goes back. `to` None: it is removed, the agent made it."""

    path: Path
    now: str | None
    to: str | None
    mode: int | None = None  # for a file that is not there
    folders: tuple[Path, ...] = ()  # made with it; they go if they are empty
    forced: bool = False


@frozen(kw_only=True)
class Left:
    """A file that stays as it is. `can_force`: it would go back if it were named."""

    path: Path
    why: str
    can_force: bool = False


@frozen(kw_only=True)
class Plan:
    """`unknown`: nothing is known of the point, so nothing of what came after it."""

    back: tuple[Back, ...] = ()
    left: tuple[Left, ...] = ()
    unknown: bool = False


def planned(
    log: Log, point: str, present: Callable[[Path], Present], force: Set[Path] = frozenset()
) -> Plan:
    """What it takes to have every file as it was when `point` was reached."""
    since = log.since(point)
    if since is None:
        return Plan(unknown=True)
    back: list[Back] = []
    left: list[Left] = []
    for path, changes in groupby(sorted(since, key=_path), key=_path):
        found = _of_file(tuple(changes), present(path), forced=path in force)
        if isinstance(found, Back):
            back.append(found)
        elif found is not None:
            left.append(found)
    return Plan(back=tuple(back), left=tuple(left))


def _path(change: Kept) -> Path:
    return change.path


def _of_file(changes: Sequence[Kept], now: Present, *, forced: bool) -> Back | Left | None:
    """`changes`: those of one file, in order."""
    first, path = changes[0], changes[0].path
    if now.problem is not None:
        return Left(path=path, why=now.problem)
    if now.digest == first.before:
        return None
    if first.lost is not None:
        return Left(path=path, why=f"what it held was not kept: {first.lost}")
    foreign = _by_others(changes, now.digest)
    if foreign is not None and not forced:
        return Left(path=path, why=foreign, can_force=True)
    return Back(
        path=path,
        now=now.digest,
        to=first.before,
        mode=first.mode,
        folders=first.folders,
        forced=foreign is not None,
    )


def _by_others(changes: Sequence[Kept], now: str | None) -> str | None:
    """How somebody else has changed the file among these changes, or None.

    A change whose `before` still stands was never made: the process was killed, or could not.
    """
    left = {changes[0].before}
    for change in changes:
        if change.before not in left:
            return "somebody else, or a command, changed it between the agent's own changes"
        left = {change.before, change.after}
    if now in left:
        return None
    if now is None:
        return "somebody else, or a command, removed it"
    return "somebody else, or a command, changed it after the agent"
