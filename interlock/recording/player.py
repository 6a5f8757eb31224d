"""Give back a recorded run at its ports: the same answers, in the same order, or not at all.

Each port takes the next line of the recording and insists that it is the one it asked for; what
the run asks otherwise is a `Parting`. Nothing waits: where the recorded run was cut short, this
one is cancelled at the same place.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import anyio
from anyio import CancelScope
from attrs import define, field, frozen

from interlock.counted import counted
from interlock.errors import InterlockError
from interlock.interrupt import InterruptSignal
from interlock.recording.codec import Pool
from interlock.recording.form import Line, Recording
from phases.world.failures import Failure
from phases.world.loop import Loop, Reply, ToolUseContext
from phases.world.messages import Message, ToolUse
from phases.world.ports import (
    Caption,
    History,
    Mended,
    ModelEvent,
    Piped,
    Ran,
    Request,
    Spoken,
    Summarised,
)

Messages = tuple[Message, ...]


class Again(InterlockError):
    """What a port raised in the recorded run, in its words."""


class Parted(Exception):
    """The run asks for something that the recorded one did not: from here on nothing is known."""


class WentAway(Exception):
    """Here the process of the recorded run went away: nobody knows what came next."""


@frozen
class Parting:
    """The first line at which run and recording part. `line` counts what the ports gave."""

    line: int
    recorded: str
    now: str


@define
class Player:
    """The lines of one recording, given out one by one."""

    recording: Recording
    outside: CancelScope  # around the run: cancelled where the recorded one was, from outside
    pool: Pool = field(factory=Pool)
    signal: InterruptSignal = field(factory=InterruptSignal)
    parting: Parting | None = None
    went_away: bool = False
    scopes: int = 0  # of the interrupt, open now
    _at: int = 0
    _looks: int = 0
    _lines: list[Line] = field(factory=list)

    def __attrs_post_init__(self) -> None:
        for line in self.recording.lines:
            if "message" in line:
                self.pool.add(line["message"])
            else:
                self._lines.append(line)

    def look(self) -> None:
        """The run is about to look whether the user wants to stop."""
        head = self._head()
        if head.get("on") == "interrupt" and self._looks >= head.get("after", 0):
            self._interrupt()
        self._looks += 1

    def coming(self, on: str) -> bool:
        """Whether a port that is at work says this next; the interrupt may come before it."""
        if self._head().get("on") == "interrupt":
            self._interrupt()
        return self._head().get("on") == on

    def broke(self, on: str) -> bool:
        """Whether a port that is silent where all is well was not so."""
        rest = self._lines[self._at : self._at + 2]
        names = [line.get("on") for line in rest]
        return names[:1] == [on] or names == ["interrupt", on]

    def take(self, on: str) -> Any:
        """What the port gave then. Raises what it raised, and Parted."""
        line = self._next(on)
        if "raised" in line:
            raise Again(line["raised"])
        return line.get("gave")

    async def answer(self, on: str) -> Any:
        """The same where the port was waited for, and could be cancelled."""
        line = self._next(on)
        if "cut" in line:
            await self.cut()
        if "raised" in line:
            raise Again(line["raised"])
        return line.get("gave")

    async def cut(self) -> None:
        """Be cancelled, by the interrupt or else from outside."""
        if not (self.scopes and self.signal.requested):
            self.outside.cancel()
        await anyio.sleep_forever()

    def part(self, recorded: str, now: str) -> Parted:
        """The error to raise where the two part. The first one counts."""
        if self.parting is None:
            self.parting = Parting(self._at, recorded, now)
        return Parted(f"parts from the recording at line {self.parting.line}: {now}")

    def left(self) -> str | None:
        """What the recording would have had to say still, or None."""
        return None if self._at >= len(self._lines) else _said(self._lines[self._at])

    def _head(self) -> Line:
        return self._lines[self._at] if self._at < len(self._lines) else {}

    def at_the_end(self) -> bool:
        """Whether all is given out, of a run that was not over then."""
        return not self.recording.over and self._at >= len(self._lines)

    def _next(self, on: str) -> Line:
        if self.went_away or (self.parting is None and self.at_the_end()):
            self.went_away = True
            raise WentAway
        if self._head().get("on") == "interrupt":
            self._interrupt()
        line = self._head()
        if self.parting is not None or line.get("on") != on:
            raise self.part(_said(line) if line else "(the run was over)", on)
        self._at += 1
        self._looks = 0
        return line

    def _interrupt(self) -> None:
        self._at += 1
        self._looks = 0
        self.signal.request()


def _said(line: Line) -> str:
    how = next((key for key in ("raised", "cut") if key in line), "")
    return f"{line.get('on')} {how}".strip()


# --- the ports -------------------------------------------------------------------------------


@frozen
class PlayedModel:
    player: Player

    async def ask(self, request: Request) -> AsyncGenerator[ModelEvent, None]:
        player = self.player
        then: Request = player.pool.decoded(player.take("model.ask"), Request)
        if then != request:
            raise player.part(*_requests(then, request))
        ended = False
        try:
            while player.coming("model.event"):
                yield player.pool.event(player.take("model.event"))
            ended = True
            await player.answer("model.end")
        finally:
            if not ended:
                player.take("model.end")


@frozen
class PlayedExecutor:
    """What the tools did is not done again; the results are written as they were then."""

    player: Player
    results: Callable[[Messages], Awaitable[None]]

    def begin(self, context: ToolUseContext) -> None:
        self.player.take("executor.begin")

    def offer(self, call: ToolUse) -> None:
        self.player.take("executor.offer")

    async def run(self, reply: Reply, context: ToolUseContext) -> Ran:
        player = self.player
        while player.coming("executor.results"):
            await self.results(player.pool.listed(player.take("executor.results")))
        ran: Ran = player.pool.decoded(await player.answer("executor.run"), Ran)
        return ran

    def drop(self) -> Messages:
        return self.player.pool.listed(self.player.take("executor.drop"))


@frozen
class PlayedHistory:
    """The real transcript, broken where it was broken then."""

    player: Player
    history: History

    async def record(self, messages: Messages) -> None:
        await self.history.record(messages)
        await self._broken()

    async def record_mended(self, messages: Messages) -> None:
        await self.history.record_mended(messages)
        await self._broken()

    async def _broken(self) -> None:
        if self.player.broke("history"):
            await self.player.answer("history")


@frozen
class PlayedInterrupt:
    player: Player

    @property
    def requested(self) -> bool:
        self.player.look()
        return self.player.signal.requested

    @contextmanager
    def scope(self) -> Iterator[CancelScope]:
        self.player.look()
        with self.player.signal.scope() as scope:
            self.player.scopes += 1
            try:
                yield scope
            finally:
                self.player.scopes -= 1


@frozen
class PlayedClock:
    player: Player

    def time(self) -> float:
        return float(self.player.take("clock.time"))

    def jitter(self) -> float:
        return float(self.player.take("clock.jitter"))

    async def sleep(self, seconds: float) -> None:
        await self.player.answer("clock.sleep")


@frozen
class PlayedIds:
    player: Player

    def new(self) -> str:
        return str(self.player.take("ids.new"))


@frozen
class PlayedSummaries:
    player: Player

    def start(self, loop: Loop, results: Messages) -> str | None:
        job: str | None = self.player.take("summaries.start")
        return job

    async def collect(self, job: str | None) -> Caption:
        said = await self.player.answer("summaries.collect")
        caption: Caption = self.player.pool.decoded(said, Caption)
        return caption


@frozen
class PlayedMender:
    player: Player

    def mend(self, messages: Messages, *, model: str) -> Mended:
        said = self.player.take("mender.mend")
        if said is None:
            return Mended(messages=messages)
        mended: Mended = self.player.pool.decoded(said, Mended)
        return mended


@frozen
class PlayedPipeline:
    player: Player

    async def prepare(self, loop: Loop) -> Piped:
        said = await self.player.answer("pipeline.prepare")
        piped: Piped = self.player.pool.decoded(said, Piped)
        return piped


@frozen
class PlayedSummariser:
    player: Player

    async def summarise(
        self, loop: Loop, view: Messages, *, trigger: str, media: bool = True
    ) -> Summarised:
        said = await self.player.answer("summariser.summarise")
        made: Summarised = self.player.pool.decoded(said, Summarised)
        return made


@frozen
class PlayedCollapse:
    player: Player

    def staged(self, view: Messages) -> int:
        return int(self.player.take("collapse.staged"))

    async def drain(self, view: Messages) -> tuple[Messages, int]:
        left, committed = await self.player.answer("collapse.drain")
        return self.player.pool.listed(left), committed


@frozen
class PlayedStopHooks:
    player: Player

    async def stop(self, loop: Loop) -> Spoken:
        said = await self.player.answer("stop_hooks.stop")
        spoken: Spoken = self.player.pool.decoded(said, Spoken)
        return spoken

    def stop_failed(self, loop: Loop, failure: Failure) -> None:
        """Nobody hears of it a second time."""


@frozen
class PlayedAttachments:
    player: Player

    async def gather(self, loop: Loop) -> Messages:
        return self.player.pool.listed(await self.player.answer("attachments.gather"))


OPTIONAL: dict[str, Callable[[Player], Any]] = {
    "mender": PlayedMender,
    "pipeline": PlayedPipeline,
    "collapse": PlayedCollapse,
    "summariser": PlayedSummariser,
    "stop_hooks": PlayedStopHooks,
    "attachments": PlayedAttachments,
}


def _requests(then: Request, now: Request) -> tuple[str, str]:
    """Two requests by the first thing in which they differ."""
    for name in ("model", "max_tokens", "purpose"):
        if getattr(then, name) != getattr(now, name):
            told = [f"a request with {name} {getattr(each, name)}" for each in (then, now)]
            return told[0], told[1]
    pairs = zip(then.messages, now.messages, strict=False)
    same = next(
        (at for at, (one, other) in enumerate(pairs) if one != other),
        min(len(then.messages), len(now.messages)),
    )
    told = []
    for each in (then, now):
        there = each.messages[same : same + 1]
        what = f"message {same} is {there[0].kind.value} {there[0].id}" if there else "fewer"
        told.append(f"a request of {counted(len(each.messages), 'message')}; {what}")
    return told[0], told[1]
