"""The states of the loop, in the order a prompt walks them."""

from __future__ import annotations

from enum import StrEnum


class State(StrEnum):
    """A named node of the machine: a phase, a step of recovery, or an ending."""

    PREPROCESS = "preprocess"
    BLOCKING_CHECK = "blocking_check"
    API_CALL = "api_call"
    RECOVERY_BACKOFF = "recovery.backoff"
    ABORT_CHECK = "abort_check"
    RECOVERY_CLASSIFY = "recovery.classify"
    RECOVERY_COLLAPSE_DRAIN = "recovery.collapse_drain"
    RECOVERY_REACTIVE_COMPACT = "recovery.reactive_compact"
    RECOVERY_STOP_HOOKS = "recovery.stop_hooks"
    RECOVERY_TOKEN_BUDGET = "recovery.token_budget"
    TOOLS = "tools"
    ATTACHMENTS = "attachments"
    CONTINUATION = "continuation"

    COMPLETED = "completed"
    BLOCKING_LIMIT = "blocking_limit"
    BUDGET_EXHAUSTED = "budget_exhausted"
    PROMPT_TOO_LONG = "prompt_too_long"
    IMAGE_ERROR = "image_error"
    MODEL_ERROR = "model_error"
    ABORTED_STREAMING = "aborted_streaming"
    ABORTED_TOOLS = "aborted_tools"
    STOP_HOOK_PREVENTED = "stop_hook_prevented"
    HOOK_STOPPED = "hook_stopped"
    MAX_TURNS = "max_turns"


ENDINGS = frozenset(
    {
        State.COMPLETED,
        State.BLOCKING_LIMIT,
        State.BUDGET_EXHAUSTED,
        State.PROMPT_TOO_LONG,
        State.IMAGE_ERROR,
        State.MODEL_ERROR,
        State.ABORTED_STREAMING,
        State.ABORTED_TOOLS,
        State.STOP_HOOK_PREVENTED,
        State.HOOK_STOPPED,
        State.MAX_TURNS,
    }
)
