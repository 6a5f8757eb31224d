"""Histories summarised by a scripted model."""

from __future__ import annotations

from typing import Any

import anyio
from attrs import frozen

from interlock.context.keepsakes import Keepsakes
from interlock.context.smaller import weight
from interlock.context.summary import ModelSummariser
from interlock.testing import Answer, FakeClock, ScriptedModel, SequentialIds, fails
from phases.world.failures import FailureKind
from phases.world.loop import Loop
from phases.world.messages import Media, Message, Text, ToolResult
from phases.world.ports import Summarised
from tests.context.sessions import loop_of

TOO_LONG = fails(FailureKind.PROMPT_TOO_LONG)
PICTURE = Media("image", "image/png", "x" * 400)
Messages = tuple[Message, ...]


@frozen(kw_only=True)
class Made:
    """A summary that was asked for, over a scripted model."""

    outcome: Summarised
    model: ScriptedModel
    clock: FakeClock

    @property
    def view(self) -> Messages:
        assert self.outcome.view is not None
        return self.outcome.view

    @property
    def sizes(self) -> list[int]:
        return [weight(request.messages) for request in self.model.requests]


def summarised(
    view: Messages,
    *answers: Answer,
    trigger: str = "reactive",
    loop: Loop | None = None,
    keepsakes: tuple[Keepsakes, ...] = (),
    **more: Any,
) -> Made:
    model, clock = ScriptedModel(list(answers), SequentialIds()), FakeClock()
    port = ModelSummariser(model=model, ids=SequentialIds(), clock=clock, keepsakes=keepsakes)

    async def ask() -> Summarised:
        return await port.summarise(loop or loop_of(view), view, trigger=trigger, **more)

    return Made(outcome=anyio.run(ask), model=model, clock=clock)


def words(messages: Messages) -> str:
    """All that these messages say, results included."""
    return "\n".join(
        part.text
        for message in messages
        for block in message.content
        for part in (block.content if isinstance(block, ToolResult) else (block,))
        if isinstance(part, Text)
    )
