"""JSON lines for clients: one object a line, none longer than clients will read."""

from __future__ import annotations

from typing import Any

from phases.world.messages import encoded

# Clients of this protocol give up on a line of 1 MiB, counted in characters.
LONGEST = 1024 * 1024 - 1024
_CAPS = (200_000, 50_000, 10_000, 2_000, 200)  # characters of one string, tried in turn


def line_of(message: dict[str, Any]) -> bytes:
    """`message` as one line; long strings in it are cut if the line would be too long."""
    line = encoded(message)
    for cap in _CAPS:
        if _fits(line):
            break
        line = encoded(_cut(message, cap))
    if not _fits(line):
        keys = ("type", "subtype", "uuid", "session_id")
        short = {key: message[key] for key in keys if key in message}
        line = encoded(short | {"error": "this message was too long for one line"})
    return line + b"\n"


def _fits(line: bytes) -> bool:
    return len(line) <= LONGEST or len(line.decode()) <= LONGEST


def _cut(value: Any, cap: int) -> Any:
    if isinstance(value, str) and len(value) > cap:
        return f"{value[:cap]}… [{len(value) - cap:,} characters cut]"
    if isinstance(value, dict):
        return {key: _cut(each, cap) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_cut(each, cap) for each in value]
    return value
