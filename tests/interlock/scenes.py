"""What the stories of the loop begin with: each edge taken by a run over scripted ports.

Phases, driver, guards and reducers are the shipped ones; what the world answers is scripted.
"""

from __future__ import annotations

from typing import Any

from attrs import evolve

from interlock.testing import Played, fails
from phases.world.failures import FailureKind
from phases.world.limits import Limits
from phases.world.messages import Message, ToolResult
from phases.world.updates import Ended

TOO_LONG = fails(FailureKind.PROMPT_TOO_LONG)
TOO_LARGE = fails(FailureKind.MEDIA_TOO_LARGE)
OVERLOADED = fails(FailureKind.OVERLOADED)
WINDOW = "model_context_window_exceeded"


def limits(**changes: Any) -> Limits:
    return evolve(Limits(), **changes)


def shown_errors(run: Played) -> list[str | None]:
    return [update.text for update in run.updates if isinstance(update, Ended) and update.error]


def results_of(messages: tuple[Message, ...]) -> set[str]:
    return {
        block.tool_use_id
        for message in messages
        for block in message.content
        if isinstance(block, ToolResult)
    }
