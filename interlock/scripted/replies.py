"""What the scripted server can answer, as frozen values, and the small words that build them.

Three kinds: a good Reply of the model, a Status (an HTTP error), a RawSse (bytes as they stand).
Knows nothing of files (script.py), of bytes (stream.py) or of the request that is answered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

import attrs

Block = Mapping[str, Any]  # a content block in the words of the Messages API


class End(StrEnum):
    """What becomes of the connection after the last byte."""

    CLOSE = "close"  # the body ends as it should
    RESET = "reset"  # the connection is cut: the client sees ECONNRESET or a broken body
    STALL = "stall"  # open and silent until the client leaves
    REPEAT = "repeat"  # the same lines for ever; only for RawSse


@attrs.frozen(kw_only=True)
class ErrorEvent:
    """An `event: error` inside a stream that began with status 200."""

    type: str
    message: str


@attrs.frozen(kw_only=True)
class Expect:
    """What must be true of the request that gets this answer; None asks nothing."""

    model: str | None = None
    system_contains: str | None = None
    last_text_contains: str | None = None  # any text of the last user message
    tool_result_contains: str | None = None  # any tool result of the last user message


@attrs.frozen(kw_only=True)
class Reply:
    """A message of the model, whole or with a fault on the way."""

    content: tuple[Block, ...]
    stop_reason: str = "end_turn"
    stop_sequence: str | None = None
    stop_details: Mapping[str, Any] | None = None
    usage: Mapping[str, Any] | None = None  # None: computed from the request
    model: str | None = None  # None: the model that was asked
    id: str | None = None
    delay_s: float = 0.0  # before the first byte
    drip_s: float = 0.0  # between two events
    cut_after: int | None = None  # events that are sent; None: all
    end: End = End.CLOSE
    error_event: ErrorEvent | None = None  # sent after `cut_after` events
    expect: Expect | None = None


@attrs.frozen(kw_only=True)
class Status:
    """An HTTP answer that is no message: an API error, or a gateway's own page."""

    status: int
    headers: Mapping[str, str] = attrs.Factory(dict)
    body: Any = None  # JSON
    raw_body: str | None = None  # instead of body, sent as it stands
    delay_s: float = 0.0
    expect: Expect | None = None


@attrs.frozen(kw_only=True)
class RawSse:
    """Lines of an event stream exactly as given, each followed by `eol`."""

    lines: tuple[str, ...]
    end: End = End.CLOSE
    eol: str = "\n"
    chunk_bytes: int | None = None  # None: all in one piece
    raw_unicode: bool = False  # letters inside JSON data as they are, not as \u escapes
    repeat: tuple[str, ...] = ()
    every_s: float = 1.0
    delay_s: float = 0.0
    expect: Expect | None = None


Answer = Reply | Status | RawSse


def text(words: str, *, repeat: int = 1) -> Block:
    """A text block; `repeat` sends the words that many times over."""
    return {"type": "text", "text": words} | ({"repeat": repeat} if repeat != 1 else {})


def thinking(words: str, signature: str) -> Block:
    """A thinking block; the server then knows the signature as one of its own."""
    return {"type": "thinking", "thinking": words, "signature": signature}


def tool_use(
    name: str,
    arguments: Mapping[str, Any] | None = None,
    *,
    id: str | None = None,  # noqa: A002 - the API's own word
    partial_json: str | None = None,
) -> Block:
    """A tool call; `partial_json` replaces its input by raw text, such as JSON cut short."""
    block: dict[str, Any] = {"type": "tool_use", "name": name, "input": dict(arguments or {})}
    if id is not None:
        block["id"] = id
    if partial_json is not None:
        block["partial_json"] = partial_json
    return block


def _blocks(content: Sequence[Block | str]) -> tuple[Block, ...]:
    return tuple(text(block) if isinstance(block, str) else block for block in content)


def reply(*content: Block | str, stop_reason: str | None = None, **more: Any) -> Reply:
    """A good reply; a string is a text block, and with tool calls it stops for `tool_use`."""
    blocks = _blocks(content)
    calls = any(block["type"] == "tool_use" for block in blocks)
    reason = stop_reason or ("tool_use" if calls else "end_turn")
    return Reply(content=blocks, stop_reason=reason, **more)


def status(
    code: int,
    type: str,  # noqa: A002 - the API's own word
    message: str,
    *,
    retry_after: float | None = None,
    headers: Mapping[str, str] | None = None,
) -> Status:
    """An API error in its usual shape; `retry_after` is in seconds."""
    told = dict(headers or {})
    if retry_after is not None:
        told["retry-after"] = f"{retry_after:g}"
    body = {"type": "error", "error": {"type": type, "message": message}}
    return Status(status=code, headers=told, body=body)


def stream_error(
    type: str,  # noqa: A002 - the API's own word
    message: str,
    *content: Block | str,
    after: int = 0,
    **more: Any,
) -> Reply:
    """An error inside a 200 stream, after the first `after` events of this content."""
    event = ErrorEvent(type=type, message=message)
    return reply(*content, cut_after=after, error_event=event, **more)


def cut(*content: Block | str, after: int, end: End | str = End.CLOSE, **more: Any) -> Reply:
    """A stream that stops after `after` events: closed, reset, or open and silent."""
    return reply(*content, cut_after=after, end=End(end), **more)
