"""The calls of one reply: what each is, where it stands, and which must wait for which.

A call waits for every call before it, unless both say they are safe beside others. So an unsafe
call runs alone and in its place, and safe ones between two such run together.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

import anyio
from attrs import define, field

from interlock.tools.schema import BadInput, checked
from interlock.tools.tool import Arguments, Tool, ToolContext
from phases.world.loop import ToolUseContext
from phases.world.messages import Message, Text, ToolResult, ToolUse

CUT = "Not run: the answer was cut in the middle of this call. Make the call again."
NOT_STARTED = "Interrupted by the user before it started."
WHILE_RUNNING = "Interrupted by the user while it ran; its effects are unknown."


class CallState(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    ANSWERED = "answered"


class SecondResult(Exception):
    """A call was answered twice: a fault of this program, never of a tool."""


@define(eq=False, kw_only=True)
class Call:
    """One call and its one result."""

    use: ToolUse
    tool: Tool | None
    arguments: Arguments
    refusal: str | None  # why it cannot run at all
    effects: bool
    safe: bool
    state: CallState = CallState.QUEUED
    started: bool = False  # a task has it
    context: ToolContext | None = None
    result: ToolResult | None = None
    message: Message | None = None  # once recorded
    scope: anyio.CancelScope = field(factory=anyio.CancelScope)
    answered: anyio.Event = field(factory=anyio.Event)
    ended: anyio.Event = field(factory=anyio.Event)  # its task is over

    def answer(self, result: ToolResult) -> None:
        if self.result is not None:
            raise SecondResult(f"{self.use.name} {self.use.id} has a result already")
        self.result = result
        self.state = CallState.ANSWERED
        self.answered.set()

    def refuse(self, text: str) -> None:
        self.answer(error(self.use, text))

    def interrupted(self) -> None:
        """Say truthfully how far it came."""
        if self.state is CallState.QUEUED:
            self.refuse(NOT_STARTED)
            return
        partial = self.context.so_far().strip("\n") if self.context is not None else ""
        self.refuse(f"{WHILE_RUNNING} Output until then:\n{partial}" if partial else WHILE_RUNNING)


@define(eq=False)
class Round:
    """The calls of one reply, in order."""

    context: ToolUseContext
    cwd: Path
    calls: list[Call] = field(factory=list)
    dropped: bool = False
    interrupted: bool = False
    hook_stopped: str | None = None
    news: anyio.Event = field(factory=anyio.Event)  # set when a call is answered

    def before(self, call: Call) -> list[Call]:
        """The calls this one must wait for."""
        at = self.calls.index(call) if call in self.calls else 0
        earlier = self.calls[:at]
        return [one for one in earlier if not (one.safe and call.safe)]

    def find(self, use: ToolUse) -> Call | None:
        return next((call for call in self.calls if call.use == use), None)

    @property
    def messages(self) -> tuple[Message, ...]:
        """The results that are recorded, in the order of the calls."""
        return tuple(call.message for call in self.calls if call.message is not None)

    def drop(self) -> None:
        self.dropped = True
        for call in self.calls:
            if not call.ended.is_set():  # to cancel a task that is over is nothing, but not cheap
                call.scope.cancel()


def error(use: ToolUse, text: str) -> ToolResult:
    return ToolResult(tool_use_id=use.id, content=(Text(text),), is_error=True)


def prepared(use: ToolUse, tools: Mapping[str, Tool]) -> Call:
    """The call with its tool and checked input, or with why it cannot run."""
    tool = tools.get(use.name)
    if tool is None:
        return _refused(use, f"There is no tool {use.name}. There are: {', '.join(tools)}.")
    if use.problem is not None:
        return _refused(use, f"The input of this call could not be read: {use.problem}")
    try:
        arguments = checked(use.input, tool.input_schema)
    except BadInput as problem:
        return _refused(use, f"The input does not fit the tool {use.name}: {problem}.")
    return Call(
        use=use,
        tool=tool,
        arguments=arguments,
        refusal=None,
        effects=tool.effects(arguments),
        safe=tool.concurrency_safe(arguments),
    )


def _refused(use: ToolUse, why: str) -> Call:
    return Call(use=use, tool=None, arguments={}, refusal=why, effects=False, safe=True)
