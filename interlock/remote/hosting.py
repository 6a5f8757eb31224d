"""Runs of other processes' children, kept here: each a session of its own, told as numbered lines.

A line is kept until the run is forgotten, so that a reader who was cut off goes on where it was.
A run that nobody reads for a while is ended: its parent is gone. Knows nothing of HTTP.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from pathlib import Path

import anyio
from anyio.abc import TaskGroup
from attrs import define, field

from interlock.agent import Agent
from interlock.agents.errand import Report
from interlock.errors import InterlockError
from interlock.ledger import Payment
from interlock.permissions import Decision, Gate, Question
from interlock.remote.wire import (
    Answered,
    Asked,
    Left,
    Order,
    Over,
    Paid,
    Refused,
    Said,
    Shown,
    encoded,
)
from interlock.tools import ToolError
from phases.world.messages import encoded as as_bytes

BEAT_S = 2.0  # a line at least as often: else a reader takes the connection for dead
_REMEMBERED_S = 60.0  # after its end, for a reader who was cut off
_MOST_LEFT = 64_000_000  # bytes of one file that is sent back

Opener = Callable[[], AbstractAsyncContextManager[Agent]]


@define(eq=False)
class Answer:
    """A question that waits."""

    came: anyio.Event = field(factory=anyio.Event)
    decision: Decision | None = None


@define(eq=False)
class Hosted:
    """One run, and what it has said so far."""

    id: str
    order: Order
    lines: list[bytes] = field(factory=list)
    over: bool = False
    _changed: anyio.Event = field(factory=anyio.Event)
    _waiting: dict[int, Answer] = field(factory=dict)
    _readers: int = 0
    _turned: anyio.Event = field(factory=anyio.Event)  # readers came or went
    _agent: Agent | None = None
    _stopped: bool = False

    def say(self, said: Said) -> None:
        numbered = {"n": len(self.lines) + 1, **encoded(said)}
        self.lines.append(as_bytes(numbered) + b"\n")
        self.over = isinstance(said, Over | Refused)
        self._changed.set()
        self._changed = anyio.Event()

    async def read(self, after: int) -> AsyncIterator[bytes]:
        """Every line behind that number, and a blank one now and then, to the last."""
        with self._reading():
            at = after
            while True:
                if at < len(self.lines):
                    at += 1
                    yield self.lines[at - 1]
                elif self.over:
                    return
                else:
                    changed = self._changed
                    with anyio.move_on_after(BEAT_S):
                        await changed.wait()
                    if not changed.is_set():
                        yield b"\n"

    async def agree(self, question: Question, decision: Decision) -> Decision:
        """What its parent says to a call; waits for as long as that takes."""
        number = len(self._waiting) + 1
        answer = self._waiting[number] = Answer()
        preview = await question.preview() if question.preview is not None else None
        self.say(Asked(number=number, question=question, decision=decision, preview=preview))
        await answer.came.wait()
        assert answer.decision is not None
        return answer.decision

    def answer(self, answered: Answered) -> bool:
        """Whether such a question waits."""
        waiting = self._waiting.get(answered.number)
        if waiting is None or waiting.came.is_set():
            return False
        waiting.decision = answered.decision
        waiting.came.set()
        return True

    def stop(self) -> None:
        """End it; its report still comes."""
        self._stopped = True
        if self._agent is not None and self._agent.crew.parent is not None:
            self._agent.crew.parent.interrupt.request()

    async def run(self, opener: Opener, grace: float) -> None:
        """To its end, which is told whatever it is."""
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._end_unread, grace)
                async with opener() as agent:
                    report = await self._ran(agent)
                    self._tell_files(agent)
                    folder = str(agent.paths.folder)
                self.say(Over(report=report, folder=folder))
                tasks.cancel_scope.cancel()
        except* (InterlockError, ToolError) as group:
            self.say(Refused(why=str(_first(group))))
        except* Exception as group:
            problem = _first(group)
            self.say(Refused(why=f"{type(problem).__name__}: {problem}"))
        finally:
            if not self.over:
                self.say(Refused(why="the server was ended"))

    async def _ran(self, agent: Agent) -> Report:
        self._agent = agent
        parent = agent.crew.parent
        assert parent is not None
        assert isinstance(parent.gate, Gate)
        parent.gate.above = self.agree
        kept = parent.ledger.paid

        def paid(payment: Payment) -> None:
            kept(payment)
            self.say(Paid(payment=payment))

        parent.ledger.paid = paid
        agent.crew.tree.new_prompt(lambda update: self.say(Shown(update=update)))
        if self._stopped:
            self.stop()
        return await agent.crew.run(self.order.errand(agent.cwd))

    def _tell_files(self, agent: Agent) -> None:
        folder = agent.paths.folder
        spilled = agent.paths.tool_results.glob("*/*")
        runs = (agent.paths.runs / "agents").glob("*")
        for path in (*agent.paths.agents.glob("*"), *runs, *spilled):
            if path.is_file() and path.stat().st_size <= _MOST_LEFT:
                text = path.read_text("utf-8", "replace")
                self.say(Left(name=str(path.relative_to(folder)), text=text))

    # --- its readers -------------------------------------------------------------------------

    @contextmanager
    def _reading(self) -> Iterator[None]:
        self._readers += 1
        self._turn()
        try:
            yield
        finally:
            self._readers -= 1
            self._turn()

    def _turn(self) -> None:
        self._turned.set()
        self._turned = anyio.Event()

    async def _end_unread(self, grace: float) -> None:
        """End it when nobody has read for so long. A run begins unread."""
        while True:
            turned = self._turned
            if self._readers:
                await turned.wait()
                continue
            with anyio.move_on_after(grace) as scope:
                await turned.wait()
            if scope.cancelled_caught:
                self.stop()
                return


@define(kw_only=True, eq=False)
class Host:
    """All runs of one server."""

    opener: Opener
    root: Path
    grace: float  # seconds that a run may go unread
    tasks: TaskGroup | None = None
    runs: dict[str, Hosted] = field(factory=dict)
    closing: bool = False

    def begin(self, order: Order) -> Hosted:
        assert self.tasks is not None
        hosted = Hosted(id=secrets.token_hex(16), order=order)
        self.runs[hosted.id] = hosted
        self.tasks.start_soon(self._follow, hosted)
        return hosted

    def stop(self) -> None:
        """End all runs; each says so to its parent."""
        self.closing = True
        for hosted in self.runs.values():
            hosted.stop()

    async def _follow(self, hosted: Hosted) -> None:
        await hosted.run(self.opener, self.grace)
        if not self.closing:
            await anyio.sleep(_REMEMBERED_S)
        self.runs.pop(hosted.id, None)


def _first(group: BaseException) -> BaseException:
    while isinstance(group, BaseExceptionGroup):
        group = group.exceptions[0]
    return group
