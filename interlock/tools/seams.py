"""What the executor needs of other services, as protocols: they are strangers to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from attrs import frozen

from interlock.permissions.decision import Decision, Question
from phases.world.loop import ToolUseContext
from phases.world.messages import Json, ToolResult, ToolUse
from phases.world.updates import Update


class Permissions(Protocol):
    def decide(self, question: Question) -> Decision:
        """What is clear without asking a person. Changes nothing."""
        ...

    async def settle(self, question: Question, said: Decision | None = None) -> Decision:
        """Allow or deny; asks a person if need be. `said` is what a hook decided before: its
        deny and its ask hold, its allow spares the question but binds no deny or ask rule.
        """
        ...

    def hides(self, path: Path) -> bool:
        """Whether searches must leave this file out."""
        ...


class Confinement(Protocol):
    """What keeps a command inside its bounds: a sandbox. Bash without one is unconfined.

    Whatever runs in place of the command must pass on open descriptors and the environment:
    through them come the folder and the variables of afterwards, and the mark by which the tree
    is found and ended.
    """

    @property
    def description(self) -> str:
        """What a command cannot do, for the model, in Bash's description; "" for nothing."""
        ...

    def wrapped(self, argv: Sequence[str], *, cwd: Path) -> tuple[str, ...]:
        """What to run in place of `argv`. Asked for each command, shortly before it starts."""
        ...

    def settle(self) -> tuple[str, ...]:
        """A command has ended: put right what it may have left; what was done, for the model."""
        ...


class Notices(Protocol):
    """Where something that happened beside the run is told to the agent it is meant for."""

    def notify(self, text: str) -> None:
        """Hand it over; never waits. Called in the session's event loop."""
        ...

    @property
    def agent_id(self) -> str | None:
        """Which agent that is; None: the main one."""
        ...

    def show(self, update: Update) -> None:
        """Tell whoever watches the session."""
        ...


@frozen(kw_only=True)
class Before:
    """What hooks say about a call that is about to run."""

    said: Decision | None = None  # None: they leave it to rules, mode and the user
    arguments: Mapping[str, Json] | None = None  # in place of the model's; checked and judged anew
    context: str | None = None  # for the model, beside the result
    stop: str | None = None  # why the run should end, once this reply's calls are answered


@frozen(kw_only=True)
class After:
    """What hooks say about a call that has run."""

    feedback: str | None = None  # put into the call's one result
    output: str | None = None  # in place of what the tool has said
    stop: str | None = None  # why the run should end


class ToolHooks(Protocol):
    def watches(self, tool: str) -> bool:
        """Whether any hook would run for this tool. Hooks have effects, so such a call does not
        start before its reply is whole."""
        ...

    async def before(self, call: ToolUse, context: ToolUseContext) -> Before: ...

    async def after(self, call: ToolUse, result: ToolResult, context: ToolUseContext) -> After:
        """Told of a call that ran. `call.input` is what it ran with; a result that is an error
        goes to the hooks for failures."""
        ...


@frozen
class NoHooks:
    def watches(self, tool: str) -> bool:
        return False

    async def before(self, call: ToolUse, context: ToolUseContext) -> Before:
        return Before()

    async def after(self, call: ToolUse, result: ToolResult, context: ToolUseContext) -> After:
        return After()
