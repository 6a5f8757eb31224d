"""Rules for `context_management`: what a client may ask the server to forget.

The key is known with a beta header only. What it asks for is judged, and not done: the script
says what each answer holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

from interlock.scripted.rules.body import EXTRA, is_int
from interlock.scripted.rules.walk import Problems

BETA = "context-management-2025-06-27"
_TOOL_USES = "clear_tool_uses_20250919"
_THINKING = "clear_thinking_20251015"
_KEYS = {
    _TOOL_USES: {
        "type", "trigger", "keep", "clear_at_least", "clear_tool_inputs", "exclude_tools",
    },
    _THINKING: {"type", "keep"},
}  # fmt: skip
# What each number of the edit may count.
_COUNTED = {
    "trigger": ("input_tokens", "tool_uses"),
    "keep": ("tool_uses",),
    "clear_at_least": ("input_tokens",),
}


def editing_problems(body: Mapping[str, Any], betas: Set[str]) -> Problems:
    """Everything about `context_management`."""
    if "context_management" not in body:
        return
    config = body["context_management"]
    if BETA not in betas:
        yield f"context_management: {EXTRA}"
    elif not isinstance(config, dict) or not isinstance(config.get("edits", []), list):
        yield "context_management: Input should be a valid dictionary with a list of edits"
    else:
        yield from (f"context_management.{key}: {EXTRA}" for key in config.keys() - {"edits"})
        for at, edit in enumerate(config.get("edits", [])):
            yield from _edit_problems(f"context_management.edits.{at}", edit)


def _edit_problems(place: str, edit: Any) -> Problems:
    kind = edit.get("type") if isinstance(edit, dict) else None
    if kind not in _KEYS:
        tags = "', '".join(_KEYS)
        yield f"{place}: Input tag found using 'type' does not match any of: '{tags}'"
        return
    for key in sorted(edit.keys() - _KEYS[kind]):
        yield f"{place}.{kind}.{key}: {EXTRA}"
    if kind != _TOOL_USES:
        return
    for key, counted in _COUNTED.items():
        if key in edit and not _is_count(edit[key], counted):
            yield f"{place}.{kind}.{key}: Input should count one of {', '.join(counted)}"
    names = edit.get("exclude_tools") or []
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        yield f"{place}.{kind}.exclude_tools: Input should be a list of valid strings"


def _is_count(value: Any, counted: tuple[str, ...]) -> bool:
    return (
        isinstance(value, dict)
        and value.get("type") in counted
        and is_int(value.get("value"))
        and value["value"] >= 0
    )
