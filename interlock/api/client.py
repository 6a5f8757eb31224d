"""A client: one agent, many prompts, and everything that can be done between and during them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Self

from attrs import define, evolve, field

from interlock import rewinding, sessions
from interlock.agent import Agent
from interlock.api.messages import AnyMessage
from interlock.api.options import AgentOptions
from interlock.api.result import Result, cost_of
from interlock.api.session import OpenAgent, Prompt
from interlock.context.gauge import Fill
from interlock.errors import UsageError
from interlock.fitting import checked_arguments, misfit_fields
from interlock.mcp import Status, UnknownServer
from interlock.options import PermissionMode, Resume
from interlock.rewinding import Rewind, Rewound, What
from interlock.sessions import Point
from interlock.summary import ModelUse
from phases.world.updates import Update


def _unheard(update: Update) -> None:
    """What compactions and rewinds tell while they run."""


@define(eq=False)
class Client:
    """`async with Client(options) as client:` is a session.

    Its prompts share one history, one transcript and one set of permissions. One prompt runs at a
    time; `say` is for what cannot wait.
    """

    options: AgentOptions = field(factory=AgentOptions)
    _open: OpenAgent | None = field(default=None, init=False)
    _seen: OpenAgent | None = field(default=None, init=False)  # the last one: also when closed

    def __attrs_post_init__(self) -> None:
        for line in misfit_fields(self, Client):
            raise UsageError(f"Client: {line}")

    async def __aenter__(self) -> Self:
        """Open it. Raises InterlockError for what cannot work."""
        if self._open is not None:
            raise UsageError("the client is open already; make a second one for a second session")
        self._open = self._seen = await OpenAgent.begun(self.options)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """End what runs and close the session; it can be resumed. May be called twice."""
        if self._open is not None:
            opened, self._open = self._open, None
            await opened.aclose()

    # --- prompts -----------------------------------------------------------------------------

    @checked_arguments
    def query(
        self, prompt: Prompt, *, data: str | None = None
    ) -> AsyncGenerator[AnyMessage, None]:
        """Run one prompt; `async for` its messages, the last is its Result.

        Who stops reading stops the run. In `prompt`, `/commands`, `@files` and `+500k` mean what
        they mean at a terminal; in `data`, which is put behind it, nothing means anything.
        """
        return self._opened.prompt(prompt, data)

    @checked_arguments
    async def run(self, prompt: Prompt, *, data: str | None = None) -> Result:
        """Run one prompt to its end."""
        return await last_of(self.query(prompt, data=data))

    def interrupt(self) -> None:
        """Stop the prompt under way: its Result says `aborted_…`. Else does nothing."""
        self._opened.interrupt()

    @checked_arguments
    def say(self, text: str, *, priority: str = "next") -> None:
        """Say something while a prompt is under way: it is read between two turns.

        `priority` is now, next or later. What is not read by the end waits for the next prompt.
        """
        try:
            self._agent.queue(text, priority)
        except ValueError as error:
            raise UsageError(str(error)) from error

    @property
    def unread(self) -> tuple[str, ...]:
        """What was said and not read yet."""
        return tuple(one.text for one in self._agent.waiting.messages)

    # --- the session as it is ----------------------------------------------------------------

    # The first four can still be read when it is closed.

    @property
    def session_id(self) -> str:
        return self._known.session_id

    @property
    def transcript(self) -> Path:
        return self._known.transcript_path

    @property
    def models(self) -> Mapping[str, ModelUse]:
        """What the session has used of each model."""
        return self._known.spent

    @property
    def cost(self) -> float | None:
        """USD of the session so far; None: a price is not known."""
        return cost_of(self.models)

    @property
    def tools(self) -> tuple[str, ...]:
        return self._agent.tools

    @property
    def agents(self) -> tuple[str, ...]:
        """The names of the agent types."""
        return self._agent.agents

    @property
    def commands(self) -> Mapping[str, str]:
        """Slash commands of files, skills and servers, with a line about each."""
        written = self._agent.knowledge.instructing.commands()
        return {name: one.description for name, one in written.items()}

    def context(self) -> Fill:
        """What fills the window now, by kind, and the heaviest single thing."""
        return self._agent.filling()

    # --- changing it -------------------------------------------------------------------------

    @property
    def model(self) -> str:
        return self._agent.model

    @checked_arguments
    def set_model(self, name: str) -> None:
        """From the next prompt on."""
        if not name.strip() or not name.isprintable():
            raise UsageError(f"model: {name!r} is no name of a model")
        self._agent.model = name

    @property
    def permission_mode(self) -> PermissionMode:
        return self._agent.permission_mode

    @checked_arguments
    def set_permission_mode(self, mode: PermissionMode | str) -> None:
        """From the next call on, also of the prompt under way."""
        if mode not in set(PermissionMode):
            raise UsageError(
                f"permission_mode: no {mode!r}; there are {', '.join(PermissionMode)}"
            )
        self._agent.set_permission_mode(PermissionMode(mode))

    @checked_arguments
    async def compact(self, focus: str | None = None) -> None:
        """Summarise the conversation now, with an eye on `focus`. Raises UsageError."""
        problem = await self._agent.compact(_unheard, focus)
        if problem is not None:
            raise UsageError(f"the conversation was not summarised: {problem}")

    @checked_arguments
    def rename(self, title: str) -> None:
        """Give the session a name, by which it can be resumed."""
        if not self.transcript.exists():
            raise UsageError("nothing was said yet: a session has a name after its first prompt")
        sessions.rename(self.transcript, title)

    # --- going back, and aside ---------------------------------------------------------------

    def points(self) -> tuple[Point, ...]:
        """Where one can go back to, the oldest first: just before each prompt and rewind."""
        return sessions.points_of(self.transcript).points

    @checked_arguments
    def plan_rewind(
        self,
        to: Point | str | int,
        what: What | str = What.BOTH,
        *,
        force: Iterable[str | PathLike[str]] = (),
    ) -> Rewind:
        """What it takes to go back to just before a prompt; changes nothing.

        `to` is a point, its number, its id or words of it; `what` is both, files or conversation.
        `force` names files to take back although others changed them. Raises UsageError.
        """
        if what not in set(What):
            raise UsageError(f"no {what!r} can go back; there are {', '.join(What)}")
        paths = self._agent.paths
        found = rewinding.points(paths)
        point = to if isinstance(to, Point) else rewinding.point_named(found.points, str(to))
        named = frozenset((self._agent.cwd / path).resolve() for path in force)
        return rewinding.plan(paths, found, point, What(what), named)

    @checked_arguments
    async def rewind(
        self,
        to: Point | str | int,
        what: What | str = What.BOTH,
        *,
        force: Iterable[str | PathLike[str]] = (),
    ) -> Rewound:
        """Go back to just before a prompt; what was left as it is stands in `left`."""
        return await self._agent.rewind(self.plan_rewind(to, what, force=force), _unheard)

    @checked_arguments
    def fork(self, at: str | None = None) -> Client:
        """A client, yet to be opened, that goes on from here in a session of its own; this one
        stays as it is. `at` is the id of the message to go on from. Raises TranscriptError if
        there is none."""
        if at is not None:
            sessions.read(self.transcript, at)
        branch = Resume(session=self.session_id, fork=True, at=at)
        return Client(evolve(self.options, resume=branch, session_id=None))

    # --- MCP servers -------------------------------------------------------------------------

    def servers(self) -> tuple[Status, ...]:
        """How each server stands."""
        return tuple(self._agent.servers.status())

    @checked_arguments
    async def toggle_server(self, name: str, *, enabled: bool) -> None:
        try:
            await self._agent.servers.toggle(name, enabled=enabled)
        except UnknownServer as error:
            raise UsageError(str(error)) from error

    @checked_arguments
    async def reconnect_server(self, name: str) -> None:
        try:
            await self._agent.servers.reconnect(name)
        except UnknownServer as error:
            raise UsageError(str(error)) from error

    @property
    def _opened(self) -> OpenAgent:
        if self._open is None:
            raise UsageError(
                "the client is not open: use it within async with Client(…) as client"
            )
        return self._open

    @property
    def _agent(self) -> Agent:
        return self._opened.agent

    @property
    def _known(self) -> Agent:
        return self._opened.agent if self._seen is None else self._seen.agent


async def last_of(
    messages: AsyncGenerator[AnyMessage, None],
    tell: Callable[[AnyMessage], None] | None = None,
) -> Result:
    """The Result at the end of these."""
    result: Result | None = None
    async for message in messages:
        if isinstance(message, Result):
            result = message
        elif tell is not None:
            tell(message)
    assert result is not None, "every prompt has its one result"
    return result
