"""What each recovery edge makes of the loop.

A Continue builds the whole next state, all ten fields said aloud, and starts from the view that
was sent: from `state.messages`, a compaction of `preprocess` would be forgotten and paid again.
Retry edges (drain, reactive, escalate) throw the failed reply away; the others keep it.
"""

from __future__ import annotations

from itertools import takewhile

from attrs import evolve

from phases.reducers import said, without_cut_calls
from phases.world.loop import (
    NOTHING_YET,
    Continue,
    Loop,
    LoopState,
    Reason,
    Reply,
    Spent,
)
from phases.world.messages import Message, RedactedThinking, Thinking, ToolUse, note
from phases.world.outcomes import (
    Compacted,
    Drained,
    HooksRan,
    Outcome,
    Streamed,
    booked,
)
from phases.world.taking_out import taken_out

RESUME = (
    "Your answer was cut off {cause}. Go on at once, exactly where it stopped, in mid-sentence if "
    "need be: no apology, no summary of what you said. Split the work that is left into smaller "
    "pieces."
)
_CAPPED = "by the output limit"
_FULL = "because the context window was full; what came before it has been summarised meanwhile"
CUT_CALL = "It was cut in the middle of a call of {name}: that did not run. Make the call again."
BLOCKED = "A stop hook sends you back to work; it did not say why."
REFUSED_IN_A_PAUSE = (
    "The server had paused your answer, and then refused part of it: that is taken out, and what "
    "is left cannot be sent back to be gone on with. Go on from what still stands there; do not "
    "repeat it."
)
NUDGE = (
    "There is budget left for this task: {spent:,} of {budget:,} tokens are used. Go on working: "
    "look deeper, check what you assumed, finish what you left out. Do not repeat or summarise."
)


# --- Continue edges ------------------------------------------------------------------------


def collapse_drain_retry(loop: Loop, outcome: Drained) -> Loop:
    """Ask again with what the drain left."""
    state = loop.state
    return _onward(
        loop,
        LoopState(
            messages=outcome.view,
            tool_use_context=state.tool_use_context,
            auto_compact_tracking=loop.now.tracking,
            max_output_tokens_recovery_count=state.max_output_tokens_recovery_count,
            has_attempted_reactive_compact=state.has_attempted_reactive_compact,
            max_output_tokens_override=state.max_output_tokens_override,
            pending_tool_use_summary=None,
            stop_hook_active=state.stop_hook_active,
            turn_count=state.turn_count,
            transition=Continue(reason=Reason.COLLAPSE_DRAIN_RETRY, committed=outcome.committed),
        ),
        booked(loop.spent, outcome),
    )


def reactive_compact_retry(loop: Loop, outcome: Compacted) -> Loop:
    """Ask again with a summary in place of the history."""
    state, tracking = loop.state, loop.now.tracking
    view = outcome.view or ()
    reply = loop.now.reply
    if reply is not None:  # the window cut it: what it said is kept, and it is asked to go on
        kept = without_cut_calls(reply)
        view = (*view, *said(kept), _resume(reply, _FULL))
    return _onward(
        loop,
        LoopState(
            messages=view,
            tool_use_context=state.tool_use_context,
            auto_compact_tracking=tracking.after_one_more(),
            max_output_tokens_recovery_count=state.max_output_tokens_recovery_count,
            has_attempted_reactive_compact=True,
            max_output_tokens_override=state.max_output_tokens_override,
            pending_tool_use_summary=None,
            stop_hook_active=state.stop_hook_active,
            turn_count=state.turn_count,
            transition=Continue(reason=Reason.REACTIVE_COMPACT_RETRY),
        ),
        booked(loop.spent, outcome),
    )


def max_output_tokens_escalate(loop: Loop, outcome: Outcome) -> Loop:
    """The same request once more, only with the output cap lifted."""
    state = loop.state
    return _onward(
        loop,
        LoopState(
            messages=loop.now.view,
            tool_use_context=state.tool_use_context,
            auto_compact_tracking=loop.now.tracking,
            max_output_tokens_recovery_count=state.max_output_tokens_recovery_count,
            has_attempted_reactive_compact=state.has_attempted_reactive_compact,
            max_output_tokens_override=loop.run.limits.escalated_output_cap,
            pending_tool_use_summary=None,
            stop_hook_active=state.stop_hook_active,
            turn_count=state.turn_count,
            transition=Continue(reason=Reason.MAX_OUTPUT_TOKENS_ESCALATE),
        ),
        booked(loop.spent, outcome),
    )


def max_output_tokens_recovery(loop: Loop, outcome: Outcome) -> Loop:
    """Keep what was said and ask to go on; escalation may fire again for the next piece."""
    state = loop.state
    attempt = state.max_output_tokens_recovery_count + 1
    kept, resume = (), ()  # type: tuple[Message, ...], tuple[Message, ...]
    if loop.now.reply is not None:
        reply = without_cut_calls(loop.now.reply)
        kept, resume = said(reply), (_resume(loop.now.reply, _CAPPED),)
    return _onward(
        loop,
        LoopState(
            messages=(*loop.now.view, *kept, *resume),
            tool_use_context=state.tool_use_context,
            auto_compact_tracking=loop.now.tracking,
            max_output_tokens_recovery_count=attempt,
            has_attempted_reactive_compact=state.has_attempted_reactive_compact,
            max_output_tokens_override=None,
            pending_tool_use_summary=None,
            stop_hook_active=state.stop_hook_active,
            turn_count=state.turn_count,
            transition=Continue(reason=Reason.MAX_OUTPUT_TOKENS_RECOVERY, attempt=attempt),
        ),
        booked(loop.spent, outcome),
    )


def pause_turn_continuation(loop: Loop, outcome: Outcome) -> Loop:
    """The server paused a long turn: send back what it said, as it is."""
    state = loop.state
    return _onward(
        loop,
        LoopState(
            messages=(*loop.now.view, *said(loop.now.reply)),
            tool_use_context=state.tool_use_context,
            auto_compact_tracking=loop.now.tracking,
            max_output_tokens_recovery_count=state.max_output_tokens_recovery_count,
            has_attempted_reactive_compact=state.has_attempted_reactive_compact,
            max_output_tokens_override=state.max_output_tokens_override,
            pending_tool_use_summary=None,
            stop_hook_active=state.stop_hook_active,
            turn_count=state.turn_count,
            transition=Continue(reason=Reason.PAUSE_TURN_CONTINUATION),
        ),
        evolve(booked(loop.spent, outcome), pauses=loop.spent.pauses + 1),
    )


def stop_hook_blocking(loop: Loop, outcome: HooksRan) -> Loop:
    """A stop hook sends the model back to work."""
    state = loop.state
    words = "\n".join(outcome.blocking_errors).strip() or BLOCKED
    reply = said(loop.now.reply)
    after = reply[-1].id if reply else loop.now.view[-1].id
    return _onward(
        loop,
        LoopState(
            messages=(*loop.now.view, *reply, note(after, "stop-hook", words)),
            tool_use_context=state.tool_use_context,
            auto_compact_tracking=loop.now.tracking,
            max_output_tokens_recovery_count=0,
            # Not reset: a blocked stop is the same turn, and a second compaction would circle.
            has_attempted_reactive_compact=state.has_attempted_reactive_compact,
            max_output_tokens_override=state.max_output_tokens_override,
            pending_tool_use_summary=None,
            stop_hook_active=True,
            turn_count=state.turn_count,
            transition=Continue(reason=Reason.STOP_HOOK_BLOCKING),
        ),
        evolve(booked(loop.spent, outcome), stop_blocks=loop.spent.stop_blocks + 1),
    )


def token_budget_continuation(loop: Loop, outcome: Outcome) -> Loop:
    """There is budget left that the user wants used."""
    state, spent = loop.state, booked(loop.spent, outcome)
    reply = said(loop.now.reply)
    after = reply[-1].id if reply else loop.now.view[-1].id
    nudge = NUDGE.format(spent=spent.tokens, budget=loop.run.token_budget or 0)
    return _onward(
        loop,
        LoopState(
            messages=(*loop.now.view, *reply, note(after, "nudge", nudge)),
            tool_use_context=state.tool_use_context,
            auto_compact_tracking=loop.now.tracking,
            max_output_tokens_recovery_count=state.max_output_tokens_recovery_count,
            has_attempted_reactive_compact=state.has_attempted_reactive_compact,
            max_output_tokens_override=state.max_output_tokens_override,
            pending_tool_use_summary=None,
            stop_hook_active=state.stop_hook_active,
            turn_count=state.turn_count,
            transition=Continue(reason=Reason.TOKEN_BUDGET_CONTINUATION),
        ),
        evolve(
            spent,
            nudges=spent.nudges + 1,
            nudge_marks=(*spent.nudge_marks[-1:], spent.tokens),
        ),
    )


def _resume(reply: Reply, cause: str) -> Message:
    """The request to go on, with the truth about what was cut."""
    words = [RESUME.format(cause=cause)]
    words += [
        CUT_CALL.format(name=block.name)
        for block in reply.message.content
        if isinstance(block, ToolUse) and block.id in reply.cut_calls
    ]
    return note(reply.message.id, "resume", " ".join(words))


def _onward(loop: Loop, state: LoopState, spent: Spent) -> Loop:
    """The next iteration: an empty `now`, and every attempt at a request given back."""
    return evolve(loop, state=state, spent=evolve(spent, attempts=0), now=NOTHING_YET)


# --- edges inside an iteration that spend ----------------------------------------------------


def retry(loop: Loop, outcome: Streamed) -> Loop:
    """Wait, then ask again: the partial reply is dropped, the failure kept for the delay."""
    spent = booked(loop.spent, outcome)
    return evolve(
        loop,
        now=evolve(loop.now, reply=None, withheld=outcome.failure),
        spent=evolve(spent, attempts=spent.attempts + 1),
    )


def model_fallback(loop: Loop, outcome: Streamed) -> Loop:
    """Ask the next model, which cannot verify the thinking of the one before it."""
    context = loop.state.tool_use_context
    following = loop.run.models[loop.run.models.index(context.model) + 1]
    return evolve(
        loop,
        state=evolve(loop.state, tool_use_context=evolve(context, model=following)),
        now=evolve(
            loop.now, view=without_thinking(loop.now.view), reply=None, withheld=outcome.failure
        ),
        spent=evolve(booked(loop.spent, outcome), attempts=0),
    )


def request_mended(loop: Loop, outcome: Streamed) -> Loop:
    """Ask again with a note in place of what was refused; the failure is kept to be told."""
    spent, failure, view = booked(loop.spent, outcome), outcome.failure, loop.now.view
    if failure is not None:
        view = _asking(taken_out(view, failure))
    return evolve(
        loop,
        now=evolve(loop.now, view=view, reply=None, withheld=failure),
        spent=evolve(spent, mends=spent.mends + 1),
    )


def _asking(view: tuple[Message, ...]) -> tuple[Message, ...]:
    """The view with the user's turn at its end.

    Only a paused reply that is as the server left it may be the last to speak: any other
    beginning of an answer is refused.
    """
    paused = list(takewhile(lambda message: message.role == "assistant", reversed(view)))
    if not any(message.replaces is not None for message in paused):
        return view
    return (*view, note(view[-1].id, "refused in a pause", REFUSED_IN_A_PAUSE))


def without_thinking(view: tuple[Message, ...]) -> tuple[Message, ...]:
    """The view for another model: whole thinking blocks left out, never edited ones sent."""

    def stripped(message: Message) -> Message:
        content = tuple(
            block
            for block in message.content
            if not isinstance(block, Thinking | RedactedThinking)
        )
        unchanged = len(content) == len(message.content)
        return message if unchanged else evolve(message, content=content)

    return tuple(stripped(message) for message in view)
