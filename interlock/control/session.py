"""One session that a host drives: its first request, its prompts, the questions both ways.

Reads all the time, whatever is under way. How the agent is built, and how a turn is told, is the
caller's affair (`Host`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any, Protocol

import anyio
from attrs import define, field, frozen

from interlock.agent import Agent
from interlock.control.asking import HostAsker
from interlock.control.exchange import Exchange
from interlock.control.greeting import greeting
from interlock.control.hooks import HostHooks, hooks_of
from interlock.control.mcp_requests import McpRequests
from interlock.control.opening import BadOpening, Opening, opening_of
from interlock.control.person import HostPerson
from interlock.control.plugin_requests import PluginRequests
from interlock.control.requests import Requests
from interlock.control.servers import Hosted
from interlock.control.states import States
from interlock.control.turns import Teller, Turns
from interlock.control.wire import Answered, Asked, BadLine, Feed, Frame, Said, Withdrawn
from interlock.errors import InterlockError, UsageError
from interlock.hooks import HookMatcher
from interlock.mcp.names import server_part
from interlock.permissions import BadRule, Update
from interlock.plugged import Plugged
from interlock.settings import Settings
from interlock.summary import RunSummary
from phases.world.updates import Show

_OPENING = "initialize"


@frozen(kw_only=True)
class Asks:
    """What an agent needs that only the host can give."""

    opening: Opening
    asker: HostAsker
    hooks: Sequence[HookMatcher]
    person: HostPerson
    hosted: Hosted
    interrupt: Callable[[], None]  # ends the turn under way


class Host(Protocol):
    """What is particular to the door that the host came through."""

    @property
    def settings(self) -> Settings: ...
    @property
    def servers(self) -> tuple[str, ...]:
        """The names of MCP servers of the host's own that were given before."""
        ...

    def write(self, frame: dict[str, Any]) -> None: ...
    def open(self, asks: Asks) -> AbstractAsyncContextManager[Agent]: ...
    def teller(self, agent: Agent, opening: Opening) -> Teller: ...
    def states(self) -> States: ...
    def told_of_mode(self, agent: Agent) -> None: ...
    async def local(self, agent: Agent, line: str, show: Show) -> RunSummary | None: ...
    def plugins(self) -> Plugged:
        """The plugins that were named, read anew."""
        ...

    def keep(self, update: Update) -> None:
        """A change of permissions is meant to outlive the session."""
        ...

    def watching(self, show: Show) -> Show: ...
    def never_began(self, problem: str) -> None:
        """Tell the host, in place of all else, why there is no session."""
        ...


@define(eq=False, kw_only=True)
class Controlled:
    """`problem` is why it ended early, in one line."""

    host: Host
    feed: Feed = field(factory=Feed)
    problem: UsageError | None = None
    _exchange: Exchange = field(init=False)
    _states: States = field(init=False)
    _began: anyio.Event = field(factory=anyio.Event)
    _first: Asked | None = None  # the host's `initialize`
    _early: list[Frame] = field(factory=list)  # what came before there was an agent
    _ended: bool = False
    _stopped: bool = False
    _agent: Agent | None = None
    _turns: Turns | None = None
    _scope: anyio.CancelScope = field(factory=anyio.CancelScope)

    def __attrs_post_init__(self) -> None:
        self._exchange = Exchange(write=self.host.write)
        self._states = self.host.states()

    def stop(self) -> None:
        """End the turn under way, and begin no other."""
        self._stopped = True
        self._began.set()
        if self._turns is not None:
            self._turns.stop()
        if self._agent is not None:
            self._agent.interrupt()

    async def run(self) -> RunSummary | None:
        """Until the host has nothing more to say; the summary of the last turn, if there was one.

        Raises UsageError for a session that could not begin, or a line that cannot be read.
        """
        async with anyio.create_task_group() as tasks:
            self._exchange.begin(tasks)
            tasks.start_soon(self._listen)
            await self._began.wait()
            with self._scope:
                if self._first is not None or self._early:
                    await self._session()
            tasks.cancel_scope.cancel()
        if self.problem is not None:
            raise self.problem
        return None if self._turns is None else self._turns.last

    # --- what comes ----------------------------------------------------------------------------

    async def _listen(self) -> None:
        try:
            async for frame in self.feed.frames():
                self._hear(frame)
        except BadLine as error:
            self.problem = error
            self._scope.cancel()
        self._ended = True
        self._exchange.close()
        if self._turns is not None:
            self._turns.end()
        self._began.set()

    def _hear(self, frame: Frame) -> None:
        match frame:
            case Answered():
                self._exchange.take(frame)
            case Withdrawn(request_id=id_):
                self._exchange.withdraw(id_)
            case Asked(subtype=subtype) if subtype == _OPENING:
                if self._began.is_set():
                    self._exchange.refuse(frame.request_id, "the session has begun already")
                    return
                self._first = frame
                self._began.set()
            case _ if self._turns is None:
                self._early.append(frame)
                self._began.set()
            case Said():
                self._turns.say(frame)
            case Asked():
                self._exchange.serve(frame)

    # --- the session ---------------------------------------------------------------------------

    async def _session(self) -> None:
        try:
            opening = opening_of({} if self._first is None else self._first.fields)
            hooks = hooks_of(opening.hooks, self._exchange.ask, self._defer)
        except BadOpening as error:
            assert self._first is not None
            self._exchange.refuse(self._first.request_id, str(error))
            self.problem = error
            return
        async with AsyncExitStack() as stack:
            asks = self._asks(opening, hooks)
            try:
                agent = await stack.enter_async_context(self.host.open(asks))
            except (InterlockError, BadRule) as error:
                self.problem = UsageError(str(error))
                self.host.never_began(str(error))
                return
            await self._converse(agent, asks, hooks)

    def _asks(self, opening: Opening, hooks: HostHooks) -> Asks:
        ask, states = self._exchange.ask, self._states
        names = dict.fromkeys((*self.host.servers, *opening.servers))
        return Asks(
            opening=opening,
            asker=HostAsker(ask_host=ask, states=states, stop=self.interrupt, keep=self.host.keep),
            person=HostPerson(ask_host=ask, states=states),
            hooks=hooks.matchers,
            hosted=Hosted.of(names, ask),
            interrupt=self.interrupt,
        )

    async def _converse(self, agent: Agent, asks: Asks, hooks: HostHooks) -> None:
        teller = self.host.teller(agent, asks.opening)

        async def local(line: str, show: Show) -> RunSummary | None:
            return await self.host.local(agent, line, show)

        turns = Turns(
            agent=agent,
            teller=teller,
            states=self._states,
            local=local,
            watching=self.host.watching,
            needed=frozenset(map(server_part, asks.hosted.relays)),
        )
        requests = Requests(
            agent=agent,
            show=turns.show,
            mode_changed=lambda: self.host.told_of_mode(agent),
            default_model=agent.model,
            families=self.host.settings.families,
            limits=self.host.settings.limits,
            later=turns.later,
        )
        of_servers = McpRequests(servers=agent.servers, hosted=asks.hosted, ask=self._exchange.ask)
        agent.idle_show = turns.show
        of_plugins = PluginRequests(agent=agent, read=self.host.plugins)
        self._exchange.handlers |= requests.handlers() | of_servers.handlers()
        self._exchange.handlers |= of_plugins.handlers()
        self._agent, self._turns = agent, turns
        if self._first is not None:
            self._exchange.answer(self._first.request_id, greeting(agent, hooks.never))
        early, self._early = self._early, []
        for frame in early:
            self._hear(frame)
        if self._ended:
            turns.end()
        if self._stopped:
            turns.stop()
        await turns.run()

    def _defer(self, call: Mapping[str, Any]) -> None:
        if self._turns is not None:
            self._turns.defer(call)

    def interrupt(self) -> None:
        """End the turn under way; the next one may come."""
        if self._agent is not None:
            self._agent.interrupt()
