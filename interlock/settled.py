"""A model that is asked only when all that was said is as safe as the policy wants it.

A port around a port, so that every request passes here: retries, summaries, and the next turn's.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator

from attrs import frozen

from interlock.durability import Moment
from interlock.sessions import Transcript
from phases.world.ports import Model, ModelEvent, Request


@frozen
class Settled:
    """Implements the Model port. Raises TranscriptError where the disk fails."""

    model: Model
    transcript: Transcript

    def ask(self, request: Request) -> AsyncGenerator[ModelEvent, None]:
        self.transcript.settle(Moment.REQUEST)
        return self.model.ask(request)
