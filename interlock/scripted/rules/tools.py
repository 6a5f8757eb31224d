"""Rules for the tools that are offered, the choice among them, and the cache breakpoints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from interlock.scripted.rules.blocks import TOOL_NAME, cache_control_problems
from interlock.scripted.rules.body import EXTRA
from interlock.scripted.rules.walk import Asked, Problems, inside

_CUSTOM = {
    "allowed_callers", "cache_control", "defer_loading", "description",
    "eager_input_streaming", "input_examples", "input_schema", "name", "strict", "type",
}  # fmt: skip
_CHOICES = {
    "auto": {"type", "disable_parallel_tool_use"},
    "any": {"type", "disable_parallel_tool_use"},
    "tool": {"type", "name", "disable_parallel_tool_use"},
    "none": {"type"},
}
_BREAKPOINTS = 4  # the API's limit


def tool_problems(body: Mapping[str, Any]) -> Problems:
    """Each tool by itself, then their names together."""
    names: list[str] = []
    for at, tool in enumerate(body.get("tools") or ()):
        if not isinstance(tool, dict):
            yield f"tools.{at}: Input should be a valid dictionary or object"
            continue
        if tool.get("type") in (None, "custom"):
            yield from _custom(f"tools.{at}.custom", tool)
        yield from cache_control_problems(f"tools.{at}", tool)
        if isinstance(tool.get("name"), str):
            names.append(tool["name"])
        if tool.get("defer_loading") and tool.get("cache_control"):
            yield f"tools.{at}: Tools with defer_loading=true cannot have cache_control set."
    if len(set(names)) < len(names):
        yield "tools: Tool names must be unique."
    offered = [tool for tool in body.get("tools") or () if isinstance(tool, dict)]
    if offered and all(tool.get("defer_loading") for tool in offered):
        yield "tools: At least one tool must have defer_loading=false."
    yield from _choice(body, names)


def _custom(place: str, tool: Mapping[str, Any]) -> Problems:
    for key in ("name", "input_schema"):
        if key not in tool:
            yield f"{place}.{key}: Field required"
    for key in tool.keys() - _CUSTOM:
        yield f"{place}.{key}: {EXTRA}"
    name = tool.get("name")
    if "name" in tool and not (isinstance(name, str) and TOOL_NAME.match(name)):
        yield f"{place}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"
    if not isinstance(tool.get("description", ""), str):
        yield f"{place}.description: Input should be a valid string"
    if "input_schema" in tool:
        schema = tool["input_schema"]
        if not isinstance(schema, dict):
            yield f"{place}.input_schema: Input should be a valid dictionary"
        elif "type" not in schema:
            yield f"{place}.input_schema.type: Field required"
        elif schema["type"] != "object":
            yield f"{place}.input_schema.type: Input should be 'object'"


def _choice(body: Mapping[str, Any], names: list[str]) -> Problems:
    choice = body.get("tool_choice")
    if not isinstance(choice, dict):
        return
    kind = choice.get("type")
    if kind not in _CHOICES:
        yield f"tool_choice: Input tag '{kind}' does not match: {', '.join(_CHOICES)}"
        return
    for key in choice.keys() - _CHOICES[kind]:
        yield f"tool_choice.{kind}.{key}: {EXTRA}"
    if kind != "none" and not body.get("tools"):
        yield "tool_choice: tool_choice may only be specified while providing tools"
    elif kind == "tool" and choice.get("name") not in names:
        yield f"Tool '{choice.get('name')}' not found in provided tools"


def reference_problems(asked: Asked) -> Problems:
    """What results refer to is among the tools, and such a result says nothing else."""
    names = {tool.get("name") for tool in asked.body.get("tools") or ()}
    for one in asked.blocks():
        parts = list(inside(one)) if one.type == "tool_result" else []
        named = [part for part in parts if part.type == "tool_reference"]
        for part in named:
            if part.block["tool_name"] not in names:
                name = part.block["tool_name"]
                yield f"{part.place}: Tool reference '{name}' not found in available tools"
        if named and len(named) < len(parts):
            yield f"{one.place}: tool_reference blocks cannot stand beside other content"


def breakpoint_problems(asked: Asked) -> Problems:
    """Breakpoints: at most four, none on an empty text, the longer-lived ones first."""
    found = list(_breakpoints(asked))
    for place, block in found:
        if block.get("type") == "text" and not block.get("text"):
            yield f"{place}.text: cache_control cannot be set for empty text blocks"
    count = len(found) + bool(asked.body.get("cache_control"))
    if count > _BREAKPOINTS:
        yield f"A maximum of 4 blocks with cache_control may be provided. Found {count}."
    short = False
    for place, block in found:
        lives = block["cache_control"].get("ttl", "5m")
        if short and lives == "1h":
            yield (
                f"{place}.cache_control.ttl: a ttl='1h' cache_control block must not come after"
                " a ttl='5m' cache_control block"
            )
        short = short or lives == "5m"


def _breakpoints(asked: Asked) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for section in ("tools", "system"):
        blocks = asked.body.get(section)
        for at, block in enumerate(blocks if isinstance(blocks, list) else ()):
            if block.get("cache_control"):
                yield f"{section}.{at}", block
    for one in asked.blocks():
        if one.block.get("cache_control"):
            yield one.place, one.block
        for inner in inside(one):
            if inner.block.get("cache_control"):
                yield inner.place, inner.block
