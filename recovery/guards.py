"""The guards of the recovery edges."""

from __future__ import annotations

from phases.world.failures import FailureKind
from phases.world.loop import Loop, Reason
from phases.world.outcomes import Compacted, Drained, HooksRan

_WHOLE = ("end_turn", "stop_sequence")


def prompt_too_long_withheld(loop: Loop, outcome: object) -> bool:
    """The server refused the request for its length; the caller has not been told yet."""
    failure = loop.now.withheld
    return failure is not None and failure.kind is FailureKind.PROMPT_TOO_LONG


def media_error_withheld(loop: Loop, outcome: object) -> bool:
    """The server refused an image or document for its size."""
    failure = loop.now.withheld
    return failure is not None and failure.kind is FailureKind.MEDIA_TOO_LARGE


def window_exceeded(loop: Loop, outcome: object) -> bool:
    """The window filled up within the reply."""
    reply = loop.now.reply
    return reply is not None and reply.stop_reason == "model_context_window_exceeded"


def compaction_may_help(loop: Loop, outcome: object) -> bool:
    """Too much content was the cause: a summary in its place may fit."""
    return (
        prompt_too_long_withheld(loop, outcome)
        or media_error_withheld(loop, outcome)
        or window_exceeded(loop, outcome)
    )


def collapses_staged(loop: Loop, outcome: object) -> bool:
    """Collapses of old rounds are prepared and could be put in place."""
    return loop.now.staged > 0


def last_reason_not_collapse_drain(loop: Loop, outcome: object) -> bool:
    """A drain that did not help the last time will not help now."""
    transition = loop.state.transition
    return transition is None or transition.reason is not Reason.COLLAPSE_DRAIN_RETRY


def reactive_compact_left(loop: Loop, outcome: object) -> bool:
    """The step is configured and has not been used in this turn."""
    return loop.run.features.reactive_compact and not loop.state.has_attempted_reactive_compact


def something_committed(loop: Loop, outcome: Drained) -> bool:
    """The drain put at least one collapse in place."""
    return outcome.committed > 0


def compacted(loop: Loop, outcome: Compacted) -> bool:
    """There is a view that stands for the old one."""
    return outcome.view is not None


def output_truncated(loop: Loop, outcome: object) -> bool:
    """The output cap cut the answer, and no finished call stands beside the cut."""
    reply = loop.now.reply
    return reply is not None and reply.stop_reason == "max_tokens"


def can_escalate(loop: Loop, outcome: object) -> bool:
    """The low default cap is on, not lifted yet, and the user has set none."""
    return (
        loop.run.features.output_cap
        and loop.state.max_output_tokens_override is None
        and loop.run.output_cap is None
    )


def recoveries_left(loop: Loop, outcome: object) -> bool:
    """It may be asked to go on once more in this turn."""
    return loop.state.max_output_tokens_recovery_count < loop.run.limits.max_recoveries


def turn_paused(loop: Loop, outcome: object) -> bool:
    """The server paused a long turn and wants it sent back."""
    reply = loop.now.reply
    return reply is not None and reply.stop_reason == "pause_turn"


def pauses_left(loop: Loop, outcome: object) -> bool:
    """A paused turn may be sent back once more."""
    return loop.spent.pauses < loop.run.limits.max_pauses


def answer_not_whole(loop: Loop, outcome: object) -> bool:
    """No reply, or one that ended in anything but its own natural end."""
    reply = loop.now.reply
    return reply is None or reply.stop_reason not in _WHOLE


def hook_prevented(loop: Loop, outcome: HooksRan) -> bool:
    """A stop hook forbids going on."""
    return outcome.prevented is not None


def hook_blocked(loop: Loop, outcome: HooksRan) -> bool:
    """A stop hook sends the model back to work."""
    return bool(outcome.blocking_errors)


def blocks_left(loop: Loop, outcome: object) -> bool:
    """Counted over the whole prompt: else 'block, one tool call, block' would circle."""
    return loop.spent.stop_blocks < loop.run.limits.max_stop_blocks


def budget_left(loop: Loop, outcome: object) -> bool:
    """The user gave a token budget, this is not a sub-agent, and the mark is not reached."""
    budget = loop.run.token_budget
    if budget is None or loop.state.tool_use_context.agent_id is not None:
        return False
    return loop.spent.tokens < budget * loop.run.limits.budget_mark


def still_productive(loop: Loop, outcome: object) -> bool:
    """False once two nudges in a row gained little: more of them would only burn the budget."""
    marks = loop.spent.nudge_marks
    if len(marks) < 2:
        return True
    gains = (loop.spent.tokens - marks[-1], marks[-1] - marks[-2])
    return max(gains) >= loop.run.limits.small_gain


def nudges_left(loop: Loop, outcome: object) -> bool:
    """It may be nudged once more in this prompt."""
    return loop.spent.nudges < loop.run.limits.max_nudges
