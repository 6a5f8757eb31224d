"""What is written down of each worktree, beside it: so that what a crash left is found and told.

In the user's folder, apart from every project: `worktrees/PROJECT/NAME/` is the tree, `NAME.json`
its record, `NAME.lock` is locked by the process that works in it, for as long as that lives.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import orjson
from attrs import asdict, evolve, fields, frozen

from interlock.home import project_key
from interlock.regular_files import read_regular


class Busy(Exception):
    """Another process works in it."""


@frozen(kw_only=True)
class Worktree:
    """One worktree. Paths are absolute and real."""

    path: Path
    branch: str  # without refs/heads/
    base: str  # the commit that it began from
    top: Path  # of the working tree that it was made from
    common: Path  # the folder of git that all its trees have in common
    gitdir: Path  # the tree's own folder in it
    session_id: str = ""
    agent_id: str = ""
    description: str = ""
    told: bool = False  # somebody was told what is in it

    @property
    def record(self) -> Path:
        return self.path.with_name(f"{self.path.name}.json")

    @property
    def lock(self) -> Path:
        return self.path.with_name(f"{self.path.name}.lock")


def folder_for(home: Path, common: Path) -> Path:
    """Where the worktrees of a repository lie; it is known by the folder that git keeps of it."""
    return home / "worktrees" / project_key(common)


def write(tree: Worktree) -> None:
    """Whole or not at all. Raises OSError."""
    tree.record.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    raw = asdict(tree, value_serializer=lambda _, __, value: _plain(value))
    part = tree.record.with_name(f"{tree.record.name}.part")
    with open(part, "wb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        file.write(orjson.dumps(raw, option=orjson.OPT_INDENT_2) + b"\n")
        file.flush()
        os.fsync(file.fileno())
    part.replace(tree.record)


def tell(tree: Worktree) -> Worktree:
    """Note that somebody was told of it. A disk that is full costs one telling too many."""
    told = evolve(tree, told=True)
    with suppress(OSError):
        write(told)
    return told


def forget(tree: Worktree) -> None:
    for path in (tree.record, tree.lock):
        with suppress(OSError):
            path.unlink()
    with suppress(OSError):  # others may be in it
        tree.path.parent.rmdir()


def all_of(home: Path, common: Path | None = None) -> Iterator[Worktree]:
    """The worktrees that are written down, of one repository or of all, oldest first."""
    folder = home / "worktrees"
    where = folder_for(home, common).name if common is not None else "*"
    dated = []
    for path in folder.glob(f"{where}/*.json"):
        with suppress(OSError):  # gone meanwhile
            dated.append((path.stat().st_mtime_ns, path))
    for _, path in sorted(dated):
        found = _read(path)
        if found is not None:
            yield found


@contextmanager
def held(tree: Worktree) -> Iterator[None]:
    """Be the one who works in it, or looks whether it may go. Raises Busy, OSError."""
    tree.lock.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = os.open(tree.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise Busy(f"{tree.path}: another session works in it") from None
    finally:
        os.close(file)


def _plain(value: object) -> object:
    return str(value) if isinstance(value, Path) else value


def _read(path: Path) -> Worktree | None:
    """None where the record cannot be read: then nothing is known, and nothing is done."""
    try:
        raw = orjson.loads(read_regular(path))
        given = {each.name: raw[each.name] for each in fields(Worktree) if each.name in raw}
        for name in ("path", "top", "common", "gitdir"):
            given[name] = Path(given[name])
        found = Worktree(**given)
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return found if found.record == path else None  # moved or copied: not the one it speaks of
