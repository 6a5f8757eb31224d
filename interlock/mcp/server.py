"""One server of a session: its connection, kept alive as its machine says, and the calls over it.

The machine is in `lifecycle`; whatever happens to the connection is told to it, and what it
answers is done here. A call is never made twice: where the server died meanwhile, that is its
result.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
from attrs import define, evolve, field

from fsm import decide
from interlock.counted import counted
from interlock.mcp.definitions import Definition
from interlock.mcp.door import Door
from interlock.mcp.host import Host, callbacks
from interlock.mcp.lifecycle import (
    CONNECTION,
    Connected,
    Known,
    Lost,
    Outcome,
    Rested,
    Stage,
    SwitchedOff,
    SwitchedOn,
)
from interlock.mcp.news import News
from interlock.mcp.opening import opened
from interlock.mcp.remote import Stock, stock_of
from interlock.mcp.settings import Patience
from interlock.mcp.sieve import Sieve
from interlock.mcp.stdio import Process
from interlock.mcp.tokens import Tokens
from interlock.mcp.words import CallTimedOut, ServerGone, lost, reason, refused, timed_out
from interlock.quiet import Quiet
from phases.world.messages import Json

if TYPE_CHECKING:
    from mcp import Client
    from mcp_types import CallToolResult, GetPromptResult, ReadResourceResult, Resource

_log = Quiet(__name__)
_REST_S = 0.25  # before the first restart, twice as long before each that follows
_STEADY_S = 60.0  # a server that lasted so long has not failed to start
_SOON_S = 5.0  # that a call waits for a server that is being started again
_LAST_WORDS_S = 2.0  # from a closed pipe to the exit code
_STOPPED = frozenset({Stage.FAILED, Stage.SHUT_OUT, Stage.OFF, Stage.CLOSED})

Progress = Callable[[str], None]


@define(kw_only=True, eq=False)
class Server:
    """`host` hears of what changes. `run` lives in the session's task group."""

    definition: Definition
    patience: Patience
    host: Host
    environ: Mapping[str, str]
    mark: str
    logins: Tokens | None = None
    stage: Stage = Stage.STARTING
    stock: Stock = field(factory=Stock)
    problem: str | None = None  # why it failed, or was lost
    version: str = ""  # of the protocol
    info: str = ""  # the server's own name and version
    instructions: str = ""
    _known: Known = field(default=Known(0, 0))
    _client: Client | None = None
    _process: Process = field(factory=Process)
    _door: Door = field(init=False)
    _scope: anyio.CancelScope | None = None
    _wish: Outcome | None = None
    _moved: anyio.Event = field(factory=anyio.Event)
    _starts: int = 0
    _sieve: Sieve = field(factory=Sieve)
    news: News = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._known = Known(0, self.patience.restarts)
        self.news = News(self)
        self._door = self._new_door()

    @property
    def name(self) -> str:
        return self.definition.name

    @property
    def lost(self) -> bool:
        """Nothing more will come over its connection."""
        return self._process.closed.is_set()

    @property
    def settled(self) -> bool:
        """Whether it is there, or will not be by itself."""
        there = self.stage is Stage.CONNECTED and not self.lost
        return there or self.stage in _STOPPED

    # --- its life ----------------------------------------------------------------------------

    async def run(self) -> None:
        """Keep it connected until cancelled. Raises nothing."""
        while True:
            match self.stage:
                case Stage.STARTING:
                    outcome = await self._lived()
                case Stage.RESTING:
                    with anyio.CancelScope() as self._scope:
                        await anyio.sleep(_REST_S * 2 ** (self._known.restarts - 1))
                    outcome = self._wish or Rested()
                case _:
                    with anyio.CancelScope() as self._scope:
                        await anyio.sleep_forever()
                    outcome = self._wish or SwitchedOff()
            self._move(outcome)

    def wish(self, outcome: SwitchedOff | SwitchedOn) -> None:
        """Someone wants it off, on, or anew."""
        self._wish = outcome
        if self._scope is not None:
            self._scope.cancel()

    async def obeyed(self) -> None:
        """Wait until what was wished for has begun."""
        while self._wish is not None:
            await self._moved.wait()

    async def settle(self) -> None:
        """Wait until it is there, or will not be."""
        while not self.settled:
            await self._moved.wait()

    def _move(self, outcome: Outcome) -> None:
        before = self.stage
        step = decide(CONNECTION, self.stage, self._known, outcome)
        self.stage, self._known = Stage(step.edge.destination), step.after
        self._wish = None
        if isinstance(outcome, SwitchedOn | Connected):
            self.problem = None
        self._moved.set()
        self._moved = anyio.Event()
        _log.debug("mcp server", server=self.name, was=str(before), now=str(self.stage))
        self.host.moved(self, before)

    async def _lived(self) -> Outcome:
        """Start it and stay with it to its end; what that was."""
        self._process = process = Process()
        self._sieve = Sieve()
        self._door = self._new_door()
        self._starts += 1
        start_s = self.definition.start_s or self.patience.start_s
        began = math.inf
        raised: BaseException | None = None
        with anyio.CancelScope(deadline=anyio.current_time() + start_s) as scope:
            self._scope = scope
            try:
                async with self._opened(process) as client:
                    await self._greet(client)
                    scope.deadline, began = math.inf, anyio.current_time()
                    self._move(Connected())
                    await self._stay(client, process)
            except (Exception, BaseExceptionGroup) as error:
                raised = error
            finally:
                self._client = None
        if self._wish is not None:
            return self._wish
        refusal = self._door.told(raised)
        problem = None if raised is None else reason(raised, status=self._door.status)
        self.problem = refusal or self._said(problem, start_s, process)
        steady = anyio.current_time() - began > _STEADY_S
        return Lost(steady=steady, refused=refusal is not None)

    def _new_door(self) -> Door:
        return Door(definition=self.definition, environ=self.environ, tokens=self.logins)

    def _opened(self, process: Process) -> Any:
        elicit, roots, log, handle = callbacks(self)
        return opened(
            self.definition,
            process,
            self._sieve,
            self._door,
            environ=self.environ,
            mark=f"{self.mark}.{self._starts}",
            heard=self._heard,
            elicit=elicit,
            roots=roots,
            log=log,
            handle=handle,
        )

    async def _greet(self, client: Client) -> None:
        self.stock = await self.listed(client)
        self.version, self.instructions = client.protocol_version, client.instructions or ""
        named = client.server_info
        self.info = f"{named.name} {named.version}" if named is not None else ""
        self._client = client

    async def listed(self, client: Client) -> Stock:
        """What it offers now."""
        stock = await stock_of(client, self.name)
        return evolve(stock, dropped=(*self._sieve.taken(), *stock.dropped))

    async def _stay(self, client: Client, process: Process) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.news.follow, client)
            await process.closed.wait()
            with anyio.move_on_after(_LAST_WORDS_S):
                await process.ended.wait()
            tasks.cancel_scope.cancel()

    def _said(self, problem: str | None, start_s: float, process: Process) -> str:
        """Why the connection is gone, with the server's own last words."""
        if process.fault is not None or (process.ended.is_set() and not process.by_us):
            problem = process.told()
        elif process.closed.is_set() and not process.by_us:
            problem = problem or process.told()
        said = problem or f"it did not answer within {start_s:g} s of its start"
        if process.tail:
            said += f"; it last said: {process.tail}"
        elif process.noise and problem is None:
            said += f" (on its output, {counted(process.noise, 'line')} of no message)"
        return said

    def _heard(self, line: str) -> None:
        if self._process.noise == 1:
            self.host.tell(
                "info", f"the MCP server {self.name} writes plain text among its messages: {line}"
            )

    # --- what is asked of it -----------------------------------------------------------------

    async def call(
        self, tool: str, arguments: Mapping[str, Json], show: Progress
    ) -> CallToolResult:
        """Call a tool. Raises ToolError with what the model should read."""

        async def report(progress: float, total: float | None, message: str | None) -> None:
            share = f"{progress:g}" if total is None else f"{progress:g} of {total:g}"
            show(f"{share}: {message}\n" if message else f"{share}\n")

        limit = self.definition.call_s or self.patience.call_s
        async with self._asked(f"the tool {tool}", limit, timed=True) as client:
            return await client.call_tool(
                tool, dict(arguments), read_timeout_seconds=limit, progress_callback=report
            )

    async def resources(self) -> list[Resource]:
        async with self._asked("its resources", self.patience.start_s) as client:
            return list((await client.list_resources()).resources)

    async def read(self, uri: str) -> ReadResourceResult:
        async with self._asked(f"the resource {uri}", self.patience.call_s) as client:
            found = await client.read_resource(uri)
        self.news.has_read(uri)
        return found

    async def prompt(self, name: str, arguments: Mapping[str, str]) -> GetPromptResult:
        async with self._asked(f"the prompt {name}", self.patience.start_s) as client:
            return await client.get_prompt(name, dict(arguments))

    @asynccontextmanager
    async def _asked(
        self, what: str, limit: float, *, timed: bool = False
    ) -> AsyncIterator[Client]:
        """A client to ask for `what`; what the package raises becomes words for the model.

        `timed`: the package holds to the limit itself, and counts no time of a person's.
        """
        with anyio.move_on_after(_SOON_S):
            await self.settle()
        client, process = self._client, self._process
        door, sieve = self._door, self._sieve
        if client is None or self.stage is not Stage.CONNECTED:
            raise ServerGone(self.name, self.absence or "is not there")
        began = anyio.current_time()
        try:
            with anyio.fail_after(None if timed else limit):
                yield client
        except Exception as error:  # of the client, whatever it is; told as what it means to us
            if door.refusal is not None:
                process.closed.set()
                raise ServerGone(self.name, door.refusal) from error
            if door.forgotten:
                raise self._forgotten(process, what) from error
            if process.closed.is_set() or lost(error, ended=sieve.ended):
                raise await self._gone(process, what, error) from error
            if timed_out(error, took=anyio.current_time() - began, limit=limit):
                raise CallTimedOut(self.name, what, limit) from error
            raise refused(self.name, what, error, status=door.status) from error

    async def _gone(self, process: Process, what: str, error: Exception) -> ServerGone:
        if not self._sieve.ended:  # over HTTP it is a call that finds out
            process.fault = process.fault or reason(error)
        process.closed.set()
        with anyio.move_on_after(_LAST_WORDS_S):
            if self.definition.url:
                await self._parted(process)
            else:
                await process.ended.wait()
        why = self.problem if self._apart(process) else None
        said = why or self._said(None, 0, process)
        return ServerGone(self.name, f"was lost during {what}: {said}", ran=True)

    def _forgotten(self, process: Process, what: str) -> ServerGone:
        """A server over HTTP was started anew, say: the call has not reached it."""
        process.fault = "it knows our session no more"
        process.closed.set()
        return ServerGone(
            self.name,
            f"did not take {what}: {process.fault}. It is being connected to anew: call again",
        )

    def _apart(self, process: Process) -> bool:
        """Whether that connection is over, and why is known."""
        return self.stage is not Stage.CONNECTED or self._process is not process

    async def _parted(self, process: Process) -> None:
        while not self._apart(process):
            await self._moved.wait()

    @property
    def absence(self) -> str:
        """Why it cannot be asked anything now, as the end of a sentence; "" where it can."""
        match self.stage:
            case Stage.CONNECTED:
                return ""
            case Stage.OFF:
                return "is switched off"
            case Stage.STARTING | Stage.RESTING:
                lost = f" after it was lost: {self.problem}" if self.problem else ""
                return f"is still being started{lost}"
            case Stage.SHUT_OUT:
                return str(self.problem)
        return f"is not there: {self.problem}" if self.problem else "is not there"
