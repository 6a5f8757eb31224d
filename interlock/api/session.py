"""An agent that is open, whoever asks: its life in one task, each prompt in another.

An agent holds task groups and scopes that must be left in the task that entered them. A caller may
open in one task and close in another (a fixture does), or stop reading in the middle of `async
for`, after which Python closes the generator in a task of its own choosing. So neither the agent
nor a prompt ever runs in the caller's task; that only reads what they tell.

The loop is asyncio's: what contains foreign code (`interlock/tools/contained.py`) asks asyncio who
was cancelled.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Sequence
from typing import Annotated, TypeAlias
from uuid import uuid4

import anyio
import anyio.to_thread
from attrs import define, field

from interlock.agent import Agent
from interlock.api.messages import AnyMessage, Init
from interlock.api.opening import Opening
from interlock.api.options import AgentOptions
from interlock.api.result import Result, cost_of, result_of
from interlock.api.telling import Teller
from interlock.errors import UsageError, WrongLoop
from interlock.fitting import Else
from interlock.inbox import Queued
from phases.world.messages import Media, Text
from phases.world.updates import AgentEnded, AgentStarted, Notice, Update

_MEND = Else("is no prompt: give text, or a list of Text and image(...)")
Prompt: TypeAlias = Annotated[str | Sequence[Annotated[Text | Media, _MEND]], _MEND]


@define(eq=False)
class OpenAgent:
    """An open agent. `begun` opens it, `aclose` closes it, both in any task of one event loop."""

    agent: Agent
    opening: Opening
    _life: asyncio.Task[None]
    _over: asyncio.Event
    _untold: list[Update] = field(factory=list)  # what happened between two prompts
    _turn: Turn | None = None

    @classmethod
    async def begun(cls, asked: AgentOptions) -> OpenAgent:
        """Open an agent. Raises InterlockError for what cannot work."""
        loop = running_loop()
        opening = await anyio.to_thread.run_sync(Opening.of, asked, dict(os.environ))
        ready, over = loop.create_future(), asyncio.Event()
        life = loop.create_task(_lived(opening, ready, over), name="interlock agent")
        try:
            agent = await asyncio.shield(ready)
        except BaseException:  # whatever it is, cancellation too: what was begun ends first
            over.set()
            await ended(life)
            raise
        made = cls(agent, opening, life, over)
        made._untold += [Notice("warning", line) for line in opening.warnings]
        agent.idle_show = made._idle
        if opening.asker is not None:
            opening.asker.stop = made.interrupt
        return made

    def interrupt(self) -> None:
        """Stop the prompt under way, if there is one."""
        if self._turn is not None:
            self._turn.interrupt()

    async def aclose(self) -> None:
        """End what runs, and close. May be called twice."""
        if self._turn is not None:
            await self._turn.aclose()
        self._over.set()
        await ended(self._life)
        if not self._life.cancelled() and (error := self._life.exception()) is not None:
            raise error

    async def prompt(
        self, prompt: Prompt, data: str | None, *, last: bool = False
    ) -> AsyncGenerator[AnyMessage, None]:
        """Run a prompt; the last message is its Result. Closed early, it has been interrupted.

        With `last`, agents that still run in the background are ended, and paid for, too.
        """
        if self._life.done():
            raise UsageError("the client is closed; open it: async with Client(…) as client")
        if self._turn is not None:
            raise UsageError("a prompt is under way: wait for its Result, or say() more words")
        turn = self._turn = Turn(agent=self.agent, opening=self.opening, untold=self._untold)
        self._untold = []
        try:
            turn.begin(prompt, data, last=last)
            while not isinstance(message := await turn.next(), Result):
                yield message
            yield message
        finally:
            await turn.aclose()
            self._turn = None

    def _idle(self, update: Update) -> None:
        if isinstance(update, AgentStarted | AgentEnded | Notice):
            self._untold.append(update)


async def _lived(opening: Opening, ready: asyncio.Future[Agent], over: asyncio.Event) -> None:
    try:
        async with opening.agent() as agent:
            opening.insist_on_skills(agent)
            if not ready.done():
                ready.set_result(agent)
            await over.wait()
    except BaseException as error:
        if ready.done():
            raise
        if isinstance(error, asyncio.CancelledError):
            ready.cancel()
        else:
            ready.set_exception(error)


@define(eq=False, kw_only=True)
class Turn:
    """One prompt under way, in a task of its own."""

    agent: Agent
    opening: Opening
    untold: Sequence[Update]
    _said: asyncio.Queue[AnyMessage | Exception | None] = field(factory=asyncio.Queue)
    _scope: anyio.CancelScope = field(factory=anyio.CancelScope)
    _task: asyncio.Task[None] | None = None
    _started: bool = False

    def begin(self, prompt: Prompt, data: str | None, *, last: bool) -> None:
        run = self._run(prompt, data, last)
        self._task = asyncio.get_running_loop().create_task(run, name="interlock prompt")

    async def next(self) -> AnyMessage:
        """The next message. Raises what the prompt raised."""
        message = await self._said.get()
        if isinstance(message, Exception):
            raise message
        if message is None:  # the task was cancelled, and not by us: the loop is being closed
            raise asyncio.CancelledError("the prompt was cancelled from outside")
        return message

    def interrupt(self) -> None:
        """End it as Ctrl-C does: in an ending of the table, with its transcript whole."""
        if self._started:
            self.agent.interrupt()
        elif self._task is not None:  # the task has yet to begin, and forgets interrupts then
            asyncio.get_running_loop().call_soon(self.agent.interrupt)

    async def aclose(self) -> None:
        """Interrupt it and wait for its end."""
        if self._task is None or self._task.done():
            return
        self.interrupt()
        await ended(self._task, self._scope)

    async def _run(self, prompt: Prompt, data: str | None, last: bool) -> None:
        self._started = True
        agent, asked = self.agent, self.opening.asked
        paid_before = cost_of(agent.spent)
        teller = Teller(put=self._said.put_nowait, init=self._init, partial=asked.partial_messages)
        for update in self.untold:
            teller.show(update)
        try:
            with self._scope:
                if isinstance(prompt, str):
                    text = f"{prompt}\n\n{data}" if data else prompt
                    summary = await agent.prompt(text, teller.show, typed=prompt)
                else:
                    parts = (*prompt, *([Text(data)] if data else []))
                    queued = Queued(id=str(uuid4()), content=parts)
                    summary = await agent.prompt(queued, teller.show)
                if last:
                    summary = await agent.settle(summary, teller.show)
                teller.begin()
                self._said.put_nowait(
                    result_of(
                        summary,
                        paid_before=paid_before,
                        transcript=agent.transcript_path,
                        trace=agent.paths.trace(summary.run_id),
                        form=self.opening.form,
                        endings=[one.name for one in asked.endings],
                    )
                )
        except Exception as error:
            self._said.put_nowait(error)
        finally:
            self._said.put_nowait(None)

    def _init(self) -> Init:
        agent = self.agent
        plugins = agent.knowledge.plugins
        return Init(
            session_id=agent.session_id,
            model=agent.model,
            cwd=agent.cwd,
            permission_mode=agent.permission_mode.value,
            tools=agent.tools,
            agents=agent.agents,
            commands=tuple(sorted(agent.knowledge.instructing.commands())),
            servers=tuple(agent.servers.status()),
            plugins=() if plugins is None else tuple(one.name for one in plugins.loaded),
            transcript=agent.transcript_path,
        )


def running_loop() -> asyncio.AbstractEventLoop:
    """The event loop that runs us. Raises WrongLoop where it is not asyncio's."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        raise WrongLoop(
            "no asyncio event loop runs here, and the agent needs one; interlock.run(…) brings its"
            " own, where there is none or in a thread (under trio: trio.to_thread.run_sync)"
        ) from None


async def ended(task: asyncio.Task[None], scope: anyio.CancelScope | None = None) -> None:
    """Wait for the end of `task`, also while we are being cancelled: nothing outlives its caller.

    Who is cancelled once more in the meantime has no patience left: then `scope`, the task's own,
    is cancelled as well.
    """
    cancelled = False
    with anyio.CancelScope(shield=True):
        while not task.done():
            try:
                await asyncio.wait((task,))
            except asyncio.CancelledError:
                cancelled = True
                if scope is not None:
                    scope.cancel()
    if cancelled:
        raise asyncio.CancelledError
