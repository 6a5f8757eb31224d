"""The stream-json renderer: every update as a message of the protocol that agent SDKs read.

A message is emitted when it is `Recorded` and not before: what a client saw, the transcript
holds, under the same uuid. Only raw events (`--include-partial-messages`) run ahead of that.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol
from uuid import uuid4

from attrs import frozen

from interlock import __version__
from interlock.cli.lines import line_of
from interlock.cli.output import Output
from interlock.cli.result import result_of
from interlock.cli.verdict import line_of as error_line_of
from interlock.cli.verdict import sdk_error_of, sdk_error_of_kind, wire_of
from interlock.mcp import Status
from interlock.sessions.entries import (
    NO_MODEL,
    block_id,
    block_json,
    reply_json,
    request_id,
    result_text,
)
from interlock.summary import RunSummary
from phases.world.messages import Kind, Message, ToolResult
from phases.world.updates import (
    AgentEnded,
    AgentStarted,
    AttemptDropped,
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


class Standing(Protocol):
    """How MCP servers stand."""

    def status(self) -> list[Status]: ...


class Session(Protocol):
    """What a renderer asks of an agent."""

    @property
    def session_id(self) -> str: ...
    @property
    def model(self) -> str: ...
    @property
    def tools(self) -> tuple[str, ...]: ...
    @property
    def cwd(self) -> Any: ...
    @property
    def permission_mode(self) -> Any: ...
    @property
    def servers(self) -> Standing: ...
    @property
    def agents(self) -> tuple[str, ...]: ...


@frozen(kw_only=True)
class StreamJson:
    """Writes the messages of one prompt."""

    output: Output
    session: Session
    key_source: str
    partial: bool = False
    hook_events: bool = False

    def begin(self) -> None:
        session = self.session
        self._system(
            "init",
            cwd=str(session.cwd),
            tools=list(session.tools),
            mcp_servers=[
                {"name": one.name, "status": one.status} for one in session.servers.status()
            ],
            model=session.model,
            permissionMode=str(session.permission_mode),
            slash_commands=[],
            apiKeySource=self.key_source,
            claude_code_version=__version__,
            output_style="default",
            agents=list(session.agents),
            skills=[],
            plugins=[],
        )

    def show(self, update: Update) -> None:
        match update:
            case Recorded(message):
                for said in messages_of(message):
                    self._emit(said)
            case AgentStarted() | FromAgent() | AgentEnded():
                for said in agent_messages(update):
                    self._emit(said)
            case StreamEvent(event) if self.partial:
                self._emit({"type": "stream_event", "event": event, "parent_tool_use_id": None})
            case RequestStarted() if self.partial:
                self._system("status", status="requesting")
            case AttemptDropped() if self.partial:
                self._system("attempt_dropped")
            case Retrying(failure, attempt, most, delay):
                self._system(
                    "api_retry",
                    attempt=attempt,
                    max_retries=most,
                    retry_delay_ms=round(delay * 1000),
                    error_status=failure.status,
                    error=sdk_error_of_kind(failure.kind),
                )
            case Compaction(trigger, before, after):
                metadata = {"trigger": trigger, "pre_tokens": before, "post_tokens": after}
                self._system("compact_boundary", compact_metadata=metadata)
            case ModelSwitched(old, new):
                self._told("warning", f"{old} is overloaded; {new} takes over")
            case Notice(level, text):
                self._told(level, text)
            case ToolRunning(call, seconds):
                self._emit(
                    {
                        "type": "tool_progress",
                        "tool_use_id": call.id,
                        "tool_name": call.name,
                        "parent_tool_use_id": None,
                        "elapsed_time_seconds": round(seconds, 1),
                    }
                )
            case HookStarted() if self.hook_events:
                self._system("hook_started", **_hook(update))
            case HookEnded(outcome=outcome, stdout=out, stderr=err, exit_code=code) if (
                self.hook_events
            ):
                self._system(
                    "hook_response",
                    **_hook(update),
                    output=out or err,
                    stdout=out,
                    stderr=err,
                    exit_code=code,
                    outcome=outcome,
                )
            case _:
                pass  # what a terminal is shown, and what the result says once more

    def end(self, summary: RunSummary) -> None:
        for denial in summary.denials:
            self._system(
                "permission_denied",
                tool_name=denial.tool_name,
                tool_use_id=denial.tool_use_id,
                message=f"{denial.tool_name} was not permitted",
            )
        line = error_line_of(summary)
        if line is not None and wire_of(summary).subtype == "success":
            self._emit(_synthetic(line, sdk_error_of(summary)))
        self._emit(result_of(summary))

    def _told(self, level: str, text: str) -> None:
        self._system("informational", level=level, content=text)

    def _system(self, subtype: str, **keys: Any) -> None:
        self._emit({"type": "system", "subtype": subtype} | keys)

    def _emit(self, message: Json) -> None:
        whole = {"uuid": str(uuid4()), "session_id": self.session.session_id} | message
        order = {"type": whole.pop("type")} | whole
        self.output.write(line_of(order))


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


def agent_messages(update: AgentStarted | FromAgent | AgentEnded) -> Iterator[Json]:
    """What clients are told of a sub-agent: that it begins and ends, which tools it calls, what
    they say. What it says and thinks itself is its parent's affair."""
    match update:
        case AgentStarted():
            yield {
                "type": "system",
                "subtype": "task_started",
                "task_id": update.agent_id,
                "tool_use_id": update.tool_use_id,
                "description": update.description,
                "task_type": "local_agent",
            }
            yield {
                "type": "user",
                "message": {"role": "user", "content": [{"type": "text", "text": update.prompt}]},
                "parent_tool_use_id": update.tool_use_id,
            }
        case FromAgent(tool_use_id=parent, update=Recorded(message)):
            for said in messages_of(message, parent):
                if said["type"] == "user" or _calls(said):
                    yield said
        case AgentEnded():
            yield {
                "type": "system",
                "subtype": "task_notification",
                "task_id": update.agent_id,
                "tool_use_id": update.tool_use_id,
                "status": update.status,
                "output_file": update.transcript,
                "summary": update.summary,
                "usage": {
                    "total_tokens": update.tokens,
                    "tool_uses": update.calls,
                    "duration_ms": round(update.seconds * 1000),
                },
            }


def _calls(said: Json) -> bool:
    return any(block["type"] == "tool_use" for block in said["message"]["content"])
