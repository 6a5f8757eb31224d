"""A good reply as bytes: the events of a stream as the real API sends them, or one JSON message.

Also the bytes of a RawSse. Knows no sockets and no pauses: play.py sends what is made here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from interlock.scripted.replies import Block, RawSse, Reply

# Deltas are a few words long, as in life, but a block is never more than 64 of them: a text of
# megabytes would otherwise cost more to frame than to send.
_PIECE, _PIECES = 24, 64
_WHOLE_INPUT = ("tool_use", "server_tool_use", "mcp_tool_use")


def sse(name: str, payload: Mapping[str, Any]) -> bytes:
    """One server-sent event."""
    return b"event: %b\ndata: %b\n\n" % (name.encode(), orjson.dumps(payload))


PING = sse("ping", {"type": "ping"})
MESSAGE_STOP = sse("message_stop", {"type": "message_stop"})


def error_event(kind: str, message: str, request_id: str) -> bytes:
    """An `event: error` in the middle of a stream."""
    return sse("error", error_body(kind, message, request_id))


def error_body(kind: str, message: str, request_id: str) -> dict[str, Any]:
    """The API's shape of an error."""
    return {
        "type": "error",
        "error": {"type": kind, "message": message},
        "request_id": request_id,
    }


def settled(reply: Reply, number: int) -> tuple[dict[str, Any], ...]:
    """The blocks as they are sent: repeats spelled out, missing ids given."""
    blocks = []
    for at, block in enumerate(reply.content):
        ready = dict(block)
        if repeat := ready.pop("repeat", None):
            ready["text"] = ready.get("text", "") * repeat
        if ready["type"] == "tool_use":
            ready.setdefault("id", f"toolu_{number:06d}_{at}")
            ready.setdefault("input", {})
        blocks.append(ready)
    return tuple(blocks)


def message(
    reply: Reply,
    blocks: tuple[Block, ...],
    *,
    message_id: str,
    model: str,
    usage: Mapping[str, Any],
) -> dict[str, Any]:
    """The whole message, as a request without `stream` gets it."""
    shown = [{key: block[key] for key in block if key != "partial_json"} for block in blocks]
    return {
        "id": reply.id or message_id,
        "type": "message",
        "role": "assistant",
        "model": reply.model or model,
        "content": shown,
        "stop_reason": reply.stop_reason,
        "stop_sequence": reply.stop_sequence,
        **({"stop_details": reply.stop_details} if reply.stop_details else {}),
        "usage": usage,
    }


def events(
    reply: Reply,
    blocks: tuple[Block, ...],
    *,
    message_id: str,
    model: str,
    usage: Mapping[str, Any],
) -> list[bytes]:
    """The stream of a good reply, event by event."""
    begun = message(
        reply, (), message_id=message_id, model=model, usage={**usage, "output_tokens": 1}
    )
    begun |= {"stop_reason": None, "stop_sequence": None}
    begun.pop("stop_details", None)
    made = [sse("message_start", {"type": "message_start", "message": begun}), PING]
    for index, block in enumerate(blocks):
        made += _block(index, block)
    delta = {"stop_reason": reply.stop_reason, "stop_sequence": reply.stop_sequence}
    if reply.stop_details:
        delta["stop_details"] = reply.stop_details  # type: ignore[assignment]
    made.append(sse("message_delta", {"type": "message_delta", "delta": delta, "usage": usage}))
    made.append(MESSAGE_STOP)
    return made


def _block(index: int, block: Block) -> Iterator[bytes]:
    opened, deltas = _opened(block), _deltas(block)
    start = {"type": "content_block_start", "index": index, "content_block": opened}
    yield sse("content_block_start", start)
    for delta in deltas:
        told = {"type": "content_block_delta", "index": index, "delta": delta}
        yield sse("content_block_delta", told)
    yield sse("content_block_stop", {"type": "content_block_stop", "index": index})


def _opened(block: Block) -> dict[str, Any]:
    match block["type"]:
        case "text":
            return {**block, "text": ""}
        case "thinking":
            return {**block, "thinking": "", "signature": ""}
        case kind if kind in _WHOLE_INPUT:
            opened = {**block, "input": {}}
            opened.pop("partial_json", None)
            return opened
        case _:
            return dict(block)


def _deltas(block: Block) -> Iterator[dict[str, Any]]:
    match block["type"]:
        case "text":
            for piece in _pieces(block["text"]):
                yield {"type": "text_delta", "text": piece}
        case "thinking":
            for piece in _pieces(block["thinking"]):
                yield {"type": "thinking_delta", "thinking": piece}
            yield {"type": "signature_delta", "signature": block.get("signature", "")}
        case kind if kind in _WHOLE_INPUT:
            # The real API opens every input with an empty piece.
            yield {"type": "input_json_delta", "partial_json": ""}
            raw = block.get("partial_json")
            if raw is None:
                raw = orjson.dumps(block["input"]).decode() if block["input"] else ""
            for piece in _pieces(raw):
                yield {"type": "input_json_delta", "partial_json": piece}


def _pieces(whole: str) -> Iterator[str]:
    size = max(_PIECE, len(whole) // _PIECES + 1)
    for at in range(0, len(whole), size):
        yield whole[at : at + size]


def raw_pieces(raw: RawSse, lines: tuple[str, ...]) -> list[bytes]:
    """The bytes of raw lines, in the pieces in which they are to be sent."""
    told = [_unescaped(line) for line in lines] if raw.raw_unicode else lines
    data = "".join(line + raw.eol for line in told).encode("utf-8", "surrogatepass")
    size = raw.chunk_bytes or len(data) or 1
    return [data[at : at + size] for at in range(0, len(data), size)]


def _unescaped(line: str) -> str:
    name, colon, value = line.partition(":")
    if name != "data":
        return line
    try:
        return f"{name}{colon} {json.dumps(json.loads(value), ensure_ascii=False)}"
    except ValueError:
        return line


def raw_thinking(raw: RawSse) -> tuple[Block, ...]:
    """The blocks that a client will have put together from raw lines, thinking and calls only."""
    blocks: dict[int, dict[str, Any]] = {}
    for line in raw.lines:
        if not line.startswith("data:"):
            continue
        try:
            event = orjson.loads(line[5:])
        except orjson.JSONDecodeError:
            continue
        match event:
            case {"type": "content_block_start", "index": int(at), "content_block": dict(block)}:
                blocks[at] = dict(block)
            case {"type": "content_block_delta", "index": int(at), "delta": dict(delta)}:
                block = blocks.get(at, {})
                for key in ("thinking", "signature"):
                    if key in delta:
                        block[key] = block.get(key, "") + delta[key]
    kinds = ("thinking", "redacted_thinking", "tool_use")
    return tuple(block for block in blocks.values() if block.get("type") in kinds)
