"""One case: a session is killed at its point, resumed in a new process, and judged.

In the case's own process nothing runs but forks of it: the server, the life that is killed, if
asked for a second life that is killed as it resumes, and the life that has to go on.
"""

from __future__ import annotations

import base64
import signal
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from attrs import frozen

from interlock.options import Resume
from phases.world.messages import Message
from tests.agent.support import Room, living
from tests.crash.fork import Child
from tests.crash.life import Life, Lived, begin, lived, shown
from tests.crash.plays import Play
from tests.crash.seam import Event, Point
from tests.crash.world import AFTERWARDS, Seen, World
from tests.faults.script import Prompt
from tests.model.histories import PIXEL

_POLL_S = 0.005
_LAST_MARK = 2  # of the play that is killed at work: the call with this mark then waits
_PATIENCE_S = 30.0  # for what must end by itself; a good machine needs half a second
Files = dict[Path, bytes]


@frozen(kw_only=True, eq=False)
class Case:
    """What is killed where, and how it goes on."""

    row: str
    column: str
    play: Play
    point: Point | None = None
    at_work: bool = False  # killed from outside, as soon as a command has had its effect
    then: Point | None = None  # where the life that resumes it dies as well
    branches: bool = False  # resumed into a branch of its own, each time
    must: bool = True  # its point has to be reached
    spoils: Callable[[Path], None] | None = None  # does this to the home of what was killed
    finds: str | None = None  # then the law with this name has to find it

    def __str__(self) -> str:
        points = [str(self.point or "at work"), *([f"then {self.then}"] if self.then else [])]
        return f"{self.play.name}: {', '.join(points)}{', branches' if self.branches else ''}"


@frozen(kw_only=True)
class Facts:
    """All that the laws ask about."""

    case: Case
    room: Room
    killed: tuple[bool, ...]  # of the lives that were to die: whether they did
    seen: Seen
    dead: Files  # what lay on the disk when the last of them had died
    after: Files  # and in the end
    resumed: bool  # or there was nothing that could be
    last: Lived | None
    shown: tuple[Message, ...]
    left: tuple[str, ...]  # processes, after the kill and in the end
    logs: tuple[str, ...]

    @property
    def transcript(self) -> Path:
        assert self.last is not None
        (path,) = self.room.home.glob(f"projects/*/{self.last.session_id}.jsonl")
        return path


@frozen(kw_only=True)
class Rehearsed:
    """A play that nobody killed."""

    events: tuple[Event, ...]
    problem: str | None


def rehearse(play: Play) -> Rehearsed:
    """Which events a play comes by."""
    with tempfile.TemporaryDirectory(prefix="crash-") as name:
        folder = Path(name)
        room = _room(folder)
        world = World.begun(play.script, room.work, folder)
        life = Life(play=play, prompts=play.script.prompts, twisted=True, noted=True)
        child = begin(life, room, world.url, folder, "0")
        status = child.wait()
        seen = world.ended()
        found = lived(folder, "0")
        wrong = [*seen.verdict, *([child.said] if status else [])]
        return Rehearsed(
            events=() if found is None else found.events,
            problem="; ".join(wrong) or None,
        )


def judged(case: Case, judge: Callable[[Facts], Sequence[str]]) -> tuple[Sequence[str], bool]:
    """What the laws say of it, and whether it was killed at all."""
    with tempfile.TemporaryDirectory(prefix="crash-") as name:
        folder = Path(name)
        facts = _played(case, folder, _room(folder))
        return judge(facts), all(facts.killed)


def _played(case: Case, folder: Path, room: Room) -> Facts:
    play, left, killed = case.play, list[str](), list[bool]()
    world = World.begun(play.script, room.work, folder)
    points = () if case.point is None else (case.point,)
    first = Life(play=play, prompts=play.script.prompts, points=points, twisted=True)
    children = [begin(first, room, world.url, folder, "1")]
    if case.at_work:
        _kill_at_work(children[0], room)
    killed.append(children[0].wait() == -signal.SIGKILL)
    left += _left(room)
    if case.spoils is not None:
        case.spoils(room.home)
    can = _can_be_resumed(room)
    resume = Resume(fork=case.branches) if can else None
    if case.then is not None:
        second = Life(play=play, prompts=(), points=(case.then,), resume=resume)
        children.append(begin(second, room, world.url, folder, "2"))
        killed.append(children[1].wait() == -signal.SIGKILL)
        left += _left(room)
    dead = _files(room)
    last = Life(play=play, prompts=(Prompt(words=1),), resume=resume, words=AFTERWARDS)
    children.append(begin(last, room, world.url, folder, "3"))
    children[-1].wait()
    left += _left(room)
    return Facts(
        case=case,
        room=room,
        killed=tuple(killed),
        seen=world.ended(),
        dead=dead,
        after=_files(room),
        resumed=can,
        last=lived(folder, "3"),
        shown=tuple(shown(folder)),
        left=tuple(left),
        logs=tuple(child.said for child in children if child.said),
    )


def _room(folder: Path) -> Room:
    room = Room.made(folder / "room")
    (room.work / "pixel.png").write_bytes(base64.b64decode(PIXEL.data))
    return room


def _kill_at_work(child: Child, room: Room) -> None:
    marks = room.work / "marks"
    until = time.monotonic() + _PATIENCE_S
    while child.runs() and time.monotonic() < until:
        if marks.exists() and marks.read_text().count("\n") >= _LAST_MARK:
            child.kill()
            return
        time.sleep(_POLL_S)


def _left(room: Room) -> list[str]:
    """Processes of the session that do not end by themselves, though nobody is there any more."""
    until = time.monotonic() + _PATIENCE_S
    while found := living(room.work):
        if time.monotonic() > until:
            return found
        time.sleep(_POLL_S)
    return []


def _can_be_resumed(room: Room) -> bool:
    """Whether a prompt is on the disk, whole: then it must never be lost again."""
    return any(b"\n" in path.read_bytes() for path in room.home.glob("projects/*/*.jsonl"))


def _files(room: Room) -> Files:
    return {path: path.read_bytes() for path in room.home.rglob("*") if path.is_file()}
