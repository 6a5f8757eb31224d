"""Histories as nobody should write them, for tests of the mender."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from interlock.model import Mender
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
from phases.world.ports import Mended
from phases.world.usage import Usage
from tests.model.histories import PIXEL, SEARCH, WORDS, fresh


def mend(*messages: Message, model: str = "m") -> Mended:
    return Mender().mend(messages, model=model)


def said_by(model: str, *content: Block) -> Message:
    origin = Origin(api_id="msg", model=model, stop_reason="tool_use", usage=Usage())
    return Message(id=fresh(), role="assistant", kind=Kind.REPLY, content=content, origin=origin)


def png(width: int, height: int, padding: int = 0) -> Media:
    """A whole picture, black; `padding` bytes of text make it larger."""
    rows = (b"\0" + bytes(width)) * height
    parts = [
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)),
        (b"tEXt", bytes(padding)),
        (b"IDAT", zlib.compress(rows, 1)),
        (b"IEND", b""),
    ]
    data = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
        for name, body in parts
    )
    return Media("image", "image/png", base64.b64encode(data).decode())


def media(data: bytes, media_type: str, kind: str = "image") -> Media:
    encoded = base64.b64encode(data).decode()
    return Media("image" if kind == "image" else "document", media_type, encoded)


# --- random ones -----------------------------------------------------------------------------

# Few, so that they meet; some that the API does not take.
TOOL_IDS = st.sampled_from(["a", "b", "c", "d", "not an id!", ""])
GARBAGE = media(b"<svg/>", "image/png")
MISLABELLED = Media("document", "application/pdf", PIXEL.data)
NO_BASE64 = Media("image", "image/png", "%%%")
MEDIA = st.sampled_from([PIXEL, GARBAGE, MISLABELLED, NO_BASE64, png(8001, 1)])
OPAQUES: tuple[Mapping[str, Any], ...] = (
    SEARCH,
    {"type": "text", "text": " ", "citations": []},
    {"type": "text", "text": "quoted", "cache_control": {"type": "ephemeral"}},
    {"type": "tool_result", "content": "whose?"},
    {"type": "thinking", "thinking": "hm", "signature": None},
)
BLOCKS: st.SearchStrategy[Block] = st.one_of(
    WORDS.map(Text),
    st.builds(Thinking, st.sampled_from(["", "hm"]), st.sampled_from(["", "sig-1", "sig-2"])),
    st.builds(RedactedThinking, st.sampled_from(["", "data"])),
    st.builds(ToolUse, TOOL_IDS, st.sampled_from(["Bash", "no name", ""]), st.just({})),
    st.builds(
        ToolResult,
        TOOL_IDS,
        st.lists(st.one_of(WORDS.map(Text), MEDIA), max_size=2).map(tuple),
        st.booleans(),
    ),
    MEDIA,
    st.sampled_from([Opaque(raw) for raw in OPAQUES]),
)
USUAL: st.SearchStrategy[Block] = st.one_of(
    st.builds(ToolUse, TOOL_IDS, st.just("Bash"), st.just({})),
    st.builds(ToolResult, TOOL_IDS, st.just((Text("done"),))),
)


@st.composite
def messages(draw: st.DrawFn) -> Message:
    content = tuple(draw(st.lists(st.one_of(BLOCKS, USUAL), max_size=4)))
    if draw(st.booleans()):
        return Message(
            id=fresh(),
            role="user",
            kind=draw(st.sampled_from([Kind.PROMPT, Kind.RESULT, Kind.NOTE])),
            content=content,
        )
    model = draw(st.sampled_from([None, "m", "m-20260101", "other"]))
    if model is not None:
        return said_by(model, *content)
    return Message(id=fresh(), role="assistant", kind=Kind.REPLY, content=content)


@st.composite
def broken(draw: st.DrawFn) -> tuple[Message, ...]:
    """Anything in any order, some of it twice."""
    found = draw(st.lists(messages(), min_size=1, max_size=8))
    again = draw(st.lists(st.sampled_from(found), max_size=2))
    return tuple(found + again)
