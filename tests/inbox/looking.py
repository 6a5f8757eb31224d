"""What the tests of this folder look for in requests and updates, and a clock without hours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import anyio
from attrs import define

from interlock.scripted import SentRequest
from phases.world.updates import Notice, QueueChanged, Update


@define
class Standstill:
    """A clock on which no sleep ever ends by itself."""

    now: float = 1_000_000.0

    def time(self) -> float:
        return self.now

    def jitter(self) -> float:
        return 0.0

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep_forever()


def last_said(request: SentRequest) -> list[tuple[str, str]]:
    """The blocks of a request's last message: their type and their text."""
    content: list[dict[str, Any]] = request.body["messages"][-1]["content"]
    return [(block["type"], _text(block)) for block in content]


def _text(block: dict[str, Any]) -> str:
    if block["type"] == "tool_result":
        return "".join(part["text"] for part in block.get("content", []))
    return str(block["text"])


def moves(updates: Sequence[Update]) -> list[str]:
    """The stages that queued messages went through, in order."""
    return [update.stage for update in updates if isinstance(update, QueueChanged)]


def notices(updates: Sequence[Update]) -> list[str]:
    return [update.text for update in updates if isinstance(update, Notice)]
