"""Station 2: the limits in money and size, before anything is sent. Waits for nothing."""

from __future__ import annotations

from phases.world.loop import Loop
from phases.world.outcomes import Weighed


async def blocking_check(loop: Loop, ports: object) -> Weighed:
    """Report that the limits are to be looked at: what they need is already in the loop."""
    return Weighed()
