"""Interlock: a coding agent whose loop is an explicit finite state machine.

`query`, `run` and `Client` are the way in for programs (docs/api.md); `interlock.testing` is for
tests of what you build on them. Everything here is imported when it is first asked for: the name
alone costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from interlock.agents.definition import AgentDefinition
    from interlock.api.answers import AddContext, Allow, Ask, Block, ChangeInput, Deny, EndRun
    from interlock.api.asking import PermissionRequest
    from interlock.api.client import Client
    from interlock.api.hooks import FunctionHook, HookInput, hook
    from interlock.api.looking import config, decide
    from interlock.api.media import image
    from interlock.api.messages import (
        AnyMessage,
        AssistantMessage,
        Init,
        NoteMessage,
        SubAgent,
        ToolResultMessage,
        UserMessage,
    )
    from interlock.api.options import AgentOptions
    from interlock.api.query import query, run, run_async
    from interlock.api.result import Result
    from interlock.api.sessions import SessionInfo, Sessions, SessionTree
    from interlock.context.gauge import Fill
    from interlock.endings import Ending, Progress
    from interlock.errors import (
        ConfigurationError,
        EndingBroke,
        InterlockError,
        OptionsError,
        RunFailed,
        RunNotFound,
        SessionBusy,
        SessionNotFound,
        SettingsError,
        SeveralSessions,
        TranscriptError,
        UsageError,
        WrongLoop,
    )
    from interlock.hooks import Event, HookMatcher
    from interlock.in_force import Setting
    from interlock.mcp import Status
    from interlock.options import Asking, PermissionMode, Resume
    from interlock.permissions import Decision, Rule, Update, UpdateKind
    from interlock.rewinding import Rewind, Rewound
    from interlock.sessions import Point
    from interlock.summary import Denial, ModelUse
    from interlock.tools import Output, Tool, ToolContext, ToolError, UserAnswer, UserQuestion
    from interlock.tools.decorate import BadTool, tool
    from phases.world.messages import Media, Message, Text, Thinking, ToolResult, ToolUse
    from phases.world.states import State
    from phases.world.updates import (
        AgentEnded,
        AgentProgress,
        AgentStarted,
        AttemptDropped,
        CommandEnded,
        CommandStarted,
        Compaction,
        FromAgent,
        HookEnded,
        HookStarted,
        ModelSwitched,
        Notice,
        QueueChanged,
        RequestStarted,
        Retrying,
        StreamEvent,
        TextArrived,
        ThinkingArrived,
        TodosChanged,
        ToolProgress,
        ToolRunning,
        ToolStarted,
    )
    from phases.world.usage import Usage

__all__ = [
    "AddContext",
    "AgentDefinition",
    "AgentEnded",
    "AgentOptions",
    "AgentProgress",
    "AgentStarted",
    "Allow",
    "AnyMessage",
    "Ask",
    "Asking",
    "AssistantMessage",
    "AttemptDropped",
    "BadTool",
    "Block",
    "ChangeInput",
    "Client",
    "CommandEnded",
    "CommandStarted",
    "Compaction",
    "ConfigurationError",
    "Decision",
    "Denial",
    "Deny",
    "EndRun",
    "Ending",
    "EndingBroke",
    "Event",
    "Fill",
    "FromAgent",
    "FunctionHook",
    "HookEnded",
    "HookInput",
    "HookMatcher",
    "HookStarted",
    "Init",
    "InterlockError",
    "Media",
    "Message",
    "ModelSwitched",
    "ModelUse",
    "NoteMessage",
    "Notice",
    "OptionsError",
    "Output",
    "PermissionMode",
    "PermissionRequest",
    "Point",
    "Progress",
    "QueueChanged",
    "RequestStarted",
    "Result",
    "Resume",
    "Retrying",
    "Rewind",
    "Rewound",
    "Rule",
    "RunFailed",
    "RunNotFound",
    "SessionBusy",
    "SessionInfo",
    "SessionNotFound",
    "SessionTree",
    "Sessions",
    "Setting",
    "SettingsError",
    "SeveralSessions",
    "State",
    "Status",
    "StreamEvent",
    "SubAgent",
    "Text",
    "TextArrived",
    "Thinking",
    "ThinkingArrived",
    "TodosChanged",
    "Tool",
    "ToolContext",
    "ToolError",
    "ToolProgress",
    "ToolResult",
    "ToolResultMessage",
    "ToolRunning",
    "ToolStarted",
    "ToolUse",
    "TranscriptError",
    "Update",
    "UpdateKind",
    "Usage",
    "UsageError",
    "UserAnswer",
    "UserMessage",
    "UserQuestion",
    "WrongLoop",
    "__version__",
    "config",
    "decide",
    "hook",
    "image",
    "query",
    "run",
    "run_async",
    "tool",
]

# Where each name lives: the imports above once more, for when it is asked for. A test compares.
_HOMES = {
    "interlock.agents.definition": "AgentDefinition",
    "interlock.api.answers": "AddContext Allow Ask Block ChangeInput Deny EndRun",
    "interlock.api.asking": "PermissionRequest",
    "interlock.api.client": "Client",
    "interlock.api.hooks": "FunctionHook HookInput hook",
    "interlock.api.looking": "config decide",
    "interlock.api.media": "image",
    "interlock.api.messages": (
        "AnyMessage AssistantMessage Init NoteMessage SubAgent ToolResultMessage UserMessage"
    ),
    "interlock.api.options": "AgentOptions",
    "interlock.api.query": "query run run_async",
    "interlock.api.result": "Result",
    "interlock.api.sessions": "SessionInfo SessionTree Sessions",
    "interlock.context.gauge": "Fill",
    "interlock.endings": "Ending Progress",
    "interlock.errors": (
        "ConfigurationError EndingBroke InterlockError OptionsError RunFailed RunNotFound "
        "SessionBusy SessionNotFound SettingsError SeveralSessions TranscriptError "
        "UsageError WrongLoop"
    ),
    "interlock.hooks": "Event HookMatcher",
    "interlock.in_force": "Setting",
    "interlock.mcp": "Status",
    "interlock.options": "Asking PermissionMode Resume",
    "interlock.permissions": "Decision Rule Update UpdateKind",
    "interlock.rewinding": "Rewind Rewound",
    "interlock.sessions": "Point",
    "interlock.summary": "Denial ModelUse",
    "interlock.tools": "Output Tool ToolContext ToolError UserAnswer UserQuestion",
    "interlock.tools.decorate": "BadTool tool",
    "phases.world.messages": "Media Message Text Thinking ToolResult ToolUse",
    "phases.world.states": "State",
    "phases.world.updates": (
        "AgentEnded AgentProgress AgentStarted AttemptDropped CommandEnded CommandStarted "
        "Compaction FromAgent HookEnded HookStarted ModelSwitched Notice QueueChanged "
        "RequestStarted Retrying StreamEvent TextArrived ThinkingArrived TodosChanged "
        "ToolProgress ToolRunning ToolStarted"
    ),
    "phases.world.usage": "Usage",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    """The name, from where it lives (PEP 562)."""
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
