"""Streams of the Messages API as tests write them: events, bytes, and what becomes of them."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable
from typing import Any

from interlock.model.reply import ReplyAssembler
from interlock.model.sse import SseEvent
from phases.world.ports import ModelEvent


def event(name: str, **fields: Any) -> SseEvent:
    return name, json.dumps({"type": name, **fields}).encode()


def begun(**usage: int) -> SseEvent:
    return event(
        "message_start",
        message={
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "model-x",
            "content": [],
            "stop_reason": None,
            "usage": usage or {"input_tokens": 25, "output_tokens": 1},
        },
    )


def opened(index: int, kind: str, **fields: Any) -> SseEvent:
    return event("content_block_start", index=index, content_block={"type": kind, **fields})


def delta(index: int, kind: str, **fields: Any) -> SseEvent:
    return event("content_block_delta", index=index, delta={"type": kind, **fields})


def said(index: int, words: str) -> SseEvent:
    return delta(index, "text_delta", text=words)


def typed(index: int, partial_json: str) -> SseEvent:
    return delta(index, "input_json_delta", partial_json=partial_json)


def closed(index: int) -> SseEvent:
    return event("content_block_stop", index=index)


def ended(stop_reason: str | None = "end_turn", **usage: int | None) -> list[SseEvent]:
    return [
        event("message_delta", delta={"stop_reason": stop_reason}, usage=usage),
        event("message_stop"),
    ]


def text(index: int, *words: str) -> list[SseEvent]:
    return [opened(index, "text", text=""), *(said(index, one) for one in words), closed(index)]


def call(index: int, *partial_json: str, id: str | None = None) -> list[SseEvent]:  # noqa: A002
    start = opened(index, "tool_use", id=id or f"toolu_{index}", name="Bash", input={})
    return [start, *(typed(index, one) for one in partial_json), closed(index)]


def counting() -> Callable[[], str]:
    """Ids that a test can foresee: ...01, ...02 and so on."""
    numbers = itertools.count(1)
    return lambda: f"00000000-0000-4000-8000-{next(numbers):012d}"


def assembled(*events: Iterable[SseEvent] | SseEvent, **more: Any) -> ReplyAssembler:
    """An assembler that was fed these events; a list among them is spread out."""
    return fed(*events, **more)[0]


def fed(
    *events: Iterable[SseEvent] | SseEvent, **more: Any
) -> tuple[ReplyAssembler, list[ModelEvent]]:
    assembler = ReplyAssembler(model="asked", new_id=counting(), **more)
    told: list[ModelEvent] = []
    for one in events:
        told += assembler.feed([one] if isinstance(one, tuple) else one)
    return assembler, told


def wire(events: Iterable[SseEvent], eol: str = "\n") -> bytes:
    """The events as bytes of a stream."""
    return b"".join(
        f"event: {name}{eol}data: {data.decode()}{eol}{eol}".encode() for name, data in events
    )
