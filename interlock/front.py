"""What stands before the conversation in every request, and the model client that sends it.

System prompt, tools, notes of the project and the list of skills: the same bytes in each request
of an agent, so that they are read from the cache.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from attrs import frozen

from interlock.context.microcompact import context_edits
from interlock.knowledge import Knowledge
from interlock.ledger import Ledger
from interlock.model import AnthropicModel
from interlock.offer import Offer
from interlock.options import Asking, Options, Thinking
from interlock.prompt import environment_block, system_blocks, system_parts
from interlock.settings import Settings
from phases.world.messages import Json
from phases.world.ports import Clock
from phases.world.size import BYTES_PER_TOKEN


@frozen(kw_only=True)
class Front:
    """What stands before the conversation in every request."""

    system: tuple[str, ...]
    notes: str | None
    notes_name: str  # for a person
    environment: str  # what the system prompt says of the place of work

    @property
    def tokens(self) -> int:
        """How large it is without the tools, estimated."""
        texts = (*self.system, self.notes or "")
        return round(sum(len(text.encode()) for text in texts) / BYTES_PER_TOKEN)


@frozen(kw_only=True)
class Line:
    """One agent's line to the model."""

    offer: Offer
    front: Front
    adapter: AnthropicModel
    ledger: Ledger  # what is asked goes through it, and so is booked


async def front_of(options: Options, cwd: Path, offer: Offer, knowledge: Knowledge) -> Front:
    """The main agent's."""
    environment = await environment_for(cwd)
    specs, offered = offer.specs(), offer.tools
    memory = knowledge.in_system(offered)
    knowledge.weigh(system_parts(options, environment, memory), offered, specs)
    return Front(
        system=system_blocks(options, environment, memory=memory),
        notes=knowledge.in_front(offered),
        notes_name=knowledge.in_front_of,
        environment=environment,
    )


async def environment_for(cwd: Path) -> str:
    """What is told of the folder as it is now."""
    return await environment_block(cwd, now=time.time())


def adapter_of(
    options: Options, settings: Settings, front: Front, offer: Offer, clock: Clock
) -> AnthropicModel:
    asking = options.asking
    return AnthropicModel(
        base_url=settings.base_url,
        api_key=settings.api_key,
        auth_token=settings.auth_token,
        system=front.system,
        tools=offer.specs,
        undefer=offer.api.refuse,
        limits=settings.limits,
        thinking_budget=asking.thinking_budget or settings.max_thinking_tokens or None,
        thinking_off=_thinks_not(asking, settings),
        thinking_display=asking.thinking_display,
        output_config=_output_config(asking),
        betas=asking.betas,
        raw_events=options.include_partial_messages,
        context_management=edits_of(settings, offer.specs()),
        user_context=front.notes,
        context_name=front.notes_name,
        clock=clock,
    )


def _thinks_not(asking: Asking, settings: Settings) -> bool:
    if asking.thinking is not None or asking.thinking_budget is not None:
        return asking.thinking is Thinking.DISABLED or asking.thinking_budget == 0
    return settings.max_thinking_tokens == 0


def _output_config(asking: Asking) -> Mapping[str, Json] | None:
    config: dict[str, Json] = {}
    if asking.effort is not None:
        config["effort"] = asking.effort
    if asking.task_budget is not None:
        config["task_budget"] = {"type": "tokens", "total": asking.task_budget}
    return config or None


def edits_of(settings: Settings, specs: Sequence[Mapping[str, Json]]) -> Mapping[str, Json] | None:
    if not settings.features.context_editing:
        return None
    return context_edits(settings.limits, [spec["name"] for spec in specs])
