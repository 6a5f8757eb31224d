"""A terminal as lines: one that is heard, and what is said to it. Knows nothing of questions."""

from __future__ import annotations

import os

import anyio

_CHUNK = 4096


async def heard(terminal: int) -> str | None:
    """One line; None where the terminal went away. Waits without holding a thread, so that an
    interrupt breaks it."""
    got = b""
    while not got.endswith(b"\n"):
        await anyio.wait_readable(terminal)
        chunk = os.read(terminal, _CHUNK)
        if not chunk:
            return None
        got += chunk
    return got.decode(errors="replace")


def say(terminal: int, text: str) -> None:
    """All of it, also where the terminal takes it piece by piece."""
    left = text.encode(errors="replace")
    while left:
        left = left[os.write(terminal, left) :]
