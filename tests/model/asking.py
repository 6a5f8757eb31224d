"""Asking a model and looking at what it tells."""

from __future__ import annotations

from contextlib import aclosing

from interlock.model.anthropic import AnthropicModel
from phases.world.failures import Failure
from phases.world.messages import Message
from phases.world.ports import Failed, Model, ModelEvent, Replied
from tests.model.histories import asking, user

_IS_A_MODEL: type[Model] = AnthropicModel  # for the type checker


async def ask(model: AnthropicModel, *messages: Message) -> list[ModelEvent]:
    async with aclosing(model.ask(asking(*(messages or (user("go"),))))) as events:
        return [event async for event in events]


async def replied(model: AnthropicModel, *messages: Message) -> Replied:
    last = (await ask(model, *messages))[-1]
    assert isinstance(last, Replied), last
    return last


async def failed(model: AnthropicModel, *messages: Message) -> Failure:
    last = (await ask(model, *messages))[-1]
    assert isinstance(last, Failed), last
    return last.failure
