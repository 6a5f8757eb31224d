"""The session at a terminal: what is typed becomes a prompt, or waits while the agent works.

Every line goes through the agent's queue, so the rules of the queue hold here as everywhere: words
typed during a run are read between two turns, slash commands wait until it is over (but for those
that only look). Knows neither how keys are read (`terminal`) nor what commands do (`commands`).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Protocol

import anyio
from attrs import define, field

from interlock.agent import Agent
from interlock.cli import commands
from interlock.cli.render import Live
from interlock.cli.verdict import line_of
from interlock.errors import InterlockError
from interlock.inbox import Mode, Queued
from interlock.options import Resume
from interlock.tools import Person
from phases.world.updates import Show

_READ = "(the agent reads it at its next stop)"
_RUN = "(done when the agent has finished)"
_THEN = "(read when that command is done)"


class Keys(Protocol):
    """Where lines come from."""

    def lines(self, interrupt: Interrupting) -> AsyncIterator[str]:
        """Each line that is typed; ends when the person leaves."""
        ...

    def say(self, text: str) -> None: ...

    def leave(self) -> None:
        """End `lines`, as if the person had left."""
        ...


class Interrupting(Protocol):
    def __call__(self) -> bool:
        """Stop what runs; whether anything did."""
        ...


@define(kw_only=True)
class Interactive:
    """One agent at one terminal, until the person leaves or asks for another session."""

    agent: Agent
    keys: Keys
    live: Live
    person: Person
    fresh: Callable[[], None]  # called before each prompt: what stopped the last one is past
    watching: Callable[[Show], Show] = lambda show: show  # what else follows a prompt
    ended: commands.End | None = None
    next_session: Resume | None = None  # the one to go on with, where it ends so
    # Typed behind a command that waits: they are for what there is after it.
    held: list[str] = field(factory=list)
    _busy: bool = False
    _typed: anyio.Event = field(factory=anyio.Event)

    async def run(self, first: Sequence[str]) -> commands.End:
        """Work until it is over; `first` are the lines that were given before it began.

        What was typed and not read by then is `unread`.
        """
        end = commands.End.LEAVE
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._work)
            for line in first:
                await self._take(line)
            async for line in self.keys.lines(self._interrupt):
                await self._take(line)
            end = self.ended = self.ended or end
            self.agent.interrupt()  # the run under way closes its transcript before it is over
            self._typed.set()
        return end

    async def _take(self, line: str) -> None:
        if not line.strip():
            return
        command = commands.find(line)
        if command is not None and command.at_once:
            await self._command(command, line)
            return
        waits = self.held or any(one.is_command for one in self.agent.waiting.messages)
        if waits:
            self.held.append(line)
        else:
            self.agent.queue(line)
        if self._busy:
            self.keys.say(_THEN if waits else _READ if command is None else _RUN)
        self._typed.set()

    @property
    def unread(self) -> tuple[str, ...]:
        """What was typed and nobody has read."""
        waiting = (one.text for one in self.agent.waiting.messages if one.mode is Mode.PROMPT)
        return (*waiting, *self.held)

    def _let_go(self) -> None:
        """A command is done: what was typed behind it is next, up to another command."""
        while self.held and self.ended is None:
            line = self.held.pop(0)
            if self.agent.queue(line).is_command:
                return

    async def _work(self) -> None:
        """One after another: prompts and the commands among them."""
        while self.ended is None:
            queued = self.agent.next_queued()
            if queued is None:
                await self._something()
                continue
            self._busy = True
            try:
                await self._run(queued)
            except InterlockError as error:
                self.keys.say(f"! {error}")
            finally:
                self._busy = False

    async def _something(self) -> None:
        """Wait for a line, or for news of what runs in the background."""
        self._typed = anyio.Event()

        async def news() -> None:
            await self.agent.waiting.arrival(None, alone=True)
            self._typed.set()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(news)
            await self._typed.wait()
            tasks.cancel_scope.cancel()

    async def _run(self, queued: Queued) -> None:
        command = commands.find(queued.text) if queued.is_command else None
        if command is not None:
            await self._command(command, queued.text)
            self._let_go()
        elif not queued.is_command:
            await self._prompt(queued)
        else:
            written = self.agent.knowledge.instructing  # commands of files, skills, servers
            if written.find(queued.text.split()[0]) is None:
                self.keys.say(commands.unknown(queued.text, written.commands()))
            else:
                await self._prompt(queued)
            self._let_go()

    async def _prompt(self, queued: Queued) -> None:
        self.fresh()
        summary = await self.agent.prompt(queued, self.watching(self.live.show))
        self.live.end()
        line = line_of(summary)
        if line is not None:
            self.keys.say(f"! {line}")

    async def _command(self, command: commands.Command, line: str) -> None:
        argument = line.strip().partition(" ")[2].strip()
        place = commands.Place(
            agent=self.agent,
            say=self.keys.say,
            show=self.live.show,
            go_to=self._go_to,
            person=self.person,
        )
        end = await command.run(place, argument)
        if end is not None:
            self.ended = end
            self.keys.leave()

    def _go_to(self, session: Resume) -> None:
        self.next_session = session

    def _interrupt(self) -> bool:
        if self._busy:
            self.agent.interrupt()
        return self._busy
