"""Which sessions are old enough to go, and what must stay because something younger needs it.

Looks only; `cleaning` takes away. Ours is a session that left runs or a state, and in whose
transcript no other program said anything: other agents keep theirs in the same folders, and have
their own ideas of how long.
"""

from __future__ import annotations

import fcntl
import os
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import orjson
from attrs import frozen

from interlock.regular_files import open_regular, read_regular
from interlock.sessions.forking import origins

DAY = 86_400.0  # seconds
_OURS = ("runs", "state.json", "checkpoints")
# Where a file is written under another name first. After a day nobody writes it any more.
_PARTS = (
    "state.json.part",
    "runs/*.part",
    "runs/agents/*.part",
    "subagents/agent-*.json.part",
    "checkpoints/*.part",
)
_COPIES = "*.jsonl.*.part"  # branches that were not copied to their end


@frozen(kw_only=True)
class Stored:
    """A session as it lies there: its transcript, its folder, or one of the two."""

    transcript: Path
    folder: Path

    @property
    def session_id(self) -> str:
        return self.transcript.stem

    @property
    def said(self) -> bool:
        """Whether there is a transcript: without one it is no session any more."""
        return self.transcript.exists()

    def files(self) -> Iterator[os.stat_result]:
        with suppress(OSError):
            yield self.transcript.lstat()
        for inside, _, names in os.walk(self.folder):
            for name in names:
                with suppress(OSError):
                    yield Path(inside, name).lstat()

    @property
    def written(self) -> float:
        """When the last of its files was written; a folder that holds none is as old as itself."""
        newest = max((each.st_mtime for each in self.files()), default=None)
        if newest is not None:
            return newest
        try:
            return self.folder.lstat().st_mtime
        except OSError:
            return 0.0


@frozen(kw_only=True)
class Plan:
    """What goes: sessions, folders whose transcript is gone, files that were never completed.

    A session stands before those that it needs, so that one that has to stay after all can keep
    them: `needs` says which.
    """

    sessions: tuple[Stored, ...] = ()
    folders: tuple[Stored, ...] = ()
    parts: tuple[Path, ...] = ()
    needs: Mapping[str, frozenset[str]] = {}

    @property
    def size(self) -> int:
        """Bytes that the disk gets back: files that a kept branch shares do not count."""
        links: dict[tuple[int, int], int] = {}
        freed = 0
        for one in (*self.sessions, *self.folders):
            for file in one.files():
                key = (file.st_dev, file.st_ino)
                links[key] = links.get(key, 0) + 1
                freed += file.st_size if links[key] == file.st_nlink else 0
        for part in self.parts:
            with suppress(OSError):
                freed += part.lstat().st_size
        return freed


def _never() -> bool:
    return False


def plan(
    home: Path, *, before: float, now: float, stop: Callable[[], bool] = _never
) -> Plan | None:
    """What was last written `before` that moment and may go. None: `stop` said so."""
    kept: list[Stored] = []
    old: list[Stored] = []
    parts: list[Path] = []
    for project in _folders(home / "projects"):
        parts += _older(project.glob(_COPIES), now - DAY)
        for one in _stored(project):
            if stop():
                return None
            (old if _may_go(one, before) else kept).append(one)
            parts += _parts_of(one, now - DAY)
    if not old:  # then nobody has to be asked what it needs
        return Plan(parts=tuple(parts))
    needs = _needs((*kept, *old))
    spared = {one.session_id for one in kept}.union(*(needs[one.session_id] for one in kept))
    going = [one for one in old if one.session_id not in spared]
    # What another one needs has fewer needs than that one.
    going.sort(key=lambda one: len(needs[one.session_id]), reverse=True)
    doomed = {one.folder for one in going}
    return Plan(
        sessions=tuple(one for one in going if one.said),
        folders=tuple(one for one in going if not one.said),
        parts=tuple(part for part in parts if not doomed & set(part.parents)),
        needs=needs,
    )


def _folders(path: Path) -> list[Path]:
    try:
        return sorted(each for each in path.iterdir() if each.is_dir())
    except OSError:
        return []


def _stored(project: Path) -> Iterator[Stored]:
    """All that bears a session's name. A memory folder does not, nor does anything of a user's."""
    try:
        names = {path.stem for path in project.iterdir() if _is_id(path.stem)}
    except OSError:
        return
    for name in sorted(names):
        yield Stored(transcript=project / f"{name}.jsonl", folder=project / name)


def _is_id(name: str) -> bool:
    try:
        return str(uuid.UUID(name)) == name
    except ValueError:
        return False


def _may_go(one: Stored, before: float) -> bool:
    try:
        if one.said and one.transcript.stat().st_mtime >= before:
            return False  # most end here, at the cost of one look
        ours = any((one.folder / name).exists() for name in _OURS)
        if not ours or one.folder.is_symlink() or one.transcript.is_symlink():
            return False
        if one.written >= before:
            return False
        return not one.said or (_is_free(one.transcript) and _is_ours(one.transcript))
    except OSError:
        return False


def _is_free(transcript: Path) -> bool:
    """Whether no process goes on with it just now."""
    with open_regular(transcript) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            pass  # a file system without locks
        return True


def _is_ours(transcript: Path) -> bool:
    """Whether no other program said anything in it. Read whole: what goes does not come back."""
    with open_regular(transcript) as file:
        for line in file:
            try:
                entry = orjson.loads(line)
            except orjson.JSONDecodeError:
                continue  # damaged, or cut off by a crash
            if not isinstance(entry, dict):
                continue
            if entry.get("type") in ("user", "assistant") and "kind" not in entry:
                return False
    return True


def _needs(sessions: Iterable[Stored]) -> dict[str, frozenset[str]]:
    """By session: those that it would miss, at whatever distance."""
    direct: dict[str, frozenset[str]] = {}
    for one in sessions:  # of two with one id, in two folders, either may need it
        direct[one.session_id] = direct.get(one.session_id, frozenset()) | _needed_by(one)
    return {name: _reached(name, direct) for name in direct}


def _reached(name: str, direct: Mapping[str, frozenset[str]]) -> frozenset[str]:
    found: set[str] = set()
    ahead = set(direct[name])
    while ahead:
        each = ahead.pop()
        found.add(each)
        ahead |= direct.get(each, frozenset()) - found
    return frozenset(found)


def _needed_by(one: Stored) -> frozenset[str]:
    """A branch has the history as its own, and its recordings name none but its own. What stays
    with the session it came from are long results; and, until it has a state, how the calls ended
    that a crash left open there.
    """
    try:
        readable = orjson.loads(read_regular(one.folder / "state.json"))["readable"]
        folders = [Path(each) for each in readable]
    except (OSError, ValueError, KeyError, TypeError):
        return frozenset(each.stem for each in origins(one.transcript))
    return frozenset(each.parent.name for each in folders if _holds_anything(each))


def _holds_anything(folder: Path) -> bool:
    try:
        return any(folder.iterdir())
    except OSError:
        return False


def _parts_of(one: Stored, before: float) -> list[Path]:
    if not one.folder.is_dir():
        return []
    return _older((path for each in _PARTS for path in one.folder.glob(each)), before)


def _older(paths: Iterable[Path], before: float) -> list[Path]:
    found = []
    for path in paths:
        with suppress(OSError):
            if path.lstat().st_mtime < before:
                found.append(path)
    return found
