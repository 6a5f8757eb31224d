"""What an ended run means outside: the exit code, the line on stderr, the words of the protocol.

One table each, so that exit code, JSON mark and text cannot disagree.
"""

from __future__ import annotations

from attrs import frozen

from interlock.admission import PROMPT_BLOCKED
from interlock.closing import NOT_RECORDED
from interlock.summary import NO_ANSWER_FITS, RunSummary
from phases.world.failures import FailureKind
from phases.world.states import State

# What clients are told beside an API failure: the `error` of a synthetic assistant message.
_SDK_ERRORS = {
    FailureKind.AUTHENTICATION: "authentication_failed",
    FailureKind.PERMISSION: "authentication_failed",
    FailureKind.BILLING: "billing_error",
    FailureKind.RATE_LIMITED: "rate_limit",
    FailureKind.OVERLOADED: "overloaded",
    FailureKind.MODEL_NOT_FOUND: "model_not_found",
    FailureKind.INVALID_REQUEST: "invalid_request",
    FailureKind.BLOCK_REFUSED: "invalid_request",
    FailureKind.PROMPT_TOO_LONG: "invalid_request",
    FailureKind.MEDIA_TOO_LARGE: "invalid_request",
    FailureKind.UNKNOWN: "unknown",
}


@frozen
class Wire:
    """How the protocol tells an ending."""

    subtype: str
    terminal_reason: str | None  # None: no loop was run, so there is none


_ENDINGS = {
    State.MAX_TURNS: "error_max_turns",
    State.BUDGET_EXHAUSTED: "error_max_budget_usd",
    State.ABORTED_STREAMING: "error_during_execution",
    State.ABORTED_TOOLS: "error_during_execution",
    State.STOP_HOOK_PREVENTED: "error_during_execution",
    State.MODEL_ERROR: "error_during_execution",
}
# Ended by the API's answer: told as a success whose result is the error text. Clients know it so.
_API_ERRORS = frozenset(
    {"api_error", "refusal", "max_output_tokens", "pause_limit", "unknown_stop_reason"}
)


def wire_of(summary: RunSummary) -> Wire:
    """Subtype and terminal_reason of the result message."""
    reason = summary.reason
    if summary.error == NO_ANSWER_FITS:
        return Wire("error_max_structured_output_retries", reason)
    if reason == State.COMPLETED and summary.error in _API_ERRORS:
        return Wire("success", "api_error")
    if reason == State.COMPLETED and summary.error == NOT_RECORDED:
        return Wire("error_during_execution", NOT_RECORDED)  # no error of the API, but of ours
    if reason == PROMPT_BLOCKED:
        return Wire("success", None)
    return Wire(_ENDINGS.get(reason, "success"), reason)  # type: ignore[call-overload]


def line_of(summary: RunSummary) -> str | None:
    """Why the exit code is not 0, in one line; None if it is."""
    if summary.ok:
        return None
    return " ".join((summary.error_text or summary.error or summary.reason).split())


def holds_answer(summary: RunSummary) -> bool:
    """Whether the text is an answer: a whole one, or one that is not whole but the last word.

    Of a run that failed, the last text is no result. An interrupt after the last word takes
    nothing from it.
    """
    if summary.error == NO_ANSWER_FITS:  # whoever asked reads nothing else
        return False
    if summary.reason == State.ABORTED_STREAMING:
        return summary.answered
    if summary.reason == State.STOP_HOOK_PREVENTED:  # only whole answers come before stop hooks
        return True
    return summary.ok or (summary.reason == State.COMPLETED and summary.error != "api_error")


def sdk_error_of(summary: RunSummary) -> str:
    """The kind of error that clients are told beside a synthetic message."""
    if summary.error == "max_output_tokens":
        return "max_output_tokens"
    if summary.reason in (State.PROMPT_TOO_LONG, State.IMAGE_ERROR, State.BLOCKING_LIMIT):
        return "invalid_request"
    if summary.error != "api_error":
        return "unknown"
    return sdk_error_of_kind(kind_of(summary))


def sdk_error_of_kind(kind: FailureKind) -> str:
    return _SDK_ERRORS.get(kind, "server_error")


def kind_of(summary: RunSummary) -> FailureKind:
    try:
        return FailureKind(summary.api_error_type or "unknown")
    except ValueError:
        return FailureKind.UNKNOWN
