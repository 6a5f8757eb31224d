"""Station 8: the turn is over. Whether there is another is the table's to decide."""

from __future__ import annotations

from phases.world.loop import Loop
from phases.world.outcomes import TurnDone


async def continuation(loop: Loop, ports: object) -> TurnDone:
    """Report that the turn is done: the limit it is held against is already in the loop."""
    return TurnDone()
