"""Sessions that are compacted, and the requests that it takes."""

from __future__ import annotations

import base64
import struct
import zlib
from pathlib import Path
from typing import Any

from interlock.context.summary import BRIEF, INSTRUCTION, TERSE
from interlock.scripted import Answer, ScriptedServer, SentRequest, reply, status, tool_use
from phases.world.updates import Update
from tests.agent.support import Room, Told, sent

OVER = "prompt is too long: 205030 tokens > 200000 maximum"
TOO_LONG = status(400, "invalid_request_error", OVER)
INSTRUCTIONS = (INSTRUCTION, BRIEF, TERSE)
SMALL = {"INTERLOCK_CONTEXT_WINDOW": "32768", "INTERLOCK_COMPACT_THRESHOLD": "0.85"}


def summaries(server: ScriptedServer) -> list[SentRequest]:
    """The requests that asked for a summary."""
    return [one for one in server.requests if said(one)[-1] in INSTRUCTIONS]


def said(request: SentRequest) -> list[str]:
    return [block["text"] for block in sent(request) if block["type"] == "text"]


def unseen(update: Update) -> None:
    """Nobody watches."""


def shown(told: Told, kind: type[Update]) -> list[Any]:
    return [one for one in told.updates if isinstance(one, kind)]


def picture(path: Path, side: int = 8) -> str:
    """A valid PNG in this file."""

    def chunk(name: bytes, data: bytes) -> bytes:
        crc = struct.pack(">I", zlib.crc32(name + data))
        return struct.pack(">I", len(data)) + name + data + crc

    rows = b"".join(b"\0" + b"\xff\0\0" * side for _ in range(side))
    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    png = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head)
    path.write_bytes(png + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
    return base64.b64encode(path.read_bytes()).decode()


def read(room: Room, name: str, **more: Any) -> Answer:
    return reply(tool_use("Read", {"file_path": str(room.work / name)}), **more)
