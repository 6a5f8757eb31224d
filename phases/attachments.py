"""Station 7: what arrived while the tools ran and belongs into the next request."""

from __future__ import annotations

from typing import Protocol

from phases.world.loop import Loop
from phases.world.outcomes import Attached
from phases.world.ports import Attachments, Interrupt


class AttachmentsPorts(Protocol):
    @property
    def interrupt(self) -> Interrupt: ...
    @property
    def attachments(self) -> Attachments | None: ...


async def attachments(loop: Loop, ports: AttachmentsPorts) -> Attached:
    """Gather queued input and finished prefetches; wait for nothing that is not there."""
    if ports.attachments is None:
        return Attached(aborted=ports.interrupt.requested)
    gathered = await ports.attachments.gather(loop)
    return Attached(attachments=gathered, aborted=ports.interrupt.requested)
