"""Station 4: straight after the stream, has the user asked to stop?"""

from __future__ import annotations

from typing import Protocol

from phases.world.loop import Loop
from phases.world.outcomes import Checked
from phases.world.ports import Interrupt


class AbortCheckPorts(Protocol):
    @property
    def interrupt(self) -> Interrupt: ...


async def abort_check(loop: Loop, ports: AbortCheckPorts) -> Checked:
    """Look at the interrupt once; nothing is sent or run after it was seen (law 10)."""
    return Checked(aborted=ports.interrupt.requested)
