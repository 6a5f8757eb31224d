"""What the executor needs of other services, as protocols: they are strangers to it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from attrs import frozen

from interlock.permissions.decision import Decision, Question
from phases.world.loop import ToolUseContext
from phases.world.messages import Json, ToolResult, ToolUse


class Permissions(Protocol):
    def decide(self, question: Question) -> Decision:
        """What is clear without asking a person. Changes nothing."""
        ...

    async def settle(self, question: Question) -> Decision:
        """Allow or deny; asks a person if need be."""
        ...

    def hides(self, path: Path) -> bool:
        """Whether searches must leave this file out."""
        ...


@frozen(kw_only=True)
class Before:
    """What hooks say about a call that is about to run."""

    blocked: str | None = None  # why not, for the model
    arguments: Mapping[str, Json] | None = None  # in place of the model's; checked and judged anew


@frozen(kw_only=True)
class After:
    """What hooks say about a call that has run."""

    feedback: str | None = None  # put into the call's one result
    stop: str | None = None  # why the run should end


class ToolHooks(Protocol):
    def watches(self, tool: str) -> bool:
        """Whether any hook would run for this tool. Hooks have effects, so such a call does not
        start before its reply is whole."""
        ...

    async def before(self, call: ToolUse, context: ToolUseContext) -> Before: ...

    async def after(self, call: ToolUse, result: ToolResult, context: ToolUseContext) -> After: ...


@frozen
class NoHooks:
    def watches(self, tool: str) -> bool:
        return False

    async def before(self, call: ToolUse, context: ToolUseContext) -> Before:
        return Before()

    async def after(self, call: ToolUse, result: ToolResult, context: ToolUseContext) -> After:
        return After()
