"""The loop, as one table: the only place where control flow is decided.

Read it aloud, top to bottom: it is in the order a prompt walks it. Edges of one source are tried
in order, the first whose guards all hold is taken. What the states do is in `phases/` and
`recovery/`, what the edges ask and change in their `guards` and `reducers`; `drive` runs it.
"""

from __future__ import annotations

from fsm import at, everywhere, machine, to, when
from phases.guards import (
    aborted,
    attempts_left,
    block_refused,
    cost_limit_reached,
    failed_for_now,
    fallback_model_left,
    fallback_triggered,
    hook_says_stop,
    mends_left,
    needs_follow_up,
    over_hard_limit,
    turn_limit_reached,
)
from phases.reducers import next_turn
from phases.world.loop import Loop
from phases.world.outcomes import (
    Attached,
    BudgetJudged,
    Checked,
    Classified,
    Compacted,
    Drained,
    HooksRan,
    Prepared,
    Raised,
    Streamed,
    ToolsRan,
    TurnDone,
    Waited,
    Weighed,
    keep,
)
from phases.world.states import ENDINGS, State
from recovery.guards import (
    answer_not_whole,
    blocks_left,
    budget_left,
    can_escalate,
    collapses_staged,
    compacted,
    compaction_may_help,
    hook_blocked,
    hook_prevented,
    last_reason_not_collapse_drain,
    media_error_withheld,
    nudges_left,
    output_truncated,
    pauses_left,
    prompt_too_long_withheld,
    reactive_compact_left,
    recoveries_left,
    something_committed,
    still_productive,
    turn_paused,
    window_exceeded,
)
from recovery.reducers import (
    collapse_drain_retry,
    max_output_tokens_escalate,
    max_output_tokens_recovery,
    model_fallback,
    pause_turn_continuation,
    reactive_compact_retry,
    request_mended,
    retry,
    stop_hook_blocking,
    token_budget_continuation,
)

LOOP = machine(
    "loop",
    at(
        State.PREPROCESS,
        Prepared,
        when(aborted, go=State.ABORTED_STREAMING),
        otherwise=to(State.BLOCKING_CHECK),
    ),
    at(
        State.BLOCKING_CHECK,
        Weighed,
        when(cost_limit_reached, go=State.BUDGET_EXHAUSTED),
        when(over_hard_limit, reactive_compact_left, go=State.RECOVERY_REACTIVE_COMPACT),
        when(over_hard_limit, go=State.BLOCKING_LIMIT),
        otherwise=to(State.API_CALL),
    ),
    at(
        State.API_CALL,
        Streamed,
        when(aborted, go=State.ABORT_CHECK),
        when(failed_for_now, attempts_left, go=State.RECOVERY_BACKOFF, then=retry),
        when(fallback_triggered, fallback_model_left, go=State.API_CALL, then=model_fallback),
        when(block_refused, mends_left, go=State.API_CALL, then=request_mended),
        otherwise=to(State.ABORT_CHECK),
    ),
    at(
        State.RECOVERY_BACKOFF,
        Waited,
        when(aborted, go=State.ABORTED_STREAMING),
        otherwise=to(State.API_CALL),
    ),
    at(
        State.ABORT_CHECK,
        Checked,
        when(aborted, go=State.ABORTED_STREAMING),
        when(needs_follow_up, go=State.TOOLS),
        otherwise=to(State.RECOVERY_CLASSIFY),
    ),
    at(
        State.RECOVERY_CLASSIFY,
        Classified,
        when(
            prompt_too_long_withheld,
            collapses_staged,
            last_reason_not_collapse_drain,
            go=State.RECOVERY_COLLAPSE_DRAIN,
        ),
        when(compaction_may_help, reactive_compact_left, go=State.RECOVERY_REACTIVE_COMPACT),
        when(prompt_too_long_withheld, go=State.PROMPT_TOO_LONG),
        when(media_error_withheld, go=State.IMAGE_ERROR),
        when(window_exceeded, go=State.PROMPT_TOO_LONG),
        when(output_truncated, can_escalate, go=State.PREPROCESS, then=max_output_tokens_escalate),
        when(
            output_truncated,
            recoveries_left,
            go=State.PREPROCESS,
            then=max_output_tokens_recovery,
        ),
        when(turn_paused, pauses_left, go=State.PREPROCESS, then=pause_turn_continuation),
        when(answer_not_whole, go=State.COMPLETED),  # stop hooks do not run on half an answer
        otherwise=to(State.RECOVERY_STOP_HOOKS),
    ),
    at(
        State.RECOVERY_COLLAPSE_DRAIN,
        Drained,
        when(something_committed, go=State.PREPROCESS, then=collapse_drain_retry),
        when(reactive_compact_left, go=State.RECOVERY_REACTIVE_COMPACT),
        otherwise=to(State.PROMPT_TOO_LONG),
    ),
    at(
        State.RECOVERY_REACTIVE_COMPACT,
        Compacted,
        when(aborted, go=State.ABORTED_STREAMING),
        when(compacted, go=State.PREPROCESS, then=reactive_compact_retry),
        when(media_error_withheld, go=State.IMAGE_ERROR),
        when(over_hard_limit, go=State.BLOCKING_LIMIT),
        otherwise=to(State.PROMPT_TOO_LONG),
    ),
    at(
        State.RECOVERY_STOP_HOOKS,
        HooksRan,
        when(aborted, go=State.ABORTED_STREAMING),
        when(hook_prevented, go=State.STOP_HOOK_PREVENTED),
        when(hook_blocked, blocks_left, go=State.PREPROCESS, then=stop_hook_blocking),
        when(hook_blocked, go=State.STOP_HOOK_PREVENTED),
        otherwise=to(State.RECOVERY_TOKEN_BUDGET),
    ),
    at(
        State.RECOVERY_TOKEN_BUDGET,
        BudgetJudged,
        when(
            budget_left,
            still_productive,
            nudges_left,
            go=State.PREPROCESS,
            then=token_budget_continuation,
        ),
        otherwise=to(State.COMPLETED),
    ),
    at(
        State.TOOLS,
        ToolsRan,
        when(aborted, go=State.ABORTED_TOOLS),
        when(hook_says_stop, go=State.HOOK_STOPPED),
        otherwise=to(State.ATTACHMENTS),
    ),
    at(
        State.ATTACHMENTS,
        Attached,
        when(aborted, go=State.ABORTED_TOOLS),
        otherwise=to(State.CONTINUATION),
    ),
    at(
        State.CONTINUATION,
        TurnDone,
        when(turn_limit_reached, go=State.MAX_TURNS),
        otherwise=to(State.PREPROCESS, then=next_turn),
    ),
    everywhere(Raised, go=State.MODEL_ERROR, after=aborted),
    loop=Loop,
    states=State,
    initial=State.PREPROCESS,
    endings=ENDINGS,
    keep=keep,
)
