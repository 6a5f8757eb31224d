"""One place for all endings: what the history becomes, and what the caller is told.

The history is the view that was sent plus what was received, so a compaction made in the last
iteration is not lost. Every call gets a result, an error is never part of it, and what was
withheld is shown now, once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from attrs import evolve, frozen

from interlock.counted import counted
from phases.reducers import said, without_cut_calls
from phases.world.failures import FOR_NOW, Failure, FailureKind
from phases.world.limits import Limits
from phases.world.loop import Loop, Reply
from phases.world.messages import Kind, Message, Text, ToolResult, derived_id
from phases.world.states import State
from phases.world.taking_out import named, taken_out

INTERRUPTED = "[The user interrupted here.]"
NOT_RUN = {
    State.ABORTED_STREAMING: "Not run: the user interrupted before this call started.",
    State.ABORTED_TOOLS: "Not run: the user interrupted before this call started.",
    State.MODEL_ERROR: "No result: an internal error ended the run. It is not known whether "
    "this call had effects.",
}
# Why nothing more came, by the state in which the interrupt was seen.
_INTERRUPTED = {
    State.PREPROCESS: "Interrupted before the model was asked.",
    State.BLOCKING_CHECK: "Interrupted before the model was asked.",
    State.RECOVERY_BACKOFF: "Interrupted while waiting to ask the model again.",
    State.RECOVERY_COLLAPSE_DRAIN: "Interrupted while room was made in the context window.",
    State.RECOVERY_REACTIVE_COMPACT: "Interrupted while the conversation was summarised.",
    State.RECOVERY_STOP_HOOKS: "Interrupted while stop hooks ran; the answer itself is whole.",
    State.RECOVERY_TOKEN_BUDGET: "Interrupted after the model had answered.",
    State.TOOLS: "Interrupted while tools ran.",
    State.ATTACHMENTS: "Interrupted after tools had run.",
    State.CONTINUATION: "Interrupted after tools had run.",
}
NOT_RECORDED = "not_recorded"  # a Terminal's error: all went well but for the disk
NOT_RUN_OTHERWISE = "Not run: the run ended before this call."


@frozen(kw_only=True)
class Terminal:
    """How a run ended. `error` is None for a whole answer and for an end that a hook asked for."""

    reason: State
    error: str | None
    text: str | None  # for a person: what was withheld, or what the ending means


def terminal_of(ending: State, loop: Loop, came_from: State) -> Terminal:
    """The Terminal that `ending` means for this loop; `came_from` is where it was last at work."""
    withheld, words = loop.now.withheld, loop.now.hook_words
    if ending is State.COMPLETED:
        error, text = _completed(loop.now.reply, withheld, loop.run.limits)
        return Terminal(reason=ending, error=error, text=text)
    if ending is State.HOOK_STOPPED:
        return Terminal(reason=ending, error=None, text=words)
    run = loop.run
    text = {
        State.BLOCKING_LIMIT: _full(loop),
        State.BUDGET_EXHAUSTED: (
            f"The budget is used up: ${loop.spent.cost or 0.0:.4f} of ${run.budget_usd or 0.0:.4f}"
            " (--max-budget-usd)."
        ),
        State.MAX_TURNS: f"Stopped after {counted(run.max_turns or 0, 'turn')} (--max-turns).",
        State.ABORTED_STREAMING: _interrupted(loop, came_from),
        State.ABORTED_TOOLS: _interrupted(loop, came_from),
        State.STOP_HOOK_PREVENTED: _kept_from_ending(loop, words),
        State.PROMPT_TOO_LONG: "The conversation is too long for the model's context window.",
        State.IMAGE_ERROR: "An image or document was refused.",
        State.MODEL_ERROR: "An internal error ended the run.",
    }[ending]
    if withheld is not None and ending in (
        State.PROMPT_TOO_LONG,
        State.IMAGE_ERROR,
        State.MODEL_ERROR,
    ):
        ours = withheld.kind is FailureKind.STORAGE  # a full disk is no error of the program
        text = f"{withheld.message}." if ours else f"{text} {withheld.message}"
    return Terminal(reason=ending, error=ending.value, text=text)


def unrecorded(
    terminal: Terminal, problem: str, lost: Sequence[Message], *, forgotten: bool = False
) -> tuple[Terminal, str | None]:
    """The Terminal of a run whose end could not be written down, and what else to tell of that.

    An answer stays one, but a session that lacks it is no success. `forgotten`: the prompt is no
    part of the session (see `without_unsaid`).
    """
    kinds = Counter(message.kind for message in lost if message.kind in _NAMES)
    parts = [f"{n} {_NAMES[kind]}{'s' if n > 1 else ''}" for kind, n in kinds.items()]
    told = f"{problem}. Not in the transcript: {', '.join(parts)}." if parts else f"{problem}."
    if forgotten:
        told = f"{told} The prompt is not kept: give it again."
    if terminal.error is None:
        text = f"The run is not recorded. {told}"
        return evolve(terminal, error=NOT_RECORDED, text=text), None
    if terminal.text == f"{problem}.":  # what ended the run is told once
        return evolve(terminal, text=told), None
    return terminal, told


def without_unsaid(messages: tuple[Message, ...], lost: Sequence[Message]) -> tuple[Message, ...]:
    """The history without a prompt that was not written down and not answered.

    Kept, it would go out unasked together with the next one; and a process that is ended before
    that has forgotten it anyway.
    """
    unwritten = {message.id for message in lost if message.kind is Kind.PROMPT}
    at = len(messages)
    for number in reversed(range(len(messages))):
        if messages[number].role == "assistant":
            break
        if messages[number].id in unwritten:
            at = number
    return messages[:at]


_NAMES = {
    Kind.PROMPT: "prompt",
    Kind.REPLY: "answer",
    Kind.RESULT: "result",
    Kind.SUMMARY: "summary",
}


def _kept_from_ending(loop: Loop, words: str | None) -> str:
    most = loop.run.limits.max_stop_blocks
    said = f": {words}" if words else "."
    if loop.spent.stop_blocks < most:
        return f"A stop hook ended the run{said}"
    return (
        f"Stop hooks sent the model back to work {counted(most, 'time')}, as often as"
        f" CLAUDE_CODE_STOP_HOOK_BLOCK_CAP allows, and would again{said}"
    )


def _interrupted(loop: Loop, came_from: State) -> str:
    """What was going on; of a request that is told by the reply, which may just have come."""
    if came_from in _INTERRUPTED:
        return _INTERRUPTED[came_from]
    if loop.now.reply is None:
        return "Interrupted while the model answered."
    return "Interrupted after the model had answered."


def _full(loop: Loop) -> str:
    """Why nothing more can be sent, what fills the window, and what helps."""
    limits, run, now = loop.run.limits, loop.run, loop.now
    said = [
        f"The context is full: about {now.size:,} tokens, and the limit is {limits.hard_limit:,}."
    ]
    if now.heaviest is not None:
        said.append(f"The largest part is {now.heaviest}.")
    if now.tracking.fruitless >= limits.max_fruitless_compactions:
        said.append("It was full again right after compacting, so compaction has stopped.")
    if run.fixed_tokens >= limits.compact_at:
        said.append("Offer fewer tools, or shorten the system prompt or CLAUDE.md, or")
    else:
        said.append("Start a new session, or")
    said.append("raise INTERLOCK_CONTEXT_WINDOW if the model has a larger window.")
    return " ".join(said)


def _completed(
    reply: Reply | None, withheld: Failure | None, limits: Limits
) -> tuple[str | None, str | None]:
    if reply is None:
        return "api_error", _refused(withheld, limits)
    match reply.stop_reason:
        case "end_turn" | "stop_sequence":
            return None, None
        case "max_tokens":
            return (
                "max_output_tokens",
                "The answer was cut by the output limit, also after it was asked to go on.",
            )
        case "refusal":
            return "refusal", "The model declined to answer."
        case "pause_turn":
            return "pause_limit", "The server kept pausing the turn; the answer is not whole."
        case "tool_use":
            return "unknown_stop_reason", "The model announced a tool call and made none."
        case None:
            return (
                "unknown_stop_reason",
                "The answer ended without saying why (it has no stop_reason).",
            )
        case other:
            return (
                "unknown_stop_reason",
                f"The answer ended for a reason this version does not know: {other}.",
            )


def _refused(withheld: Failure | None, limits: Limits) -> str:
    if withheld is None:
        return "The model gave no answer."
    if withheld.to_take_out:
        gone = named(withheld.to_take_out)
        return f"{withheld.message}. So that the session can go on, this was left out: {gone}."
    asked, cap = withheld.retry_after or 0.0, limits.retry_after_cap_s
    if withheld.kind not in FOR_NOW or withheld.hopeless or asked <= cap:
        return withheld.message
    # Here the wait is why there was no other attempt, and the user can change that.
    return (
        f"{withheld.message}. The wait asked for ({asked:,g} s) is longer than"
        f" INTERLOCK_RETRY_AFTER_CAP_S allows ({cap:,g} s)."
    )


def final_history(
    ending: State, loop: Loop, answered: tuple[Message, ...] = ()
) -> tuple[Message, ...]:
    """The history that the session goes on with.

    `answered` are results that are written already, although the tools' phase did not get to
    report them.
    """
    now = loop.now
    if not now.view:
        return loop.state.messages
    results = now.results or (answered if now.reply is not None else ())
    view = now.view
    if now.reply is None and now.withheld is not None:
        view = taken_out(view, now.withheld)  # left in, it would be refused at the next prompt too
    received = () if now.reply is None else _received(now.reply, results)
    history = (*view, *received, *results, *_missing(received, results, ending))
    history = (*history, *now.attachments)
    if ending in (State.ABORTED_STREAMING, State.ABORTED_TOOLS):
        mark = Message(
            id=derived_id(history[-1].id, "interrupted"),
            role="user",
            kind=Kind.INTERRUPTION,
            content=(Text(INTERRUPTED),),
        )
        history = (*history, mark)
    return history


def _received(reply: Reply, results: tuple[Message, ...]) -> tuple[Message, ...]:
    # Calls that the answer was cut in stay only where tools ran, for there they were answered.
    return said(reply if results else without_cut_calls(reply))


def _missing(
    received: tuple[Message, ...], results: tuple[Message, ...], ending: State
) -> tuple[Message, ...]:
    answered = {
        block.tool_use_id
        for message in results
        for block in message.content
        if isinstance(block, ToolResult)
    }
    words = NOT_RUN.get(ending, NOT_RUN_OTHERWISE)
    return tuple(
        Message(
            id=derived_id(message.id, f"result {call.id}"),
            role="user",
            kind=Kind.RESULT,
            content=(ToolResult(call.id, (Text(words),), is_error=True),),
            source=message.id,
        )
        for message in received
        for call in message.calls
        if call.id not in answered
    )


def failure_of(terminal: Terminal, loop: Loop) -> Failure:
    """What stop-failure hooks are told."""
    return loop.now.withheld or Failure(
        kind=FailureKind.UNKNOWN, message=terminal.text or terminal.reason.value
    )
