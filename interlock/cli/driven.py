"""A session that a program drives, from its flags (`--input-format`) to its exit code."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, redirect_stdout
from typing import Any
from uuid import uuid4

from attrs import define, evolve, field

from interlock.agent import Agent
from interlock.assembly import open_agent
from interlock.cli import unattended
from interlock.cli.dropping import insist_on_one_dropped
from interlock.cli.headless import flags_of, key_source, options_of
from interlock.cli.lines import line_of
from interlock.cli.logs import configure
from interlock.cli.main import PIPE_CLOSED, complain
from interlock.cli.output import Output
from interlock.cli.result import result_of
from interlock.cli.signals import Signals
from interlock.cli.stream_json import StreamJson
from interlock.cli.verdict import line_of as error_line_of
from interlock.configured import Configured, configured
from interlock.control import Controlled, Opening
from interlock.control.greeting import listed
from interlock.control.keeping import Keeper
from interlock.control.mirror import Mirror
from interlock.control.servers import parted
from interlock.control.session import Asks
from interlock.control.states import State, States
from interlock.control.tool_asking import ToolAsker
from interlock.errors import UsageError
from interlock.housekeeping import Housekeeping
from interlock.permissions import Asker, NobodyAsks
from interlock.permissions import Update as Change
from interlock.plugged import Plugged, plugged
from interlock.plugins import read_plugins
from interlock.settings import Settings
from interlock.summary import RunSummary, broken
from interlock.tools import Person
from phases.world.updates import FromAgent, Recorded, Show, Update

_STATES = "CLAUDE_CODE_SDK_READS_SESSION_STATE"  # the host reads them, and shows them to nobody
_STATES_TOLD = "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS"  # whoever reads the messages wants them


def run(asked: argparse.Namespace) -> int:
    """Serve the program at the other end until it has nothing more to say; the exit code.

    Raises InterlockError before anything was begun.
    """
    signals = Signals()
    signals.install()
    flags = flags_of(asked)
    servers, others = parted(flags.mcp_config)
    found = configured(options_of(asked), evolve(flags, mcp_config=others), os.environ)
    for warning in found.configuration.warnings:
        complain(warning)
    os.environ.update(found.options.environment)
    configure(debug=asked.debug or found.settings.debug)
    output = Output()
    keeping = Housekeeping.of(found.settings, tell=complain)
    with keeping, redirect_stdout(sys.stderr):
        door = Door(asked=asked, found=found, servers=servers, output=output, keeping=keeping)
        summary = asyncio.run(_served(door, signals))
    signals.settled()
    return _exit_code(summary, output, signals)


async def _served(door: Door, signals: Signals) -> RunSummary | None:
    controlled = Controlled(host=door)
    door.output.on_gone = controlled.stop
    signals.attach(asyncio.get_running_loop(), controlled.stop)
    try:
        return await controlled.run()
    except UsageError as error:
        complain(str(error))
        return broken("", str(error))


@define(eq=False, kw_only=True)
class Door:
    """How a session of this command is opened, and told. Implements `control.Host`."""

    asked: argparse.Namespace
    found: Configured
    servers: tuple[str, ...]  # of MCP, that live in the program that drives us
    output: Output
    keeping: Housekeeping
    _renderer: StreamJson | None = field(default=None, init=False)
    _mirror: Mirror | None = field(default=None, init=False)

    @property
    def settings(self) -> Settings:
        return self.found.settings

    def write(self, frame: dict[str, Any]) -> None:
        self.output.write(line_of(frame))

    @asynccontextmanager
    async def open(self, asks: Asks) -> AsyncIterator[Agent]:
        options = asks.opening.over(self.found.options)
        options = evolve(options, mcp=asks.hosted.over(options.mcp))
        if self.asked.resume_drops_turn is not None:
            cwd, prompt = options.cwd.resolve(), self.asked.resume_drops_turn
            insist_on_one_dropped(self.settings.home, cwd, options.resume, prompt)
        asker, person = self._asker(asks)
        opened = open_agent(options, self.settings, asker=asker, person=person, hooks=asks.hooks)
        async with opened as agent:
            if isinstance(asker, ToolAsker):
                asker.agent = agent
            if self.asked.session_mirror:
                self._mirror = Mirror(paths=agent.paths, emit=self.write)
                if options.resume is not None and not options.resume.fork:
                    self._mirror.skip()
            yield agent
        if self._mirror is not None:
            self._mirror.flush()

    def _asker(self, asks: Asks) -> tuple[Asker, Person | None]:
        match self.asked.permission_prompt_tool:
            case None:
                return NobodyAsks(), None
            case "stdio":
                return asks.asker, asks.person
            case tool:
                limits = self.settings.limits
                return ToolAsker(name=tool, limits=limits, stop=asks.interrupt), None

    def plugins(self) -> Plugged:
        options = self.found.options
        named = () if options.plugins is None else options.plugins.folders
        found = plugged(read_plugins(named), os.environ)
        return found.allowed(hooks=options.lent_hooks, servers=not self.asked.strict_mcp_config)

    def keep(self, update: Change) -> None:
        options, home = self.found.options, self.settings.home
        Keeper(cwd=options.cwd.resolve(), home=home, tell=complain).keep(update)

    def teller(self, agent: Agent, opening: Opening) -> StreamJson:
        self._renderer = StreamJson(
            output=self.output,
            session=agent,
            key_source=key_source(self.found.settings),
            partial=self.found.options.include_partial_messages,
            hook_events=self.asked.include_hook_events,
            replays=self.asked.replay_user_messages,
            subagent_text=opening.subagent_text,
            listed=lambda: listed(agent),
        )
        return self._renderer

    def states(self) -> States:
        """What the host wants to be told of them is in our environment."""
        if os.environ.get(_STATES) == "1":
            return States(lambda state: self._state(state, sdk_host_only=True))
        return States(self._state if os.environ.get(_STATES_TOLD) == "1" else None)

    def _state(self, state: State, **more: bool) -> None:
        if self._renderer is not None:
            self._renderer.system("session_state_changed", state=state.value, **more)

    def told_of_mode(self, agent: Agent) -> None:
        if self._renderer is not None:
            mode = agent.permission_mode.value
            self._renderer.system("status", status=None, permissionMode=mode)

    async def local(self, agent: Agent, line: str, show: Show) -> RunSummary | None:
        return await unattended.run_command(agent, line, show)

    def watching(self, show: Show) -> Show:
        mirror = self._mirror
        if mirror is None:
            return self.keeping.watching(show)

        def mirrored(update: Update) -> None:
            show(update)
            if isinstance(update, Recorded | FromAgent):
                mirror.flush()

        return self.keeping.watching(mirrored)

    def never_began(self, problem: str) -> None:
        id_ = self.found.options.session_id or str(uuid4())
        said = result_of(broken(id_, problem))
        self.write(said | {"terminal_reason": None})


def _exit_code(summary: RunSummary | None, output: Output, signals: Signals) -> int:
    if output.problem is not None:
        complain(f"the answer cannot be written: {output.problem}")
        return 1
    if output.gone:
        return PIPE_CLOSED
    if signals.code is not None:
        return signals.code
    return 0 if summary is None or error_line_of(summary) is None else 1
