"""What the tests of streams are told in: raw events, calls, attempts that are waited for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from interlock.scripted import End, RawSse, status, tool_use
from phases.world.updates import Retrying
from tests.agent.support import Told
from tests.model.streams import begun, opened, typed, wire

OVERLOADED = status(529, "overloaded_error", "Overloaded")
THINKS = {"MAX_THINKING_TOKENS": "2048"}


def raw(*events: Any, end: str = "close", **more: Any) -> RawSse:
    """A stream event by event; a list among them is spread out."""
    lines = wire([one for part in events for one in (part if isinstance(part, list) else [part])])
    return RawSse(lines=tuple(lines.decode().split("\n")[:-1]), end=End(end), **more)


def bash(command: str, **more: Any) -> Mapping[str, Any]:
    return tool_use("Bash", {"command": command}, **more)


def waits(told: Told) -> list[Retrying]:
    return [update for update in told.updates if isinstance(update, Retrying)]


def a_call(json: str) -> list[Any]:
    """The beginning of an answer with a call that would leave a file behind."""
    start = opened(0, "tool_use", id="toolu_1", name="Bash", input={})
    return [begun(), start, typed(0, json)]
