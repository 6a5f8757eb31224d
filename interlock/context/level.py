"""What a level of the context pipeline is: messages in, messages and tokens freed out.

The five levels share this shape, so the pipeline is a tuple and a level can be left out. A level
that has nothing to do returns the very tuple it was given, with nothing freed.
"""

from __future__ import annotations

from typing import Protocol

from attrs import frozen

from phases.world.loop import AutoCompactTracking, Loop
from phases.world.messages import Message


@frozen(kw_only=True)
class Room:
    """What a level may know: the loop, and how full the window is with what it is given."""

    loop: Loop
    size: int  # tokens of the messages as they come in, the fixed part included
    freed: int = 0  # tokens that the levels before this one have freed, in all


@frozen(kw_only=True)
class Trimmed:
    """What a level left. Only the heaviest one has tracking and cost to report."""

    messages: tuple[Message, ...]
    freed: int = 0  # tokens
    tracking: AutoCompactTracking | None = None  # None: unchanged
    cost: float | None = 0.0  # USD
    tokens: int = 0  # output tokens


class Level(Protocol):
    """One of the five."""

    @property
    def name(self) -> str: ...

    async def apply(self, messages: tuple[Message, ...], room: Room) -> Trimmed: ...
