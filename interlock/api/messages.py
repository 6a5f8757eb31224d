"""What a run tells a program, as typed values: `match` on them.

Most are what the loop itself tells (`phases/world/updates.py`), as they are. Messages of the
transcript come in four kinds of their own, so that a program need not take them apart; each holds
the whole `message` too. What a sub-agent says has its `agent`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

from attrs import frozen

from interlock.api.result import Result
from interlock.mcp.status import Status
from phases.world.messages import Json, Kind, Message, Thinking, ToolResult, ToolUse
from phases.world.updates import Happening
from phases.world.usage import Usage


@frozen(kw_only=True)
class SubAgent:
    """Who says it, where that is not the main agent."""

    id: str
    type: str
    tool_use_id: str  # the call that started it


@frozen(kw_only=True)
class Init:
    """A prompt begins: the first message of each."""

    session_id: str
    model: str
    cwd: Path
    permission_mode: str
    tools: tuple[str, ...]
    agents: tuple[str, ...]
    commands: tuple[str, ...]  # slash commands of files, skills and servers
    servers: tuple[Status, ...]  # of MCP
    plugins: tuple[str, ...] = ()
    transcript: Path


@frozen(kw_only=True)
class UserMessage:
    """Words of the user's that became part of the history: the prompt, or queued ones."""

    message: Message

    @property
    def text(self) -> str:
        return self.message.text


@frozen(kw_only=True)
class AssistantMessage:
    """A whole reply of the model. An attempt that failed never becomes one."""

    message: Message
    agent: SubAgent | None = None

    @property
    def text(self) -> str:
        return self.message.text

    @property
    def thinking(self) -> str:
        blocks = (block for block in self.message.content if isinstance(block, Thinking))
        return "".join(block.thinking for block in blocks)

    @property
    def calls(self) -> tuple[ToolUse, ...]:
        return self.message.calls

    @property
    def model(self) -> str | None:
        return self.message.origin.model if self.message.origin else None

    @property
    def stop_reason(self) -> str | None:
        return self.message.origin.stop_reason if self.message.origin else None

    @property
    def usage(self) -> Usage:
        return self.message.origin.usage if self.message.origin else Usage()


@frozen(kw_only=True)
class ToolResultMessage:
    """The one answer to a call, as the model reads it."""

    message: Message
    result: ToolResult
    call: ToolUse | None  # None: it was made before this prompt
    agent: SubAgent | None = None

    @property
    def tool(self) -> str | None:
        return self.call.name if self.call else None

    @property
    def input(self) -> Mapping[str, Json]:
        """What the model asked for; hooks and the permission callback may have changed it."""
        return self.call.input if self.call else {}

    @property
    def text(self) -> str:
        return self.result.text

    @property
    def is_error(self) -> bool:
        return self.result.is_error


@frozen(kw_only=True)
class NoteMessage:
    """What the harness told the model: a reminder, a summary, an interruption."""

    message: Message

    @property
    def kind(self) -> Kind:
        return self.message.kind

    @property
    def text(self) -> str:
        return self.message.text


AnyMessage: TypeAlias = (
    Init | UserMessage | AssistantMessage | ToolResultMessage | NoteMessage | Happening | Result
)
