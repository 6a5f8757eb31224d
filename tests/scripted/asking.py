"""Requests to a scripted server in few words, and one that breaks a rule."""

from __future__ import annotations

import base64
import struct
from typing import Any

import attrs

from interlock.scripted import SignatureBook

MODEL = "model-x"
PNG = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", 10, 10) + bytes(9)
WIDE_PNG = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", 9000, 1) + bytes(9)
LARGE_PNG = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", 2001, 1) + bytes(9)
GIF = b"GIF89a" + struct.pack("<HH", 9000, 1)
JPEG = b"\xff\xd8\xff\xe0\x00\x04JF\xff\xc0\x00\x0b\x08" + struct.pack(">HH", 1, 9000)
WEBP = b"RIFF\x00\x00\x00\x00WEBPVP8X" + bytes(8) + (8999).to_bytes(3, "little") + bytes(3)
HMM = {"type": "thinking", "thinking": "hmm", "signature": "c2ln"}
READ = {"name": "Read", "input_schema": {"type": "object"}}
CACHED = {"cache_control": {"type": "ephemeral"}}


def user(*content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content[0] if isinstance(content[0], str) else [*content]}


def said(*content: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": [*content]}


def words(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": text, **more}


def call(id: str = "toolu_1", **more: Any) -> dict[str, Any]:  # noqa: A002
    return {"type": "tool_use", "id": id, "name": "Read", "input": {}, **more}


def result(id: str = "toolu_1", content: Any = "ok", **more: Any) -> dict[str, Any]:  # noqa: A002
    return {"type": "tool_result", "tool_use_id": id, "content": content, **more}


def image(raw: bytes, media_type: str = "image/png", data: str | None = None) -> dict[str, Any]:
    data = base64.b64encode(raw).decode() if data is None else data
    return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}


def pdf(raw: bytes) -> dict[str, Any]:
    data = base64.b64encode(raw).decode()
    source = {"type": "base64", "media_type": "application/pdf", "data": data}
    return {"type": "document", "source": source}


def asked(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"model": MODEL, "max_tokens": 4000, "messages": [*messages] or [user("hi")], **more}


def without(key: str) -> dict[str, Any]:
    return {name: value for name, value in asked().items() if name != key}


def book() -> SignatureBook:
    """A server that has said HMM and then called toolu_1, and called toolu_2 without a thought."""
    issued = SignatureBook()
    issued.issue(MODEL, [HMM, call()])
    issued.issue(MODEL, [{"type": "redacted_thinking", "data": "b3Bh"}])
    issued.issue(MODEL, [call("toolu_2")])
    return issued


ON = {"type": "enabled", "budget_tokens": 1024}


@attrs.frozen
class Broken:
    id: str
    body: dict[str, Any]
    told: str
