"""Runs that are stopped: at which moment, by whom, and how long they took."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

import anyio
from attrs import define, field, frozen
from hypothesis import strategies as st

from interlock.agent import Agent
from interlock.permissions.ask import Answer as Said
from interlock.permissions.decision import Decision, Question
from interlock.scripted import Answer, ScriptedServer, SentRequest, reply, status, tool_use
from phases.world.updates import (
    Recorded,
    RequestStarted,
    Retrying,
    StreamEvent,
    TextArrived,
    ToolProgress,
    ToolStarted,
    Update,
)
from tests.agent.support import Room, Watcher

# How many updates of each kind the long prompt below has, so that few stops come too late.
SHOWN = {
    Recorded: 11,
    RequestStarted: 3,
    Retrying: 1,
    StreamEvent: 60,
    TextArrived: 3,
    ToolProgress: 3,
    ToolStarted: 7,
}
INTERRUPTED = "[The user interrupted here.]"


@frozen(kw_only=True)
class Stop:
    """When and how a run is stopped."""

    at: tuple[type[Update], int]  # after so many updates of this kind
    turns: int  # and so many turns of the event loop
    again: int | None  # and once more, so many turns later: while it is closing
    how: str  # interrupt; cancel: the task, from outside


STOPS = st.builds(
    Stop,
    at=st.sampled_from(sorted(SHOWN.items(), key=str)).flatmap(
        lambda shown: st.tuples(st.just(shown[0]), st.integers(1, shown[1]))
    ),
    turns=st.integers(0, 12),
    again=st.none() | st.integers(0, 8),
    how=st.sampled_from(["interrupt", "interrupt", "interrupt", "cancel"]),
)


@define
class Dealt:
    """A model that gives the answers it was dealt last."""

    hand: Iterator[Answer] = field(factory=lambda: iter(()))

    def deal(self, *answers: Answer) -> None:
        self.hand = iter(answers)

    def __call__(self, request: SentRequest) -> Answer | None:
        return next(self.hand, None)


@frozen
class SlowToAllow:
    """A person who says yes after some turns of the event loop; None: who never answers."""

    turns: int | None = 3
    asked: asyncio.Event = field(factory=asyncio.Event)

    async def ask(self, question: Question, decision: Decision) -> Said:
        self.asked.set()
        if self.turns is None:
            await anyio.sleep_forever()
        for _ in range(self.turns or 0):
            await asyncio.sleep(0)
        return Said(allowed=True, reason="the user allowed it")


def work(room: Room, drip_s: float) -> tuple[Answer, ...]:
    """What the model does with a long prompt: calls side by side, calls in turn, a pause."""
    a, b, c = (str(room.work / name) for name in ("a.txt", "b.txt", "c.txt"))
    return (
        reply(
            "Let me look at both files, and then at what is around them.",
            tool_use("Read", {"file_path": a}),
            tool_use("Read", {"file_path": b}),
            tool_use("Bash", {"command": "echo one; sleep 0.02 & wait; echo two"}),
            tool_use("Write", {"file_path": c, "content": "gamma\n"}),
            tool_use("Glob", {"pattern": "*.txt"}),
            tool_use("Read", {"file_path": c}),
            drip_s=drip_s,
        ),
        status(529, "overloaded_error", "Overloaded"),
        reply("Now the tests.", tool_use("Bash", {"command": "echo three"}), drip_s=drip_s),
        reply("All of it is done.", drip_s=drip_s),
    )


@define
class Stopper:
    """Stops a run at its moment; used as the watcher's `on`."""

    stop: Stop
    acts: Callable[[], object]
    server: ScriptedServer
    seen: int = 0
    started: int = 0  # requests that were announced
    allowed: int | None = None  # requests that may have left, once it has acted
    after: list[Update] = field(factory=list)
    over: bool = False

    def __call__(self, update: Update, number: int) -> None:
        if self.allowed is not None:
            self.after.append(update)
        announces = isinstance(update, RequestStarted | Retrying)
        self.started += announces
        kind, number_of_kind = self.stop.at
        if isinstance(update, kind):
            self.seen += 1
            if self.seen == number_of_kind:
                soon(self.stop.turns, self._act)

    def _act(self) -> None:
        if self.over:
            return  # it would hit the next prompt
        # What was announced in this very moment has not left yet, and never will.
        at_once = not self.stop.turns and self.stop.at[0] in (RequestStarted, Retrying)
        self.allowed = max(len(self.server.requests), self.started - at_once)
        self.acts()
        if self.stop.again is not None:
            soon(self.stop.again, self._act_again)

    def _act_again(self) -> None:
        if not self.over:
            self.acts()


def soon(turns: int, act: Callable[[], object]) -> None:
    """Do it after so many turns of the event loop; 0 means now."""
    if turns == 0:
        act()
    else:
        asyncio.get_running_loop().call_soon(soon, turns - 1, act)


async def stopped(agent: Agent, server: ScriptedServer, stop: Stop) -> tuple[Watcher, Stopper]:
    """Give a long prompt, and stop it."""
    task: asyncio.Task[object]
    before = len(server.requests)

    def cancel() -> None:
        task.cancel()

    stopper = Stopper(stop, cancel if stop.how == "cancel" else agent.interrupt, server)
    stopper.started = before
    watcher = Watcher(stopper)
    task = asyncio.create_task(agent.prompt("Work on it.", watcher))
    await asyncio.wait([task])
    stopper.over = True
    if not task.cancelled():
        task.result()
    return watcher, stopper
