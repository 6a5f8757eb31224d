"""Renderers for people and scripts: `text` and `json`. The third is in `stream_json`.

Only the result goes to standard output. What happens meanwhile is told on stderr: all of it on
request (`--verbose`), else only what a person who waits must know.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from attrs import define, field, frozen

from interlock.cli.output import Output
from interlock.cli.result import result_of
from interlock.cli.verdict import holds_answer
from interlock.counted import counted
from interlock.mcp import Status
from interlock.permissions.advice import for_a_person
from interlock.summary import RunSummary
from interlock.visible import visible
from phases.world.messages import Kind, Message, ToolResult, ToolUse, encoded
from phases.world.updates import (
    AgentEnded,
    AgentStarted,
    AttemptDropped,
    Compaction,
    FromAgent,
    ModelSwitched,
    Notice,
    Recorded,
    Retrying,
    TextArrived,
    Todo,
    TodosChanged,
    ToolProgress,
    ToolRunning,
    ToolStarted,
    Update,
)

_TODO_MARKS = {"completed": "☒", "in_progress": "▸", "pending": "☐"}
_WIDTH = 160  # characters of a call or a result that is mentioned in passing


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


class Renderer(Protocol):
    """Tells one prompt: before it, while it runs, and what became of it."""

    def begin(self) -> None: ...
    def show(self, update: Update) -> None: ...
    def end(self, summary: RunSummary) -> None: ...


@frozen(kw_only=True)
class Json:
    """One result object at the end, nothing before."""

    output: Output
    live: Live

    def begin(self) -> None:
        pass

    def show(self, update: Update) -> None:
        self.live.show(update)

    def end(self, summary: RunSummary) -> None:
        self.output.write(encoded(result_of(summary)) + b"\n")


@frozen(kw_only=True)
class Plain:
    """The final text, as it is: of a whole answer, or of one that is not whole but an answer."""

    output: Output
    live: Live
    repeat: bool = True  # False: the person at the terminal has just read it

    def begin(self) -> None:
        pass

    def show(self, update: Update) -> None:
        self.live.show(update)

    def end(self, summary: RunSummary) -> None:
        if holds_answer(summary) and summary.text and self.repeat:
            self.output.text(summary.text + ("" if summary.text.endswith("\n") else "\n"))


@define
class Live:
    """What happens, on stderr, as it happens. Control characters are made visible.

    Without `verbose` only waits, switches and warnings: silence would look like a fault.
    """

    write: Callable[[str], None]
    verbose: bool = True
    _in_text: bool = False
    _due: dict[str, float] = field(factory=dict)  # seconds after which a call is mentioned again

    def show(self, update: Update) -> None:
        match update:
            case Retrying(failure, attempt, most, delay):
                self._line(f"◌ {failure.message}; attempt {attempt} of {most} in {delay:.1f} s")
            case ModelSwitched(old, new):
                self._line(f"◌ {old} is overloaded; {new} takes over")
            case Notice("warning" | "error", text):
                self._line(f"! {text}")
            case FromAgent(agent_type=kind, update=Notice("warning" | "error", text)):
                self._line(f"! {kind}: {text}")
            case _ if self.verbose:
                self._tell(update)

    def _tell(self, update: Update) -> None:
        match update:
            case TextArrived(text):
                self._in_text = not text.endswith("\n")
                self.write("\n".join(visible(line) for line in text.split("\n")))
            case AttemptDropped() if self._in_text:
                self._line("… (does not count: the answer was not whole)")
            case ToolStarted(call):
                self._line(f"● {_call(call)}")
            case ToolRunning(call, seconds):
                self._still_running(call, seconds)
            case ToolProgress(_, text):
                for line in text.splitlines():
                    self._line(f"  │ {line}")
            case Recorded(message) if message.kind is Kind.RESULT and not message.replaces:
                for line in _results(message):
                    self._line(line)
            case TodosChanged(todos):
                for todo in todos:
                    self._line(f"  {_TODO_MARKS[todo.status]} {_todo(todo)}")
            case AgentStarted() | FromAgent() | AgentEnded():
                for line in told_of_agent(update):
                    self._line(line)
            case Compaction(_, before, after):
                self._line(f"◌ history summarised: {before:,} tokens to {after:,}")
            case Notice(_, text):
                self._line(f"◌ {text}")

    def end(self) -> None:
        """The run is over: what is said next begins a line."""
        if self._in_text:
            self.write("\n")
            self._in_text = False

    def _still_running(self, call: ToolUse, seconds: float) -> None:
        """A line each time it has lasted twice as long: a call of an hour needs no hundreds."""
        if seconds >= self._due.get(call.id, 0.0):
            self._due[call.id] = 2 * seconds
            self._line(f"  ◌ {call.name} is still running, {seconds:.0f} s")

    def _line(self, line: str) -> None:
        self.write(f"{chr(10) if self._in_text else ''}{visible(line)}\n")
        self._in_text = False


def told_of_agent(update: AgentStarted | FromAgent | AgentEnded) -> list[str]:
    """The progress of a sub-agent in short: that it begins, what it calls, how it ended."""
    match update:
        case AgentStarted(agent_type=kind, description=about, background=beside):
            return [f"  ▷ {kind}: {_short(about)}{' (in the background)' if beside else ''}"]
        case FromAgent(agent_type=kind, update=ToolStarted(call)):
            return [f"    {kind} ● {_call(call)}"]
        case AgentEnded(agent_type=kind, status=status, summary=summary):
            calls = counted(update.calls, "call")
            took = f"{calls}, {update.tokens:,} tokens, {update.seconds:.0f} s"
            mark = "✓" if status == "completed" else "✗"
            return [f"  {mark} {kind}: {_short(summary)} ({took})"]
    return []


def _call(call: ToolUse) -> str:
    return f"{call.name} {_short(encoded(dict(call.input)).decode())}"


def _results(message: Message) -> list[str]:
    found = []
    for block in message.content:
        if isinstance(block, ToolResult):
            text = for_a_person(block.text) if block.is_error else block.text
            lines = text.splitlines() or ["(no output)"]
            more = f" (+{counted(len(lines) - 1, 'line')})" if len(lines) > 1 else ""
            found.append(f"  {'✗' if block.is_error else '└'} {_short(lines[0])}{more}")
    return found


def _todo(todo: Todo) -> str:
    return _short(todo.active_form if todo.status == "in_progress" else todo.content)


def _short(text: str) -> str:
    return text if len(text) <= _WIDTH else text[:_WIDTH] + "…"
