"""Calls whose result was never written down: what became of each, told truthfully.

A process that was killed leaves calls open. What had begun, and what had not, is in the records
of the run (`call_records`); made-up results say so, and are written once. Nothing is run again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from attrs import frozen

from fsm.errors import TraceError
from interlock.call_records import Life, calls_of
from interlock.tools.lifecycle import CallState
from phases.world.messages import Kind, Message, Text, ToolResult, ToolUse, derived_id

NOT_STARTED = "Not run: the program was ended before this call started. Nothing of it was done."
STARTED = (
    "No result: the program was ended while this call ran. It was not run again. Whether it came "
    "to its end, and what it changed until then, is not known: look, before you repeat it."
)
STARTED_READING = (
    "No result: the program was ended while this call ran. It changes nothing, so it can simply "
    "be made again."
)
FINISHED = (
    "No result: this call ran to its end ({how}), but the program was ended before what it said "
    "was written down. It was not run again; what it did is done."
)
STOPPED = (
    "No result: this call was stopped while it ran, and then the program was ended. What it had "
    "changed by then is not known."
)
REFUSED = (
    "Not run: it was not permitted, could not be run, or was stopped before it began; then the "
    "program was ended."
)
UNKNOWN = (
    "No result: the program was ended before one was written down. It is not known whether this "
    "call ran, nor what it changed: look, before you repeat it."
)
_HOW = {
    CallState.DONE: "well",
    CallState.FAILED: "with an error",
    CallState.TIMED_OUT: "at its time limit",
}


@frozen
class Closed:
    """A call and the result that was made for it."""

    call: ToolUse
    result: Message


def closed(
    history: Sequence[Message], *runs: Path, known: Mapping[str, ToolResult] | None = None
) -> tuple[Closed, ...]:
    """Results for the open calls of the last reply, in order. `runs` hold the runs' traces: the
    session's own, then those of the sessions that it branched from.

    `known` are results that others have kept, by the id of the call: sub-agents' reports.

    Where something was said after it, the calls are not at the end any more: the history is
    then mended before it is sent, as that of any other program.
    """
    at = next((n for n in reversed(range(len(history))) if history[n].calls), None)
    if at is None or any(_goes_on(message) for message in history[at + 1 :]):
        return ()
    reply = history[at]
    answered = {
        block.tool_use_id
        for message in history[at + 1 :]
        for block in message.content
        if isinstance(block, ToolResult)
    }
    left = [call for call in reply.calls if call.id not in answered]
    if not left:
        return ()
    told, kept = _Known.of_any(runs, reply), known or {}
    return tuple(
        Closed(call, _result(reply, call, kept.get(call.id) or _made(call, told.words(call))))
        for call in left
    )


def _goes_on(message: Message) -> bool:
    return message.role == "assistant" or message.kind in (Kind.PROMPT, Kind.SUMMARY)


def _made(call: ToolUse, words: str) -> ToolResult:
    return ToolResult(call.id, (Text(words),), is_error=True)


def _result(reply: Message, call: ToolUse, block: ToolResult) -> Message:
    # The same for the same call: made twice, it would still be one message.
    id_ = derived_id(reply.id, f"{call.id} was open")
    return Message(id=id_, role="user", kind=Kind.RESULT, content=(block,), source=reply.id)


def _changed(path: Path) -> int:
    return path.stat().st_mtime_ns


@frozen
class _Known:
    """What the run that received a reply says of its calls."""

    lives: dict[str, Life]
    ours: bool  # there is one: a call that it does not mention never came up

    @classmethod
    def of_any(cls, folders: Sequence[Path], reply: Message) -> _Known:
        """Of the first folder in which a run received the reply."""
        found = (cls.of(runs, reply) for runs in folders)
        return next((known for known in found if known.ours), cls({}, ours=False))

    @classmethod
    def of(cls, runs: Path, reply: Message) -> _Known:
        # The newest first, as a guess: a clock that was set may have put them in another order.
        traces = sorted(runs.glob("*.trace.jsonl"), key=_changed, reverse=True)
        try:
            # Before a reply is written into the transcript, the trace has it by its id.
            theirs = next((one for one in traces if reply.id.encode() in one.read_bytes()), None)
            if theirs is None:
                return cls({}, ours=False)
            calls = calls_of(theirs)
        except (TraceError, OSError, ValueError):
            return cls({}, ours=False)
        if calls.lossy:  # the line that cannot be read may be the one that says that it began
            return cls({}, ours=False)
        return cls({life.facts.id: life for life in calls.lives}, ours=True)

    def words(self, call: ToolUse) -> str:
        life = self.lives.get(call.id)
        if life is None:
            return NOT_STARTED if self.ours else UNKNOWN
        began = CallState.RUNNING in life.path
        if not began:
            return REFUSED if life.over else NOT_STARTED
        if not life.over:
            return STARTED if life.facts.effects else STARTED_READING
        how = _HOW.get(life.state)
        return STOPPED if how is None else FINISHED.format(how=how)
