"""The answer is whole: ask the stop hooks whether the run may end."""

from __future__ import annotations

from typing import Protocol

from phases.world.loop import Loop
from phases.world.outcomes import HooksRan
from phases.world.ports import Interrupt, StopHooks


class StopHooksPorts(Protocol):
    @property
    def interrupt(self) -> Interrupt: ...
    @property
    def stop_hooks(self) -> StopHooks | None: ...


async def stop_hooks(loop: Loop, ports: StopHooksPorts) -> HooksRan:
    """Run them; without any, nothing stands in the way."""
    outcome = HooksRan()
    if ports.stop_hooks is not None:
        with ports.interrupt.scope():
            spoken = await ports.stop_hooks.stop(loop)
            outcome = HooksRan(prevented=spoken.prevented, blocking_errors=spoken.blocking_errors)
    if ports.interrupt.requested:
        return HooksRan(aborted=True)
    return outcome
