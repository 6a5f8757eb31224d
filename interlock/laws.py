"""The laws of the loop, as the model check reads them: measures, and predicates over one step.

Each is asked of every step that the *shipped* guards and reducers can take over specimen
outcomes. `model_check` says where it starts from.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attrs import evolve

from fsm import Step
from fsm.bounds import Measure
from fsm.check import Law
from interlock.table import LOOP
from phases import guards
from phases.world.loop import (
    Loop,
    Now,
    Reason,
)
from phases.world.messages import Kind, Message
from phases.world.outcomes import BLANK_ID, Raised
from phases.world.states import ENDINGS, State
from recovery import guards as recovery

_BLANK = Message(id=BLANK_ID, role="user", kind=Kind.NOTE, content=())


# --- law 1: measures -----------------------------------------------------------------------

OUTER: Measure[Loop] = Measure(
    "chances left in the turn",
    (
        ("stop_blocks", lambda loop: loop.run.limits.max_stop_blocks - loop.spent.stop_blocks),
        ("nudges", lambda loop: loop.run.limits.max_nudges - loop.spent.nudges),
        ("pauses", lambda loop: loop.run.limits.max_pauses - loop.spent.pauses),
        ("reactive_compact", lambda loop: int(recovery.reactive_compact_left(loop, None))),
        (
            "recoveries",
            lambda loop: (
                loop.run.limits.max_recoveries - loop.state.max_output_tokens_recovery_count
            ),
        ),
        ("escalation", lambda loop: int(recovery.can_escalate(loop, None))),
        ("drain", lambda loop: int(recovery.last_reason_not_collapse_drain(loop, None))),
    ),
)

INNER: Measure[Loop] = Measure(
    "chances left for the request",
    (
        ("models", lambda loop: len(loop.run.models) - 1 - _model_index(loop)),
        ("mends", lambda loop: loop.run.limits.max_mends - loop.spent.mends),
        ("attempts", lambda loop: loop.run.limits.max_retries - loop.spent.attempts),
    ),
    returns_to=State.API_CALL,
)


def _model_index(loop: Loop) -> int:
    return loop.run.models.index(loop.state.tool_use_context.model)


# --- laws over one step ----------------------------------------------------------------------

Rule = Callable[[Step[Loop]], bool]


def _interrupt_comes_first(step: Step[Loop]) -> bool:
    if not getattr(step.outcome, "aborted", False):
        return True
    source, destination = step.edge.source, step.edge.destination
    if source in (State.TOOLS, State.ATTACHMENTS):
        return destination is State.ABORTED_TOOLS
    if isinstance(step.outcome, Raised) and not _waits(source):
        return destination is State.MODEL_ERROR
    return destination in (State.ABORTED_STREAMING, State.ABORT_CHECK)


def _waits(state: Any) -> bool:
    return "aborted" in {field.name for field in LOOP.phase_outcome(state).__attrs_attrs__}


def _broken_phase_ends_the_run(step: Step[Loop]) -> bool:
    return not isinstance(step.outcome, Raised) or step.edge.destination in ENDINGS | {
        State.ABORT_CHECK
    }


def _next_turn_gives_all_back(step: Step[Loop]) -> bool:
    if step.edge.reason != Reason.NEXT_TURN:
        return True
    state, spent = step.after.state, step.after.spent
    return (
        state.max_output_tokens_recovery_count == 0
        and not state.has_attempted_reactive_compact
        and state.max_output_tokens_override is None
        and (spent.attempts, spent.mends, spent.pauses) == (0, 0, 0)
        and state.turn_count == step.before.state.turn_count + 1
    )


def _only_next_turn_gives_all_back(step: Step[Loop]) -> bool:
    if step.edge.reason == Reason.NEXT_TURN:
        return True
    before, after, reason = step.before, step.after, step.edge.reason
    old, new = before.state, after.state
    count_kept = (
        new.max_output_tokens_recovery_count >= old.max_output_tokens_recovery_count
        or reason == Reason.STOP_HOOK_BLOCKING
    )
    override_kept = new.max_output_tokens_override == old.max_output_tokens_override or reason in (
        Reason.MAX_OUTPUT_TOKENS_ESCALATE,
        Reason.MAX_OUTPUT_TOKENS_RECOVERY,
    )
    return (
        count_kept
        and override_kept
        and new.has_attempted_reactive_compact >= old.has_attempted_reactive_compact
        and new.turn_count == old.turn_count
        and after.spent.mends >= before.spent.mends
        and after.spent.pauses >= before.spent.pauses
    )


def _nothing_gives_back_blocks_nudges_money(step: Step[Loop]) -> bool:
    old, new = step.before.spent, step.after.spent
    return (
        new.stop_blocks >= old.stop_blocks
        and new.nudges >= old.nudges
        and new.tokens >= old.tokens
        and (new.cost is None or (old.cost is not None and new.cost >= old.cost))
    )


def _a_continue_begins_an_iteration(step: Step[Loop]) -> bool:
    transition = step.after.state.transition
    if step.edge.destination is not State.PREPROCESS:
        return transition == step.before.state.transition
    return (
        transition is not None
        and transition.reason.value == step.edge.reason
        and step.after.now == Now()
        and step.after.spent.attempts == 0
    )


def _inside_an_iteration_the_state_stays(step: Step[Loop]) -> bool:
    if step.edge.destination is State.PREPROCESS:
        return True
    old, new = step.before.state, step.after.state
    if step.edge.reason == "model_fallback":
        return evolve(new, tool_use_context=old.tool_use_context) == old
    return new == old


def _nothing_leaves_beyond_a_limit(step: Step[Loop]) -> bool:
    if step.edge.destination is not State.API_CALL:
        return True
    return not (
        guards.cost_limit_reached(step.before, None) or guards.over_hard_limit(step.before, None)
    )


def _turns_stay_within_the_limit(step: Step[Loop]) -> bool:
    limit = step.after.run.max_turns
    return limit is None or step.after.state.turn_count <= limit


def _only_a_whole_answer_meets_the_stop_hooks(step: Step[Loop]) -> bool:
    if step.edge.destination is not State.RECOVERY_STOP_HOOKS:
        return True
    loop = step.after
    return loop.now.withheld is None and not recovery.answer_not_whole(loop, None)


def _tools_run_for_finished_calls_only(step: Step[Loop]) -> bool:
    if step.edge.source is not State.ABORT_CHECK or getattr(step.outcome, "aborted", False):
        return True
    wanted = guards.needs_follow_up(step.before, None) and not isinstance(step.outcome, Raised)
    return (step.edge.destination is State.TOOLS) == wanted


def _an_ending_means_what_it_says(step: Step[Loop]) -> bool:
    loop, outcome = step.after, step.outcome
    told = {
        State.PROMPT_TOO_LONG: recovery.prompt_too_long_withheld(loop, None)
        or recovery.window_exceeded(loop, None),
        State.IMAGE_ERROR: recovery.media_error_withheld(loop, None),
        State.BLOCKING_LIMIT: guards.over_hard_limit(loop, None),
        State.BUDGET_EXHAUSTED: guards.cost_limit_reached(loop, None),
        State.MAX_TURNS: guards.turn_limit_reached(loop, None),
        State.MODEL_ERROR: isinstance(outcome, Raised),
        State.ABORTED_STREAMING: getattr(outcome, "aborted", False),
        State.ABORTED_TOOLS: getattr(outcome, "aborted", False),
        State.STOP_HOOK_PREVENTED: loop.now.hook_words is not None,
        State.HOOK_STOPPED: loop.now.hook_words is not None,
        State.COMPLETED: not recovery.compaction_may_help(loop, None),
    }
    return bool(told.get(State(step.edge.destination), True))


def _a_hooks_no_is_heard(step: Step[Loop]) -> bool:
    if getattr(step.outcome, "aborted", False):
        return True
    stopped = getattr(step.outcome, "hook_stopped", None) is not None
    prevented = getattr(step.outcome, "prevented", None) is not None
    blocked = bool(getattr(step.outcome, "blocking_errors", ()))
    destination = step.edge.destination
    if stopped:
        return destination is State.HOOK_STOPPED
    if prevented:
        return destination is State.STOP_HOOK_PREVENTED
    return not blocked or destination in (State.PREPROCESS, State.STOP_HOOK_PREVENTED)


def _a_chance_that_is_left_is_taken(step: Step[Loop]) -> bool:
    """Law 7: an error is withheld until recovery has failed."""
    loop, source, outcome = step.before, step.edge.source, step.outcome
    if getattr(outcome, "aborted", False) or isinstance(outcome, Raised):
        return True
    if source is State.RECOVERY_CLASSIFY:
        chances = (
            (
                recovery.prompt_too_long_withheld,
                recovery.collapses_staged,
                recovery.last_reason_not_collapse_drain,
            ),
            (recovery.compaction_may_help, recovery.reactive_compact_left),
            (recovery.output_truncated, recovery.can_escalate),
            (recovery.output_truncated, recovery.recoveries_left),
            (recovery.turn_paused, recovery.pauses_left),
        )
        left = any(all(guard(loop, outcome) for guard in chance) for chance in chances)
    elif source is State.API_CALL:
        left = (
            (guards.failed_for_now(loop, outcome) and guards.attempts_left(loop, outcome))
            or (
                guards.fallback_triggered(loop, outcome)
                and guards.fallback_model_left(loop, outcome)
            )
            or (guards.block_refused(loop, outcome) and guards.mends_left(loop, outcome))
        )
        return not left or step.edge.destination is not State.ABORT_CHECK
    elif source is State.RECOVERY_COLLAPSE_DRAIN:
        left = outcome.committed > 0 or recovery.reactive_compact_left(loop, outcome)
    elif source is State.RECOVERY_REACTIVE_COMPACT:
        left = outcome.view is not None
    else:
        return True
    return not left or step.edge.destination not in ENDINGS


def _the_first_answer_of_a_prompt_too_long_is_the_light_one(step: Step[Loop]) -> bool:
    if step.edge.destination is not State.RECOVERY_REACTIVE_COMPACT:
        return True
    loop = step.before
    return step.edge.source is not State.RECOVERY_CLASSIFY or not (
        recovery.prompt_too_long_withheld(loop, None)
        and recovery.collapses_staged(loop, None)
        and recovery.last_reason_not_collapse_drain(loop, None)
    )


def _escalation_comes_before_recovery(step: Step[Loop]) -> bool:
    if step.edge.reason != Reason.MAX_OUTPUT_TOKENS_RECOVERY:
        return True
    return not recovery.can_escalate(step.before, None)


def _waiting_comes_before_another_model(step: Step[Loop]) -> bool:
    if step.edge.reason != "model_fallback":
        return True
    return not (
        guards.failed_for_now(step.before, step.outcome)
        and guards.attempts_left(step.before, step.outcome)
    )


def _a_retry_counts_and_forgets_the_reply(step: Step[Loop]) -> bool:
    if step.edge.destination is not State.RECOVERY_BACKOFF:
        return True
    return (
        step.after.spent.attempts == step.before.spent.attempts + 1
        and step.after.now.reply is None
        and step.after.now.withheld is not None
    )


def _a_budget_is_used_as_the_user_asked(step: Step[Loop]) -> bool:
    if step.edge.source is not State.RECOVERY_TOKEN_BUDGET or isinstance(step.outcome, Raised):
        return True
    loop = step.before
    wanted = all(
        guard(loop, None)
        for guard in (recovery.budget_left, recovery.still_productive, recovery.nudges_left)
    )
    return (step.edge.reason == Reason.TOKEN_BUDGET_CONTINUATION) == wanted


_RULES: tuple[tuple[str, str, Rule], ...] = (
    ("law 10", "an interrupt is looked at first", _interrupt_comes_first),
    ("law 2", "a phase that breaks ends the run", _broken_phase_ends_the_run),
    ("law 4", "next_turn gives every chance of a turn back", _next_turn_gives_all_back),
    ("law 4", "no other edge gives them back", _only_next_turn_gives_all_back),
    ("law 4", "blocks, nudges and money only grow", _nothing_gives_back_blocks_nudges_money),
    ("law 3", "a Continue carries its reason, empties now", _a_continue_begins_an_iteration),
    ("law 4", "inside an iteration the state stays", _inside_an_iteration_the_state_stays),
    ("limits", "no request beyond money or window", _nothing_leaves_beyond_a_limit),
    ("limits", "exactly max_turns turns run", _turns_stay_within_the_limit),
    ("law 7", "stop hooks judge whole answers only", _only_a_whole_answer_meets_the_stop_hooks),
    ("law 8", "tools run for finished calls, and for all", _tools_run_for_finished_calls_only),
    ("law 3", "an ending means what its name says", _an_ending_means_what_it_says),
    ("hooks", "a hook's no is heard", _a_hooks_no_is_heard),
    ("law 7", "a chance that is left is taken", _a_chance_that_is_left_is_taken),
    (
        "order",
        "a drain is tried before a summary",
        _the_first_answer_of_a_prompt_too_long_is_the_light_one,
    ),
    ("order", "the cap is lifted before going on in pieces", _escalation_comes_before_recovery),
    ("order", "another attempt comes before another model", _waiting_comes_before_another_model),
    ("law 1", "a retry is counted and forgets the reply", _a_retry_counts_and_forgets_the_reply),
    ("budget", "a token budget is used as asked", _a_budget_is_used_as_the_user_asked),
)

LAWS: tuple[Law[Loop], ...] = tuple(
    Law(f"{law}, {text}", "does not hold here", rule) for law, text, rule in _RULES
)
