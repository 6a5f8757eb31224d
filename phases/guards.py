"""The guards of the edges between phases: one question each, about loop and outcome."""

from __future__ import annotations

from phases.world.failures import FOR_NOW, FailureKind
from phases.world.loop import Loop
from phases.world.outcomes import CanAbort, Streamed, ToolsRan
from phases.world.taking_out import silences_the_user


def aborted(loop: Loop, outcome: CanAbort) -> bool:
    """An interrupt was seen while the state waited. Asked first wherever it can hold."""
    return outcome.aborted


def cost_limit_reached(loop: Loop, outcome: object) -> bool:
    """The budget in money is used up, helper calls included."""
    budget, cost = loop.run.budget_usd, loop.spent.cost
    return budget is not None and cost is not None and cost >= budget


def over_hard_limit(loop: Loop, outcome: object) -> bool:
    """The view, as measured by `preprocess`, is too large to be worth sending."""
    return loop.now.size > loop.run.limits.hard_limit


def failed_for_now(loop: Loop, outcome: Streamed) -> bool:
    """The request failed in a way that may pass, and the wait the server asks for is bearable."""
    failure = outcome.failure
    if failure is None or failure.kind not in FOR_NOW or failure.hopeless:
        return False
    return (failure.retry_after or 0.0) <= loop.run.limits.retry_after_cap_s


def attempts_left(loop: Loop, outcome: object) -> bool:
    """The request may be made once more to this model."""
    return loop.spent.attempts < loop.run.limits.max_retries


def fallback_triggered(loop: Loop, outcome: Streamed) -> bool:
    """The last failure was an overload."""
    return outcome.failure is not None and outcome.failure.kind is FailureKind.OVERLOADED


def fallback_model_left(loop: Loop, outcome: object) -> bool:
    """A model stands behind the one that was asked."""
    return loop.state.tool_use_context.model in loop.run.models[:-1]


def block_refused(loop: Loop, outcome: Streamed) -> bool:
    """A 400 named a message or block that can be taken out, and the user is still heard then."""
    failure = outcome.failure
    if failure is None or failure.refused is None:
        return False
    return not silences_the_user(loop.now.view, failure)


def mends_left(loop: Loop, outcome: object) -> bool:
    """Another block may be taken out in this turn."""
    return loop.spent.mends < loop.run.limits.max_mends


def needs_follow_up(loop: Loop, outcome: object) -> bool:
    """The reply holds a call that it finished, and is no refusal; stop_reason alone can lie."""
    reply = loop.now.reply
    return reply is not None and bool(reply.calls) and reply.stop_reason != "refusal"


def hook_says_stop(loop: Loop, outcome: ToolsRan) -> bool:
    """A hook in tool work wants the run to end."""
    return outcome.hook_stopped is not None


def turn_limit_reached(loop: Loop, outcome: object) -> bool:
    """Turn N + 1 would exceed max_turns: exactly N model turns run."""
    limit = loop.run.max_turns
    return limit is not None and loop.state.turn_count >= limit
