"""The stream-json renderer: every update as a message of the protocol that agent SDKs read.

A message is emitted when it is `Recorded` and not before: what a client saw, the transcript
holds, under the same uuid. Only raw events (`--include-partial-messages`) run ahead of that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any
from uuid import uuid4

from attrs import frozen

from interlock import __version__
from interlock.cli.lines import line_of
from interlock.cli.output import Output
from interlock.cli.render import Session
from interlock.cli.result import result_of
from interlock.cli.verdict import line_of as error_line_of
from interlock.cli.verdict import sdk_error_of, sdk_error_of_kind, wire_of
from interlock.sessions.entries import (
    NO_MODEL,
    block_id,
    block_json,
    reply_json,
    request_id,
    result_text,
)
from interlock.summary import RunSummary
from phases.world.messages import Kind, Message, ToolResult, ToolUse
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
    Recorded,
    RequestStarted,
    Retrying,
    StreamEvent,
    ToolRunning,
    Update,
)

Json = dict[str, Any]


@frozen(kw_only=True)
class StreamJson:
    """Writes the messages of one prompt."""

    output: Output
    session: Session
    key_source: str
    partial: bool = False
    hook_events: bool = False
    replays: bool = False  # what the caller said is told too
    subagent_text: bool = False  # and what sub-agents say and think
    listed: Callable[[], Json] = dict  # what of the session stands in `init` beside the usual

    def begin(self) -> None:
        session = self.session
        usual = {
            "cwd": str(session.cwd),
            "tools": list(session.tools),
            "mcp_servers": [
                {"name": one.name, "status": one.status} for one in session.servers.status()
            ],
            "model": session.model,
            "permissionMode": str(session.permission_mode),
            "slash_commands": [],
            "apiKeySource": self.key_source,
            "claude_code_version": __version__,
            "output_style": "default",
            "agents": list(session.agents),
            "skills": [],
            "plugins": [],
        }
        self.system("init", **(usual | self.listed()))

    def show(self, update: Update) -> None:
        match update:
            case Recorded(message) if message.kind is Kind.PROMPT and message.replaces is None:
                if self.replays:
                    self._emit(_replayed(message))
            case Recorded(message):
                for said in messages_of(message):
                    self._emit(said)
            case AgentStarted() | FromAgent() | AgentProgress() | AgentEnded():
                for said in agent_messages(update, text=self.subagent_text):
                    self._emit(said)
            case CommandStarted() | CommandEnded():
                self._emit(_command_task(update))
            case StreamEvent(event) if self.partial:
                self._emit({"type": "stream_event", "event": event, "parent_tool_use_id": None})
            case RequestStarted() if self.partial:
                self.system("status", status="requesting")
            case AttemptDropped() if self.partial:
                self.system("attempt_dropped")
            case Retrying():
                self.system("api_retry", **_retry(update))
            case Compaction(trigger, before, after):
                metadata = {"trigger": trigger, "pre_tokens": before, "post_tokens": after}
                self.system("compact_boundary", compact_metadata=metadata)
            case ModelSwitched(old, new):
                self._told("warning", f"{old} is overloaded; {new} takes over")
            case Notice(level, text):
                self._told(level, text)
            case ToolRunning(call, seconds):
                self._emit(_still_running(call, seconds))
            case HookStarted() if self.hook_events:
                self.system("hook_started", **_hook(update))
            case HookEnded() if self.hook_events:
                self.system("hook_response", **_hook(update), **_said_by_hook(update))
            case _:
                pass  # what a terminal is shown, and what the result says once more

    def end(self, summary: RunSummary, more: Mapping[str, Any] | None = None) -> None:
        """`more` is what the result says beside the usual."""
        for denial in summary.denials:
            self.system(
                "permission_denied",
                tool_name=denial.tool_name,
                tool_use_id=denial.tool_use_id,
                message=f"{denial.tool_name} was not permitted",
            )
        line = error_line_of(summary)
        if line is not None and wire_of(summary).subtype == "success":
            self._emit(_synthetic(line, sdk_error_of(summary)))
        said = result_of(summary) | {"total_cost_usd": _total(summary)}
        self._emit(said | dict(more or {}))

    def _told(self, level: str, text: str) -> None:
        self.system("informational", level=level, content=text)

    def system(self, subtype: str, **keys: Any) -> None:
        self._emit({"type": "system", "subtype": subtype} | keys)

    def _emit(self, message: Json) -> None:
        whole = {"uuid": str(uuid4()), "session_id": self.session.session_id} | message
        order = {"type": whole.pop("type")} | whole
        self.output.write(line_of(order))


def _retry(update: Retrying) -> Json:
    return {
        "attempt": update.attempt,
        "max_retries": update.max_retries,
        "retry_delay_ms": round(update.delay * 1000),
        "error_status": update.failure.status,
        "error": sdk_error_of_kind(update.failure.kind),
    }


def _said_by_hook(update: HookEnded) -> Json:
    return {
        "output": update.stdout or update.stderr,
        "stdout": update.stdout,
        "stderr": update.stderr,
        "exit_code": update.exit_code,
        "outcome": update.outcome,
    }


def _hook(update: HookStarted | HookEnded) -> Json:
    return {"hook_id": update.id, "hook_name": update.name, "hook_event": update.event}


def messages_of(message: Message, parent: str | None = None) -> Iterator[Json]:
    """A message as clients are told it; `parent` is the call that started the sub-agent, if one
    said it."""
    if message.replaces is not None or message.kind is Kind.PROMPT:
        return  # an older message in other words; what the caller said itself
    if message.role == "assistant":
        for index, block in enumerate(message.content):
            # The usage is known by now and stands here; stop_reason stays open until the result.
            body = reply_json(message, (block,)) | {"stop_reason": None}
            yield {
                "type": "assistant",
                "message": body,
                "parent_tool_use_id": parent,
                "uuid": block_id(message.id, index),
                "request_id": request_id(message),
            }
        return
    results = [block for block in message.content if isinstance(block, ToolResult)]
    said: Json = {
        "type": "user",
        "message": {"role": "user", "content": [block_json(block) for block in message.content]},
        "parent_tool_use_id": parent,
        "uuid": message.id,
    }
    if results:
        said["tool_use_result"] = result_text(results[0])
    elif message.kind in (Kind.NOTE, Kind.SUMMARY):
        said["isSynthetic"] = True
    yield said


def _total(summary: RunSummary) -> float | None:
    """What the session has cost, not the prompt alone; None where a price is not known."""
    costs = [use.cost for use in summary.models.values()]
    return summary.cost if not costs else None if None in costs else sum(filter(None, costs))


def _replayed(message: Message) -> Json:
    """What the caller said, with the id that it has in the transcript."""
    content: Any = [block_json(block) for block in message.content]
    if len(message.content) == 1:
        content = message.text or content
    return {
        "type": "user",
        "message": {"role": "user", "content": content},
        "parent_tool_use_id": None,
        "isReplay": True,
        "uuid": message.id,
    }


def _synthetic(text: str, error: str) -> Json:
    """An API failure, as clients expect to be told of one."""
    id_ = str(uuid4())
    return {
        "type": "assistant",
        "message": {
            "id": id_,
            "type": "message",
            "role": "assistant",
            "model": NO_MODEL,
            "content": [{"type": "text", "text": text}],
            "stop_reason": "stop_sequence",
            "stop_sequence": "",
            "usage": {
                "input_tokens": 0,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 0,
                "output_tokens": 0,
            },
        },
        "parent_tool_use_id": None,
        "uuid": id_,
        "error": error,
    }


def agent_messages(
    update: AgentStarted | FromAgent | AgentProgress | AgentEnded, *, text: bool = False
) -> Iterator[Json]:
    """What clients are told of a sub-agent: that it begins, goes on and ends, which tools it
    calls, what they say. What it says and thinks itself is its parent's affair, unless `text` is
    wanted."""
    match update:
        case AgentStarted():
            yield {**_task("task_started", update), "task_type": "local_agent"}
            yield {
                "type": "user",
                "message": {"role": "user", "content": [{"type": "text", "text": update.prompt}]},
                "parent_tool_use_id": update.tool_use_id,
            }
        case FromAgent(tool_use_id=parent, update=Recorded(message)):
            for said in messages_of(message, parent):
                if text or said["type"] == "user" or _calls(said):
                    yield said
        case FromAgent(tool_use_id=parent, update=ToolRunning(call, seconds)):
            yield _still_running(call, seconds, parent)
        case FromAgent(agent_type=kind, update=Notice("warning" | "error" as level, words)):
            yield {
                "type": "system",
                "subtype": "informational",
                "level": level,
                "content": f"{kind}: {words}",
            }
        case AgentProgress():
            yield {
                **_task("task_progress", update),
                "usage": _usage(update),
                "last_tool_name": update.doing,
            }
        case AgentEnded():
            yield {
                **_task("task_notification", update),
                "status": update.status,
                "output_file": update.transcript,
                "summary": update.summary,
                "usage": _usage(update),
            }


def _command_task(update: CommandStarted | CommandEnded) -> Json:
    """A command in the background is a task as well. Each agent counts its own."""
    id_ = update.id if update.agent_id is None else f"{update.agent_id}-{update.id}"
    task: Json = {
        "type": "system",
        "subtype": "task_started",
        "task_id": id_,
        "tool_use_id": update.tool_use_id,
        "description": update.line,
        "task_type": "local_bash",
    }
    if isinstance(update, CommandEnded):
        task |= {
            "subtype": "task_notification",
            "status": update.status,
            "output_file": update.output,
            "summary": update.summary,
        }
    return task


def _task(subtype: str, update: AgentStarted | AgentProgress | AgentEnded) -> Json:
    return {
        "type": "system",
        "subtype": subtype,
        "task_id": update.agent_id,
        "tool_use_id": update.tool_use_id,
        "description": update.description,
    }


def _usage(update: AgentProgress | AgentEnded) -> Json:
    return {
        "total_tokens": update.tokens,
        "tool_uses": update.calls,
        "duration_ms": round(update.seconds * 1000),
    }


def _still_running(call: ToolUse, seconds: float, parent: str | None = None) -> Json:
    return {
        "type": "tool_progress",
        "tool_use_id": call.id,
        "tool_name": call.name,
        "parent_tool_use_id": parent,
        "elapsed_time_seconds": round(seconds, 1),
    }


def _calls(said: Json) -> bool:
    return any(block["type"] == "tool_use" for block in said["message"]["content"])
