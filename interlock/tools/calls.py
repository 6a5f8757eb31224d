"""The calls of one reply: what each is, where it stands, and which must wait for which.

A call waits for every call before it, unless both say they are safe beside others. So an unsafe
call runs alone and in its place, and safe ones between two such run together. Where a call
stands is what its machine says (lifecycle.py); its one result has one slot.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import anyio
from attrs import define, field, frozen

from fsm import Step, decide
from interlock.tools.lifecycle import (
    TOOL_CALL,
    Aborted,
    CallFacts,
    CallOutcome,
    CallState,
    Interrupted,
    Returned,
)
from interlock.tools.results import failure
from interlock.tools.schema import BadInput, checked
from interlock.tools.tool import Arguments, Tool, ToolContext
from phases.world.loop import ToolUseContext
from phases.world.messages import Message, Text, ToolResult, ToolUse

NOT_STARTED = "Interrupted by the user before it started."
WHILE_RUNNING = "Interrupted by the user while it ran; its effects are unknown."
DROPPED = "its reply was dropped"
NOT_IN_THE_REPLY = "it is not in the reply"

Taken = Callable[[Step[CallFacts]], None]  # told each step of a call before the call goes on


def unwatched(step: Step[CallFacts]) -> None:
    """Steps that nobody writes down."""


class SecondResult(Exception):
    """A call was answered twice, or before it ended: a fault of this program, never of a tool."""


@frozen
class Refusal:
    """Why a call cannot run at all: for the model, and in a few words for the record."""

    text: str
    brief: str


CUT = Refusal(
    "Not run: the answer was cut in the middle of this call. Make the call again.",
    "the answer was cut in the middle of it",
)


@define(eq=False, kw_only=True)
class Call:
    """One call, its machine and its one result."""

    use: ToolUse
    tool: Tool | None
    arguments: Arguments
    refusal: Refusal | None
    facts: CallFacts
    taken: Taken = unwatched
    state: CallState = CallState.QUEUED
    begun: bool = False  # a task has it
    aborting: str | None = None  # why it is being cancelled, if not by the user
    context: ToolContext | None = None
    said: ToolResult | None = None  # by the tool; hooks may still add to it
    result: ToolResult | None = None
    message: Message | None = None  # once recorded
    scope: anyio.CancelScope = field(factory=anyio.CancelScope)
    answered: anyio.Event = field(factory=anyio.Event)
    ended: anyio.Event = field(factory=anyio.Event)  # its task is over

    @property
    def over(self) -> bool:
        return self.state in TOOL_CALL.endings

    def tell(self, outcome: CallOutcome) -> CallState:
        """Where that leads. It is written down first: what cannot be, does not happen."""
        step = decide(TOOL_CALL, self.state, self.facts, outcome)
        self.taken(step)
        self.state, self.facts = CallState(step.edge.destination), step.after
        return self.state

    def answer(self, result: ToolResult) -> None:
        """Fill the one slot, once the machine has come to an ending."""
        if self.result is not None or not self.over:
            problem = "is not over yet" if self.result is None else "has a result already"
            raise SecondResult(f"{self.use.name} {self.use.id} {problem}")
        self.result = result
        self.answered.set()

    def interrupted(self) -> None:
        """Say truthfully how far it came."""
        if self.said is not None:  # the tool had ended; only its hooks were cut short
            self.returned(self.said)
        elif self.aborting is not None:
            self._stopped(Aborted(self.aborting), *_cancelled(self.aborting, self.facts.effects))
        else:
            self._stopped(Interrupted(), NOT_STARTED, WHILE_RUNNING)

    def returned(self, result: ToolResult, *, timed_out: bool = False) -> None:
        """The tool is over, and this is the result."""
        size = len(result.text)
        self.tell(Returned(is_error=result.is_error, timed_out=timed_out, characters=size))
        self.answer(result)

    def _stopped(self, outcome: Aborted | Interrupted, before: str, while_running: str) -> None:
        ran = self.state is CallState.RUNNING
        partial = self.context.so_far().strip("\n") if ran and self.context is not None else ""
        text = while_running if ran else before
        self.tell(outcome)
        self.answer(error(self.use, f"{text} Output until then:\n{partial}" if partial else text))


def _cancelled(because: str, effects: bool) -> tuple[str, str]:
    unknown = "; its effects are unknown" if effects else ""
    return (
        f"Not run: cancelled because {because}.",
        f"Cancelled while it ran, because {because}{unknown}.",
    )


@define(eq=False)
class Round:
    """The calls of one reply, in order."""

    context: ToolUseContext
    cwd: Path
    calls: list[Call] = field(factory=list)
    dropped: bool = False
    interrupted: bool = False
    hook_stopped: str | None = None
    broken: Exception | None = None  # a fault of ours, for whoever waits for the results
    news: anyio.Event = field(factory=anyio.Event)  # set when a call is answered

    def before(self, call: Call) -> list[Call]:
        """The calls this one must wait for."""
        at = self.calls.index(call) if call in self.calls else 0
        earlier = self.calls[:at]
        return [one for one in earlier if not (one.facts.safe and call.facts.safe)]

    def beside(self, call: Call) -> list[Call]:
        """The calls under way with this one that stand and fall with it."""
        under_way = (CallState.CHECKING, CallState.PERMITTED, CallState.RUNNING)
        return [
            one
            for one in self.calls
            if one is not call
            and one.state in under_way
            and one.tool is not None
            and one.tool.falls_with_siblings
        ]

    def find(self, use: ToolUse) -> Call | None:
        return next((call for call in self.calls if call.use == use), None)

    @property
    def messages(self) -> tuple[Message, ...]:
        """The results that are recorded, in the order of the calls."""
        return tuple(call.message for call in self.calls if call.message is not None)

    def forget(self, call: Call, because: str) -> None:
        """End a call whose result nobody wants."""
        if not call.over:
            with suppress(Exception):  # what cannot be written down must end all the same
                call.tell(Aborted(because))
        if not call.ended.is_set():  # to cancel a task that is over is nothing, but not cheap
            call.scope.cancel()

    def drop(self) -> None:
        self.dropped = True
        for call in self.calls:
            self.forget(call, DROPPED)


def error(use: ToolUse, text: str) -> ToolResult:
    return ToolResult(tool_use_id=use.id, content=(Text(text),), is_error=True)


def prepared(use: ToolUse, tools: Mapping[str, Tool], taken: Taken = unwatched) -> Call:
    """The call with its tool and checked input, or with why it cannot run."""
    tool = tools.get(use.name) or _also(use.name, tools)
    if tool is None:
        text = f"There is no tool {use.name}. There are: {', '.join(tools)}."
        return _refused(use, taken, text, "no such tool")
    if use.problem is not None:
        text = f"The input of this call could not be read: {use.problem}"
        return _refused(use, taken, text, "its input could not be read")
    try:
        arguments = checked(tool.named(use.input), tool.input_schema)
    except BadInput as problem:
        text = f"The input does not fit the tool {use.name}: {problem}."
        return _refused(use, taken, text, "its input does not fit the tool")
    try:
        effects, safe = tool.effects(arguments), tool.concurrency_safe(arguments)
    except Exception as problem:  # one call that cannot be judged is no reason to end the run
        text = str(failure(use.name, problem).content)
        return _refused(use, taken, text, "the tool could not judge it")
    facts = CallFacts(id=use.id, tool=use.name, effects=effects, safe=safe)
    return Call(use=use, tool=tool, arguments=arguments, refusal=None, facts=facts, taken=taken)


def _also(name: str, tools: Mapping[str, Tool]) -> Tool | None:
    return next((tool for tool in tools.values() if name in tool.also), None)


def _refused(use: ToolUse, taken: Taken, text: str, brief: str) -> Call:
    facts = CallFacts(id=use.id, tool=use.name, effects=False, safe=True)
    return Call(
        use=use,
        tool=None,
        arguments={},
        refusal=Refusal(text, brief),
        facts=facts,
        taken=taken,
    )
