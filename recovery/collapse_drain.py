"""The prompt was too long: commit every staged collapse. Waits for nothing, asks no model."""

from __future__ import annotations

from typing import Protocol

from phases.world.loop import Loop
from phases.world.outcomes import Drained
from phases.world.ports import Collapse


class CollapseDrainPorts(Protocol):
    @property
    def collapse(self) -> Collapse | None: ...


async def collapse_drain(loop: Loop, ports: CollapseDrainPorts) -> Drained:
    """Commit what is staged; report how much that was."""
    if ports.collapse is None:
        return Drained(view=loop.now.view, committed=0)
    view, committed = await ports.collapse.drain(loop.now.view)
    return Drained(view=view, committed=committed)
