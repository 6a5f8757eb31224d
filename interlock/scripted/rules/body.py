"""Rules for the parameters around the messages: required, known, typed, in range."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from interlock.scripted.rules.walk import Problems

EXTRA = "Extra inputs are not permitted"
_COUNTED = {
    "cache_control", "messages", "model", "output_config", "speed", "system", "thinking",
    "tool_choice", "tools",
}  # fmt: skip
_KNOWN = _COUNTED | {
    "container", "context_management", "diagnostics", "inference_geo", "max_tokens",
    "mcp_servers", "metadata", "service_tier", "stop_sequences", "stream", "temperature",
    "top_k", "top_p", "user_profile_id",
}  # fmt: skip
_EFFORTS = ("low", "medium", "high", "xhigh", "max")
_THINKING_KEYS = {
    "enabled": {"type", "budget_tokens", "display"},
    "disabled": {"type"},
    "adaptive": {"type", "display"},
    "between_tools": {"type"},
}
_TYPES: dict[str, tuple[type | tuple[type, ...], str]] = {
    "stream": (bool, "boolean"),
    "metadata": (dict, "dictionary"),
    "output_config": (dict, "dictionary"),
    "tool_choice": (dict, "dictionary"),
    "tools": (list, "list"),
    "stop_sequences": (list, "list"),
    "system": ((str, list), "string or list"),
    "cache_control": ((dict, type(None)), "dictionary"),
}


def body_problems(body: Mapping[str, Any], *, counting: bool) -> Problems:
    """Everything outside messages and tools; `counting` is the count_tokens endpoint."""
    yield from _required(body, counting)
    for key in body:
        if key not in (_COUNTED if counting else _KNOWN):
            yield f"{key}: {EXTRA}"
    for key, (kind, name) in _TYPES.items():
        if key in body and not isinstance(body[key], kind):
            yield f"{key}: Input should be a valid {name}"
    yield from _ranges(body)
    if isinstance(body.get("output_config"), dict):
        effort = body["output_config"].get("effort")
        if effort is not None and effort not in _EFFORTS:
            yield f"output_config.effort: Input should be one of {', '.join(_EFFORTS)}"
    yield from _thinking_config(body)


def _required(body: Mapping[str, Any], counting: bool) -> Problems:
    if "model" not in body:
        yield "model: Field required"
    elif not isinstance(body["model"], str):
        yield "model: Input should be a valid string"
    elif not body["model"]:
        yield "model: String should have at least 1 character"
    if not counting:
        if "max_tokens" not in body:
            yield "max_tokens: Field required"
        elif not is_int(body["max_tokens"]):
            yield "max_tokens: Input should be a valid integer"
        elif body["max_tokens"] < 0:
            yield "max_tokens: Input should be greater than or equal to 0"
    if "messages" not in body:
        yield "messages: Field required"
    elif not isinstance(body["messages"], list):
        yield "messages: Input should be a valid list"
    elif not body["messages"]:
        yield "messages: at least one message is required"
    elif len(body["messages"]) > 100_000:
        yield "messages: List should have at most 100000 items"


def _ranges(body: Mapping[str, Any]) -> Problems:
    for key, top in (("temperature", 1), ("top_p", 1)):
        value = body.get(key)
        if value is not None and not (isinstance(value, int | float) and 0 <= value <= top):
            yield f"{key}: Input should be a number from 0 to {top}"
    sequences = body.get("stop_sequences")
    for at, one in enumerate(sequences if isinstance(sequences, list) else ()):
        if not isinstance(one, str):
            yield f"stop_sequences.{at}: Input should be a valid string"
        elif not one.strip():
            yield f"stop_sequences.{at}: each stop sequence must contain non-whitespace"


def _thinking_config(body: Mapping[str, Any]) -> Problems:
    if "thinking" not in body:
        return
    config = body["thinking"]
    if not isinstance(config, dict) or config.get("type") not in _THINKING_KEYS:
        tags = "', '".join(_THINKING_KEYS)
        yield f"thinking: Input tag found using 'type' does not match any of: '{tags}'"
        return
    kind = config["type"]
    for key in config.keys() - _THINKING_KEYS[kind]:
        yield f"thinking.{kind}.{key}: {EXTRA}"
    if kind != "enabled":
        return
    budget: Any = config.get("budget_tokens")
    if not is_int(budget):
        yield "thinking.enabled.budget_tokens: Field required"
    elif budget < 1024:
        yield "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"
    elif is_int(body.get("max_tokens")) and budget >= body["max_tokens"]:
        yield "`max_tokens` must be greater than `thinking.budget_tokens`"
    choice = body.get("tool_choice")
    if isinstance(choice, dict) and choice.get("type") in ("any", "tool"):
        yield "Thinking may not be enabled when tool_choice forces tool use."


def is_int(value: Any) -> bool:
    """JSON's whole numbers; Python's bool is one of its ints."""
    return isinstance(value, int) and not isinstance(value, bool)
