"""What a run tells whoever watches it, as it happens. Data only; renderers live in `interlock`.

Deltas are provisional: an attempt that fails takes them back (`AttemptDropped`). What counts is
`Recorded`: emitted for a message when, and only when, it is written to the transcript (law 9).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import frozen

from phases.world.failures import Failure
from phases.world.messages import Message, ToolUse


@frozen
class RequestStarted:
    """A request is about to leave; emitted before any wait for the network."""

    model: str
    turn: int


@frozen
class StreamEvent:
    """One event of the Messages API stream, raw: for callers who want partial messages."""

    event: Mapping[str, Any]


@frozen
class TextArrived:
    text: str


@frozen
class ThinkingArrived:
    text: str


@frozen
class AttemptDropped:
    """What arrived since the last `RequestStarted` does not count: the reply was not whole."""


@frozen
class Retrying:
    """A wait before another attempt begins; an interrupt breaks it."""

    failure: Failure
    attempt: int  # from 1
    max_retries: int
    delay: float  # seconds


@frozen
class ModelSwitched:
    """The fallback model takes over for the rest of the prompt."""

    old: str
    new: str


@frozen
class Recorded:
    """A message is part of the transcript now."""

    message: Message


@frozen
class Compaction:
    """The history was replaced by a summary."""

    trigger: str  # "auto" or "manual"
    tokens_before: int
    tokens_after: int


@frozen
class ToolStarted:
    call: ToolUse


@frozen
class ToolProgress:
    """Output of a tool that is still running."""

    tool_use_id: str
    text: str


@frozen(kw_only=True)
class Todo:
    """One thing to do; `status` is pending, in_progress or completed."""

    content: str
    status: str
    active_form: str  # what is being done, while it is


@frozen
class TodosChanged:
    """The list of what is to be done, whole, as it is now."""

    todos: tuple[Todo, ...]


@frozen
class ToolRunning:
    """A sign of life of a call that runs long, told again and again, whether it prints or not."""

    call: ToolUse
    seconds: float  # since it started


@frozen
class QueueChanged:
    """A queued message moved on: queued, injected, then completed; or a prompt of its own.

    Completions follow `Ended`: they say that the run has returned.
    """

    id: str  # of the message it becomes, too
    stage: str


@frozen(kw_only=True)
class HookStarted:
    """A command that is registered for this event begins; `name` says for what of it."""

    id: str
    event: str
    name: str


@frozen(kw_only=True)
class HookEnded:
    """It is over: `outcome` is success, error or cancelled."""

    id: str
    event: str
    name: str
    outcome: str
    stdout: str
    stderr: str
    exit_code: int | None  # None: it was ended, or never began


@frozen(kw_only=True)
class AgentStarted:
    """A sub-agent begins; its own updates follow, each as `FromAgent`."""

    agent_id: str
    agent_type: str
    description: str
    prompt: str
    tool_use_id: str  # the call that started it
    background: bool


@frozen(kw_only=True)
class FromAgent:
    """What a sub-agent tells; one that a sub-agent has started tells it the same way."""

    agent_id: str
    agent_type: str
    tool_use_id: str
    update: Update


@frozen(kw_only=True)
class AgentProgress:
    """A sub-agent calls a tool; the counts are those up to this call."""

    agent_id: str
    agent_type: str
    description: str
    tool_use_id: str
    doing: str  # the tool
    tokens: int
    calls: int
    seconds: float


@frozen(kw_only=True)
class AgentEnded:
    """It is over, and its result is on disk; `status` is completed, failed or stopped."""

    agent_id: str
    agent_type: str
    description: str
    tool_use_id: str
    background: bool
    status: str
    summary: str  # one line for a person
    transcript: str
    tokens: int
    calls: int
    seconds: float


@frozen(kw_only=True)
class CommandStarted:
    """A command runs in the background from now on; `agent_id` is whose, None the main agent's."""

    id: str
    agent_id: str | None
    tool_use_id: str
    line: str


@frozen(kw_only=True)
class CommandEnded:
    """It is over; `status` is completed, failed or stopped."""

    id: str
    agent_id: str | None
    tool_use_id: str
    line: str
    status: str
    summary: str  # one line for a person
    output: str  # the file that holds what it said
    seconds: float


@frozen
class Notice:
    """One line for the person at the terminal; `level` is info, warning or error."""

    level: str
    text: str


@frozen
class Ended:
    """The last update of the loop: why the run is over. `error` is None for a whole answer."""

    reason: str
    error: str | None
    text: str | None  # what was withheld, shown once, now


# What happens on the way: all but what the transcript says, and the end.
Happening = (
    RequestStarted
    | StreamEvent
    | TextArrived
    | ThinkingArrived
    | AttemptDropped
    | Retrying
    | ModelSwitched
    | Compaction
    | ToolStarted
    | ToolProgress
    | ToolRunning
    | TodosChanged
    | QueueChanged
    | HookStarted
    | HookEnded
    | AgentStarted
    | FromAgent
    | AgentProgress
    | AgentEnded
    | CommandStarted
    | CommandEnded
    | Notice
)
Update = Happening | Recorded | Ended

Show = Callable[[Update], None]
