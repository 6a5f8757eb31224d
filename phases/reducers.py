"""The reducer of the one edge that makes a new turn. The other Continues are recovery's."""

from __future__ import annotations

from attrs import evolve

from phases.world.loop import NOTHING_YET, Continue, Loop, LoopState, Reason, Reply
from phases.world.messages import Message, RedactedThinking, Thinking, is_blank
from phases.world.outcomes import Outcome, booked


def next_turn(loop: Loop, outcome: Outcome) -> Loop:
    """A round of tools is done: the only edge that gives every chance back."""
    state, now = loop.state, loop.now
    return evolve(
        loop,
        state=LoopState(
            messages=(*now.view, *said(now.reply), *now.results, *now.attachments),
            tool_use_context=now.context or state.tool_use_context,
            auto_compact_tracking=evolve(now.tracking, turns_since=now.tracking.turns_since + 1),
            max_output_tokens_recovery_count=0,
            has_attempted_reactive_compact=False,
            max_output_tokens_override=None,
            pending_tool_use_summary=now.summary_job,
            stop_hook_active=state.stop_hook_active,
            turn_count=state.turn_count + 1,
            transition=Continue(reason=Reason.NEXT_TURN),
        ),
        spent=evolve(booked(loop.spent, outcome), attempts=0, mends=0, pauses=0),
        now=NOTHING_YET,
    )


def said(reply: Reply | None) -> tuple[Message, ...]:
    """The reply as it goes into the history: nothing, where it holds nothing that may be sent."""
    if reply is None or all(is_blank(block) for block in reply.message.content):
        return ()
    return (reply.message,)


def without_cut_calls(reply: Reply) -> Reply:
    """The reply less the calls it was cut in, and less thinking that would then stand last."""
    content = [
        block
        for block in reply.message.content
        if getattr(block, "id", None) not in reply.cut_calls
    ]
    while content and (
        isinstance(content[-1], Thinking | RedactedThinking) or is_blank(content[-1])
    ):
        content.pop()
    return evolve(reply, message=evolve(reply.message, content=tuple(content)), cut_calls=())
