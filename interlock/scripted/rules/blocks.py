"""Rules for the shape of messages, content blocks and the system prompt: keys, types, roles."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import attrs

from interlock.scripted.rules.body import EXTRA
from interlock.scripted.rules.walk import Problems

TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}\Z")
_TOOL_ID = re.compile(r"[a-zA-Z0-9_-]+\Z")
_ROLES = ("user", "assistant", "system")
_CACHED = {"cache_control": (dict, type(None))}


@attrs.frozen(kw_only=True)
class Shape:
    """The keys of one type of block; None for `optional` leaves them unchecked."""

    required: Mapping[str, type | tuple[type, ...]]
    optional: Mapping[str, type | tuple[type, ...]] | None
    role: str | None = None  # the only role it may stand in


_SHAPES: dict[str, Shape] = {
    "text": Shape(required={"text": str}, optional={**_CACHED, "citations": (list, type(None))}),
    "image": Shape(
        required={"source": dict},
        optional={**_CACHED, "transformations": (dict, type(None))},
        role="user",
    ),
    "document": Shape(
        required={"source": dict},
        optional={
            **_CACHED,
            "citations": (dict, type(None)),
            "context": (str, type(None)),
            "title": (str, type(None)),
        },
        role="user",
    ),
    "search_result": Shape(
        required={"content": list, "source": str, "title": str},
        optional={**_CACHED, "citations": dict},
        role="user",
    ),
    "thinking": Shape(
        required={"signature": str, "thinking": str}, optional={}, role="assistant"
    ),
    "redacted_thinking": Shape(required={"data": str}, optional={}, role="assistant"),
    "tool_use": Shape(
        required={"id": str, "input": dict, "name": str},
        optional={**_CACHED, "caller": dict, "toolset_name": (str, type(None))},
        role="assistant",
    ),
    "tool_result": Shape(
        required={"tool_use_id": str},
        optional={
            **_CACHED,
            "content": (str, list),
            "is_error": bool,
            "toolset_name": (str, type(None)),
        },
        role="user",
    ),
    "server_tool_use": Shape(
        required={"id": str, "input": dict, "name": str}, optional=None, role="assistant"
    ),
    "container_upload": Shape(required={"file_id": str}, optional=_CACHED, role="user"),
} | {
    f"{name}_tool_result": Shape(required={"tool_use_id": str}, optional=None, role="assistant")
    for name in (
        "web_search", "web_fetch", "code_execution", "bash_code_execution",
        "text_editor_code_execution", "tool_search",
    )
}  # fmt: skip
_IN_RESULT = ("text", "image", "document", "search_result", "tool_reference", "browser_state")
_NAMES = {str: "string", dict: "dictionary", list: "list", bool: "boolean"}


def message_problems(body: Mapping[str, Any]) -> Problems:
    """Each message and each of its blocks, by itself."""
    for index, message in enumerate(body["messages"]):
        place = f"messages.{index}"
        if not isinstance(message, dict):
            yield f"{place}: Input should be a valid dictionary or object"
            continue
        for key in ("role", "content"):
            if key not in message:
                yield f"{place}.{key}: Field required"
        for key in message.keys() - {"role", "content"}:
            yield f"{place}.{key}: {EXTRA}"
        role = message.get("role")
        if "role" in message and role not in _ROLES:
            yield f'messages: Unexpected role "{role}". Allowed roles are "user" or "assistant"'
        if "content" in message:
            yield from _content(place, str(role), message["content"])


def _content(place: str, role: str, content: Any) -> Problems:
    if isinstance(content, str):
        return
    if not isinstance(content, list):
        yield f"{place}.content: Input should be a valid string or list"
        return
    for at, block in enumerate(content):
        yield from _block(f"{place}.content.{at}", role, block, _SHAPES)


def system_problems(body: Mapping[str, Any]) -> Problems:
    """The system prompt, a string or text blocks."""
    system = body.get("system")
    for at, block in enumerate(system if isinstance(system, list) else ()):
        if not isinstance(block, dict) or block.get("type") != "text":
            yield f"system.{at}.type: Input should be 'text'"
            continue
        yield from _block(f"system.{at}", "user", block, _SHAPES)
        if not block.get("text"):
            yield f"system.{at}: text content blocks must be non-empty"


def _block(place: str, role: str, block: Any, shapes: Mapping[str, Shape]) -> Problems:
    if not isinstance(block, dict):
        yield f"{place}: Input should be a valid dictionary or object"
        return
    kind = block.get("type")
    if not isinstance(kind, str):
        yield f"{place}.type: Field required"
        return
    shape = shapes.get(kind)
    if shape is None:
        tags = "', '".join(shapes)
        yield (
            f"{place}: Input tag '{kind}' found using 'type' does not match any of the expected"
            f" tags: '{tags}'"
        )
        return
    if shape.role and shape.role != role:
        yield f"{place}: `{kind}` blocks can only be in `{shape.role}` messages"
    if not _least(block, shape):
        yield from _keys(f"{place}.{kind}", block, shape)
        yield from cache_control_problems(f"{place}.{kind}", block)
    if kind == "tool_use":
        yield from _call(f"{place}.tool_use", block)
    if kind == "tool_result" and isinstance(block.get("content"), list):
        inner = {name: _INNER[name] for name in _IN_RESULT}
        for at, one in enumerate(block["content"]):
            yield from _block(f"{place}.tool_result.content.{at}", "user", one, inner)


_INNER = _SHAPES | {
    "tool_reference": Shape(required={"tool_name": str}, optional=_CACHED),
    "browser_state": Shape(required={}, optional=None),
}


def _least(block: Mapping[str, Any], shape: Shape) -> bool:
    # Nearly all blocks of a long history are of this kind, and need no second look.
    if len(block) != len(shape.required) + 1:
        return False
    return all(isinstance(block.get(key), kind) for key, kind in shape.required.items())


def _keys(place: str, block: Mapping[str, Any], shape: Shape) -> Problems:
    for key, kind in shape.required.items():
        if key not in block:
            yield f"{place}.{key}: Field required"
        elif not isinstance(block[key], kind):
            yield f"{place}.{key}: Input should be a valid {_named(kind)}"
    if shape.optional is None:
        return
    for key, value in block.items():
        if key == "type" or key in shape.required:
            continue
        wanted = shape.optional.get(key)
        if wanted is None:
            yield f"{place}.{key}: {EXTRA}"
        elif not isinstance(value, wanted):
            yield f"{place}.{key}: Input should be a valid {_named(wanted)}"


def _call(place: str, block: Mapping[str, Any]) -> Problems:
    if isinstance(block.get("id"), str) and not _TOOL_ID.match(block["id"]):
        yield f"{place}.id: String should match pattern '^[a-zA-Z0-9_-]+$'"
    if isinstance(block.get("name"), str) and not TOOL_NAME.match(block["name"]):
        yield f"{place}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"


def cache_control_problems(place: str, holder: Mapping[str, Any]) -> Problems:
    """A cache_control, where there is one."""
    control = holder.get("cache_control")
    if not isinstance(control, dict):
        return
    if control.get("type") != "ephemeral":
        yield f"{place}.cache_control.type: Input should be 'ephemeral'"
    if control.get("ttl", "5m") not in ("5m", "1h"):
        yield f"{place}.cache_control.ttl: Input should be '5m' or '1h'"
    for key in control.keys() - {"type", "ttl"}:
        yield f"{place}.cache_control.{key}: {EXTRA}"


def _named(kind: type | tuple[type, ...]) -> str:
    kinds = kind if isinstance(kind, tuple) else (kind,)
    return " or ".join(_NAMES[one] for one in kinds if one in _NAMES)
