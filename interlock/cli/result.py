"""The result object: one per prompt, the same for `json` and `stream-json`."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from interlock.cli.verdict import Wire, holds_answer, line_of, wire_of
from interlock.summary import UNGIVEN, Denial, ModelUse, RunSummary
from phases.world.states import State
from phases.world.usage import Usage

Json = dict[str, Any]


def result_of(summary: RunSummary) -> Json:
    """The result message, with exactly the keys that clients know."""
    wire = wire_of(summary)
    said: Json = {
        "type": "result",
        "subtype": wire.subtype,
        "is_error": not summary.ok,
        "duration_ms": round(summary.duration_s * 1000),
        "duration_api_ms": round(summary.api_duration_s * 1000),
        "num_turns": summary.messages,
        "session_id": summary.session_id,
        "stop_reason": summary.stop_reason,
        "total_cost_usd": summary.cost,
        "usage": _usage(summary.usage),
        "modelUsage": {name: _model_use(use) for name, use in summary.models.items()},
        "permission_denials": [_denial(denial) for denial in summary.denials],
        "uuid": str(uuid4()),
    }
    if wire.terminal_reason is not None:
        said["terminal_reason"] = wire.terminal_reason
    said |= _answer(summary, wire)
    if summary.structured_output is not UNGIVEN:
        said["structured_output"] = summary.structured_output
    if summary.api_error_status is not None and not summary.ok:
        said["api_error_status"] = summary.api_error_status
    return said


def _answer(summary: RunSummary, wire: Wire) -> Json:
    line = line_of(summary)
    if wire.subtype != "success":
        errors = [line or summary.reason]
        # Elsewhere these never come with a result. A whole answer is one, and stands nowhere else.
        answer = {"result": summary.text} if holds_answer(summary) else {}
        return {"errors": errors, **answer}
    if summary.reason == State.HOOK_STOPPED:
        return {"result": ""}
    return {"result": summary.text if line is None else line}


def _model_use(use: ModelUse) -> Json:
    return {
        "inputTokens": use.usage.input_tokens,
        "outputTokens": use.usage.output_tokens,
        "cacheReadInputTokens": use.usage.cache_read_input_tokens,
        "cacheCreationInputTokens": use.usage.cache_creation_input_tokens,
        "webSearchRequests": 0,
        "costUSD": use.cost,
        "contextWindow": use.context_window,
        "maxOutputTokens": use.max_output_tokens,
    }


def _denial(denial: Denial) -> Json:
    return {
        "tool_name": denial.tool_name,
        "tool_use_id": denial.tool_use_id,
        "tool_input": dict(denial.tool_input),
    }


def _usage(usage: Usage) -> Json:
    created = usage.cache_creation_input_tokens
    return {
        "input_tokens": usage.input_tokens,
        "cache_creation_input_tokens": created,
        "cache_read_input_tokens": usage.cache_read_input_tokens,
        "output_tokens": usage.output_tokens,
        "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
        "service_tier": "standard",
        "cache_creation": {
            "ephemeral_1h_input_tokens": 0,
            "ephemeral_5m_input_tokens": created,
        },
    }
