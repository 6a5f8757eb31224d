"""Entries to one message: the way back from `entries`, forgiving towards other writers.

A block that is not exactly what this code would write is kept as it came, see `Opaque`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from interlock.sessions.ends import INTERRUPTED
from interlock.sessions.entries import NO_MODEL
from phases.world.messages import (
    Block,
    Kind,
    Media,
    Message,
    Opaque,
    Origin,
    RedactedThinking,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
)
from phases.world.usage import Usage

Entry = Mapping[str, Any]


def message_of(entries: Sequence[Entry], sources: Mapping[str, str]) -> Message:
    """The message that `entries` were made from.

    `sources` gives, for the uuid of an entry, the id of the reply it belongs to. Raises KeyError,
    TypeError or ValueError for entries that hold no message.
    """
    first = entries[0]
    replaces = first.get("replaces")
    bodies = [entry["message"] for entry in entries]
    content = [block for entry in entries for block in _blocks(entry)]
    kind = _kind(first, content)
    role = "assistant" if bodies[0].get("role") == "assistant" else "user"
    source = first.get("source") if replaces else first.get("sourceToolAssistantUUID")
    if source is None and kind is Kind.RESULT and not replaces:
        source = first.get("parentUuid")  # some copies of a session name the call only so
    if not replaces and isinstance(source, str):
        source = sources.get(source, source)
    return Message(
        id=str(first["uuid"]),
        role="assistant" if role == "assistant" else "user",
        kind=kind,
        content=tuple(content),
        source=source,
        origin=_origin(first, bodies[-1]) if role == "assistant" else None,
        replaces=replaces,
    )


def block_of(raw: Mapping[str, Any]) -> Block:
    """One content block. Raises TypeError or KeyError for what is no block at all."""
    said = {key: value for key, value in raw.items() if value is not None}
    match said:
        case {"type": "text", "text": str(text)} if len(said) == 2:
            return Text(text)
        case {"type": "text", "text": str(text), "citations": [*cited]} if (
            len(said) == 3 and cited
        ):
            return Text(text, tuple(cited))
        case {"type": "thinking", "thinking": str(thinking), "signature": str(signature)} if (
            len(said) == 3
        ):
            return Thinking(thinking, signature)
        case {"type": "redacted_thinking", "data": str(data)} if len(said) == 2:
            return RedactedThinking(data)
        case {"type": "tool_use", "id": str(id_), "name": str(name)}:
            given = said.get("input")
            return ToolUse(id_, name, given if isinstance(given, dict) else {})
        case {"type": "tool_result", "tool_use_id": str(id_)}:
            content = said.get("content")
            loads = _loaded(content)
            parts = () if loads else _parts(content)
            return ToolResult(id_, parts, bool(said.get("is_error")), loads)
        case {
            "type": ("image" | "document") as kind,
            "source": {"type": "base64", "media_type": str(media_type), "data": str(data)},
        } if len(said) == 2:
            return Media(kind, media_type, data)
    if not isinstance(raw.get("type"), str):
        raise TypeError("a block without a type")
    return Opaque(dict(raw))


def _blocks(entry: Entry) -> list[Block]:
    content = entry["message"]["content"]
    if isinstance(content, str):
        return [Text(content)]
    blocks = [block_of(raw) for raw in content]
    problem = entry.get("problem")
    if isinstance(problem, str) and len(blocks) == 1 and isinstance(blocks[0], ToolUse):
        call = blocks[0]
        return [ToolUse(call.id, call.name, call.input, problem)]
    return blocks


def _loaded(content: object) -> tuple[str, ...]:
    """The tools that a result refers to, where that is what it says."""
    parts = content if isinstance(content, list) else []
    return tuple(
        part["tool_name"]
        for part in parts
        if isinstance(part, dict)
        and part.get("type") == "tool_reference"
        and isinstance(part.get("tool_name"), str)
    )


def _parts(content: object) -> tuple[Text | Media, ...]:
    if content is None:
        return ()
    if isinstance(content, str):
        return (Text(content),)
    if not isinstance(content, list):
        raise TypeError("a tool result that is neither text nor a list")
    blocks = [block_of(raw) for raw in content]
    # What a tool gave that we have no word for is told in words, so the model still hears of it.
    return tuple(
        block if isinstance(block, Text | Media) else Text(f"({_type(block)} left out)")
        for block in blocks
    )


def _type(block: Block) -> str:
    return str(block.wire().get("type"))


def _kind(entry: Entry, content: Sequence[Block]) -> Kind:
    known = entry.get("kind")
    if known in set(Kind):
        return Kind(known)
    if entry.get("type") == "assistant":
        return Kind.REPLY
    if entry.get("isMeta"):
        return Kind.NOTE
    if entry.get("isCompactSummary"):
        return Kind.SUMMARY
    if any(isinstance(block, ToolResult) for block in content):
        return Kind.RESULT
    match content:
        case [Text(text), *_] if text.startswith(INTERRUPTED):
            return Kind.INTERRUPTION
    return Kind.PROMPT


def _origin(entry: Entry, body: Mapping[str, Any]) -> Origin | None:
    model = body.get("model")
    if not isinstance(model, str) or model == NO_MODEL:
        return None
    request = entry.get("requestId")
    ours = f"local_{entry['uuid']}"
    usage = body.get("usage") or {}
    return Origin(
        api_id=str(body.get("id")),
        model=model,
        stop_reason=body.get("stop_reason"),
        usage=Usage(
            input_tokens=_count(usage, "input_tokens"),
            output_tokens=_count(usage, "output_tokens"),
            cache_read_input_tokens=_count(usage, "cache_read_input_tokens"),
            cache_creation_input_tokens=_count(usage, "cache_creation_input_tokens"),
        ),
        request_id=None if request == ours else request,
    )


def _count(usage: Mapping[str, Any], key: str) -> int:
    value = usage.get(key)
    return value if isinstance(value, int) else 0
