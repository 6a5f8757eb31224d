"""A message as transcript entries: one per content block of a reply, one per user message.

Pure. Every entry hangs on the one before it by `parentUuid`; the results of parallel calls hang
each on its own call. What is common to all entries of a file is added by `transcript`; the way
back is in `reading`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from phases.world.messages import (
    Block,
    Kind,
    Message,
    Origin,
    Text,
    ToolResult,
    ToolUse,
    derived_id,
    is_blank,
)
from phases.world.usage import Usage

Entry = dict[str, Any]

NO_MODEL = "<synthetic>"  # the model of a reply that no model made


def block_id(message_id: str, index: int) -> str:
    """The uuid of the entry of block `index`: what is emitted on stdout carries the same one."""
    return message_id if index == 0 else derived_id(message_id, str(index))


def entries_of(
    message: Message, *, parent: str | None, calls: Mapping[str, str]
) -> tuple[Entry, ...]:
    """The entries of `message`, in order.

    `parent` is the uuid of the entry before it, `calls` gives the entry of each tool_use id.
    """
    if message.role == "user":
        return (_user_entry(message, parent, calls),)
    entries: list[Entry] = []
    for index, block in enumerate(message.content or (None,)):
        entry: Entry = {
            "type": "assistant",
            "uuid": block_id(message.id, index),
            "parentUuid": parent,
            "requestId": request_id(message),
            "kind": message.kind.value,
            "block": index,
            "message": reply_json(message, () if block is None else (block,)),
        }
        if isinstance(block, ToolUse) and block.problem is not None:
            entry["problem"] = block.problem
        entries.append(entry)
        parent = entry["uuid"]
    return tuple(entries)


def boundary_of(view: Sequence[Message], *, after: str) -> Entry:
    """The entry that says: from here on, the history is `view`, and not what led up to `after`."""
    return {
        "type": "system",
        "subtype": "compact_boundary",
        "uuid": derived_id(view[0].id, f"boundary after {after}"),
        "parentUuid": None,
        "logicalParentUuid": after,
        "isMeta": False,
        "level": "info",
        "content": "Conversation compacted",
        # Messages of the view that were written before are named here and not written again.
        "compactMetadata": {"trigger": "auto", "view": [message.id for message in view]},
    }


def mended_of(message: Message, *, parent: str | None) -> Entry:
    """The entry that says: `message` stands in the place of the one it replaces."""
    if message.role == "assistant":
        body = reply_json(message, message.content)
    else:
        body = {"role": "user", "content": _content(message)}
    entry: Entry = {
        "type": "system",
        "subtype": "message_mended",
        "uuid": message.id,
        "parentUuid": parent,
        "replaces": message.replaces,
        "kind": message.kind.value,
        "source": message.source,
        "isMeta": False,
        "level": "info",
        "content": "A message was mended before it was sent; this one stands in its place",
        "message": body,
    }
    if message.role == "assistant":
        entry["requestId"] = request_id(message)
    return entry


def block_json(block: Block) -> dict[str, Any]:
    """A block as the API has it, with nothing left out."""
    if not isinstance(block, ToolResult) or (block.loads and not block.is_error):
        return block.wire()  # one that loads tools says that and nothing else
    said: dict[str, Any] = {
        "type": "tool_result",
        "tool_use_id": block.tool_use_id,
        "content": [part.wire() for part in block.content],
    }
    if block.is_error:
        said["is_error"] = True
    return said


def reply_json(message: Message, blocks: Sequence[Block]) -> dict[str, Any]:
    """Some blocks of a reply in Messages API form, with the final stop_reason and usage."""
    origin = message.origin or Origin(
        api_id=message.id, model=NO_MODEL, stop_reason=None, usage=Usage()
    )
    return {
        "id": origin.api_id,
        "type": "message",
        "role": "assistant",
        "model": origin.model,
        "content": [block_json(block) for block in blocks],
        "stop_reason": origin.stop_reason,
        "stop_sequence": None,
        "usage": usage_json(origin.usage),
    }


def usage_json(usage: Usage) -> dict[str, int]:
    return {
        "input_tokens": usage.input_tokens,
        "cache_creation_input_tokens": usage.cache_creation_input_tokens,
        "cache_read_input_tokens": usage.cache_read_input_tokens,
        "output_tokens": usage.output_tokens,
    }


def request_id(message: Message) -> str:
    """The server's id of the request, or one of ours where it gave none.

    Token counters tell the entries of one reply from two replies by message.id and requestId;
    without the second they count its usage once per block.
    """
    if message.origin is not None and message.origin.request_id is not None:
        return message.origin.request_id
    return f"local_{message.id}"


def result_text(block: ToolResult) -> str:
    """What a tool result says, for programs that look at `toolUseResult` alone."""
    text = "\n".join(
        part.text if isinstance(part, Text) else f"({part.kind}, {part.media_type})"
        for part in block.content
        if not is_blank(part)
    )
    return f"Error: {text}" if block.is_error else text


def _user_entry(message: Message, parent: str | None, calls: Mapping[str, str]) -> Entry:
    entry: Entry = {"type": "user", "uuid": message.id, "parentUuid": parent}
    results = [block for block in message.content if isinstance(block, ToolResult)]
    if results:
        call = calls.get(results[0].tool_use_id, message.source)
        entry["parentUuid"] = calls.get(results[0].tool_use_id, parent)
        entry["sourceToolAssistantUUID"] = call
        entry["toolUseResult"] = result_text(results[0])
    if message.meta:
        entry["isMeta"] = True
    if message.kind is Kind.SUMMARY:
        entry["isCompactSummary"] = True
        entry["isVisibleInTranscriptOnly"] = True
    entry["kind"] = message.kind.value
    entry["message"] = {"role": "user", "content": _content(message)}
    return entry


def _content(message: Message) -> str | list[dict[str, Any]]:
    match message.content:
        case (Text(text),):
            return text
        case blocks:
            return [block_json(block) for block in blocks]
