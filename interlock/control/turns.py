"""The host's prompts, one turn at a time, and the turns that background agents bring about.

What is said while a turn is under way waits in the session's queue: read between two steps where
there are any, else a turn of its own. A turn has one `init` and one result.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Protocol

import anyio
from attrs import define, field

from interlock.agent import Agent
from interlock.control.states import State, States
from interlock.control.wire import Said
from interlock.errors import InterlockError
from interlock.inbox import Mode, Queued, Stage
from interlock.quiet import Quiet
from interlock.summary import RunSummary, broken
from phases.world.updates import Notice, QueueChanged, Show, Update

_log = Quiet(__name__)
_DEFERRED = "tool_deferred"


class Teller(Protocol):
    """Who tells the host of a turn."""

    def begin(self) -> None: ...
    def show(self, update: Update) -> None: ...
    def end(self, summary: RunSummary, more: Mapping[str, Any]) -> None:
        """`more` is what the result says beside the usual."""
        ...


@define(eq=False, kw_only=True)
class Turns:
    """`last` is the summary of the turn that ended last; None: there was none."""

    agent: Agent
    teller: Teller
    states: States
    # What a program does itself, without a model: a command of its own. None: it is none.
    local: Callable[[str, Show], Awaitable[RunSummary | None]]
    watching: Callable[[Show], Show] = lambda show: show  # what else follows a turn
    needed: frozenset[str] = frozenset()  # servers that are waited for, by their part of names
    last: RunSummary | None = None
    _later: list[Callable[[], None]] = field(factory=list)
    _under_way: bool = False
    _deferred: Mapping[str, Any] | None = None  # the call that ended the turn under way
    _held: list[Update] = field(factory=list)  # what was to be told between two turns
    _said: set[str] = field(factory=set)  # the ids of prompts
    _verbatim: set[str] = field(factory=set)  # of those that a program wrote
    _prompts: list[str] = field(factory=list)  # that the turn under way has read
    _ended: bool = False
    _stopped: bool = False
    _news: anyio.Event = field(factory=anyio.Event)

    def say(self, said: Said) -> None:
        queued = self.agent.waiting.add(said.content, id_=said.uuid)
        self._said.add(queued.id)
        if said.verbatim:
            self._verbatim.add(queued.id)
        self._news.set()

    def later(self, change: Callable[[], None]) -> None:
        """Make a change that no turn may see half of: between two."""
        if self._under_way:
            self._later.append(change)
        else:
            change()

    def defer(self, call: Mapping[str, Any]) -> None:
        """The host wants to decide about this call another time: its hook has ended the run."""
        self._deferred = call

    def end(self) -> None:
        """Nobody says anything more: what waits is still done."""
        self._ended = True
        self._news.set()

    def stop(self) -> None:
        """Begin nothing more."""
        self._stopped = True
        self._news.set()

    async def run(self) -> None:
        """Until there is nothing left to do, and nobody who could say more."""
        while not self._stopped:
            queued = self.agent.next_queued()
            if queued is not None:
                self.states.now(State.RUNNING)
                await self._turn(queued)
            elif self._ended and not self._busy:
                break
            else:
                if not self._busy:
                    self.states.now(State.IDLE)
                await self._something()
        self.states.now(State.IDLE)

    @property
    def _busy(self) -> bool:
        """Whether something in the background may still bring about a turn."""
        return any(not one.is_over for one in self.agent.crew)

    async def _something(self) -> None:
        """Wait for a prompt, the end of input, or news of what runs in the background."""
        self._news = anyio.Event()
        over = [one.over.wait for one in self.agent.crew if not one.is_over]
        news = partial(self.agent.waiting.arrival, None, alone=True)
        async with anyio.create_task_group() as tasks:

            async def first(wait: Callable[[], Awaitable[object]]) -> None:
                await wait()
                tasks.cancel_scope.cancel()

            waits: tuple[Callable[[], Awaitable[object]], ...] = (self._news.wait, news, *over)
            for wait in waits:
                tasks.start_soon(first, wait)

    async def _turn(self, queued: Queued) -> None:
        typed = queued.mode is Mode.PROMPT
        self._prompts = [queued.id] if typed else []
        # A moment for servers that are just starting: what stands in `init` should be true.
        await self.agent.servers.ready(self.needed)
        self._under_way, self._deferred = True, None
        self.teller.begin()
        while self._held:
            self.teller.show(self._held.pop(0))
        summary = await self._run(queued)
        self._under_way = False
        self.last = summary
        self.teller.end(summary, self._more())
        while self._later:
            self._later.pop(0)()

    def _more(self) -> dict[str, Any]:
        """What a result says of its turn that the run does not know."""
        more: dict[str, Any] = {}
        if self._prompts:
            more |= {"user_message_uuid": self._prompts[0], "user_message_uuids": self._prompts}
        if self._deferred is not None:
            more |= {"deferred_tool_use": dict(self._deferred)}
            more |= {"stop_reason": _DEFERRED, "terminal_reason": _DEFERRED}
        return more

    async def _run(self, queued: Queued) -> RunSummary:
        verbatim = queued.id in self._verbatim or queued.mode is not Mode.PROMPT
        try:
            show = self.watching(self.show)
            if queued.is_command and not verbatim:
                done = await self.local(queued.text, show)
                if done is not None:
                    return done
                verbatim = self._unknown(queued)
            return await self.agent.prompt(queued, show, typed="" if verbatim else None)
        except InterlockError as error:
            return broken(self.agent.session_id, str(error))
        except Exception as error:
            # Outside the loop no phase turns a bug into an ending; the result comes all the same.
            _log.debug("turn broke", exc_info=True)
            words = f"internal error: {type(error).__name__}: {error}"
            return broken(self.agent.session_id, words)

    def _unknown(self, queued: Queued) -> bool:
        """Whether its first word names no command: then it is a text like any other."""
        name = queued.text.split()[0].removeprefix("/")
        return self.agent.knowledge.instructing.find(name) is None

    def show(self, update: Update) -> None:
        """Tell the host. Between two turns notices wait: behind an error result a host takes
        whatever comes for the beginning of another turn."""
        if isinstance(update, Notice) and not self._under_way:
            self._held.append(update)
            return
        if isinstance(update, QueueChanged) and update.stage == Stage.INJECTED.value:
            self._prompts += [update.id] if update.id in self._said else []
        self.teller.show(update)
