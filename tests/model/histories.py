"""Histories as tests write them, and random ones that the loop could have made."""

from __future__ import annotations

import base64
import itertools
import uuid
from collections.abc import Sequence
from typing import Any

import orjson
from hypothesis import strategies as st

from interlock.model.request import Gate
from phases.world.messages import (
    Block,
    Kind,
    Media,
    Message,
    Opaque,
    RedactedThinking,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
)
from phases.world.ports import Request

PIXEL = Media(
    "image",
    "image/png",
    base64.b64encode(
        b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00"
    ).decode(),
)
TOOL = {"name": "Bash", "description": "Run.", "input_schema": {"type": "object"}}
_numbers = itertools.count(1)


def fresh() -> str:
    return str(uuid.UUID(int=next(_numbers)))


def user(*content: Block | str, kind: Kind = Kind.PROMPT) -> Message:
    return Message(id=fresh(), role="user", kind=kind, content=_blocks(content))


def assistant(*content: Block | str) -> Message:
    return Message(id=fresh(), role="assistant", kind=Kind.REPLY, content=_blocks(content))


def call(id: str = "toolu_1") -> ToolUse:  # noqa: A002 - the API's own word
    return ToolUse(id, "Bash", {"command": "true"})


def result(*ids: str, words: str = "done") -> Message:
    return user(*(ToolResult(one, (Text(words),)) for one in ids), kind=Kind.RESULT)


def _blocks(content: Sequence[Block | str]) -> tuple[Block, ...]:
    return tuple(Text(block) if isinstance(block, str) else block for block in content)


def asking(*messages: Message, purpose: str = "main", max_tokens: int = 8000) -> Request:
    return Request(model="m", messages=messages, max_tokens=max_tokens, purpose=purpose)


def body(*messages: Message, gate: Gate | None = None, **more: Any) -> Any:
    """The body that leaves, cache marks taken out."""
    return unmarked(marked(*messages, gate=gate, **more))


def marked(*messages: Message, gate: Gate | None = None, **more: Any) -> Any:
    return orjson.loads((gate or Gate()).build(asking(*messages, **more)).body)


def unmarked(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: unmarked(one) for key, one in value.items() if key != "cache_control"}
    return [unmarked(one) for one in value] if isinstance(value, list) else value


# --- random ones ---------------------------------------------------------------------------

WORDS = st.sampled_from(["", " \n", "hello", "größe \U0001f600", "half \ud83d", " end "])
TEXTS = WORDS.map(Text)
MEDIA = st.just(PIXEL)
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
OPAQUE = st.just(Opaque(SEARCH))


@st.composite
def histories(draw: st.DrawFn) -> tuple[Message, ...]:
    """Turns as the loop makes them: prompts, replies, results one by one, notes anywhere."""
    messages = [user("do it")]
    for turn in range(draw(st.integers(0, 5))):
        ids = [f"toolu_{turn}_{at}" for at in range(draw(st.integers(0, 3)))]
        messages.append(_reply(draw, turn, ids))
        if ids:
            results = [_result(draw, id_) for id_ in draw(st.permutations(ids))]
            messages += [*_notes(draw), *results, *_notes(draw)]
        else:
            messages.append(user(draw(TEXTS), draw(st.one_of(TEXTS, MEDIA)), "go on"))
            messages += _notes(draw)
    return tuple(messages)


def _reply(draw: st.DrawFn, turn: int, ids: list[str]) -> Message:
    content: list[Block] = []
    if draw(st.booleans()):
        content.append(Thinking(draw(st.sampled_from(["", "hm  \n"])), f"sig-{turn}"))
        if draw(st.booleans()):
            content.append(RedactedThinking(f"data-{turn}"))
    content += draw(st.lists(st.one_of(TEXTS, OPAQUE), max_size=2))
    return assistant(*content, *map(call, ids))


def _result(draw: st.DrawFn, id_: str) -> Message:
    parts = st.lists(st.one_of(TEXTS, MEDIA), max_size=2)
    block = ToolResult(id_, tuple(draw(parts)), is_error=draw(st.booleans()))
    return user(block, *draw(st.lists(TEXTS, max_size=1)), kind=Kind.RESULT)


def _notes(draw: st.DrawFn) -> list[Message]:
    return [user(one, kind=Kind.NOTE) for one in draw(st.lists(TEXTS, max_size=2))]
