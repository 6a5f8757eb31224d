"""What stands before the conversation in every request, and the model client that sends it.

System prompt, tools and the notes of the project: the same bytes in each request of an agent, so
that they are read from the cache.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

from attrs import frozen

from interlock import memory
from interlock.context.inject import PROJECT, user_context
from interlock.context.microcompact import context_edits
from interlock.model import AnthropicModel
from interlock.options import Options
from interlock.prompt import environment_block, system_blocks
from interlock.settings import Settings
from interlock.tools import Tool
from phases.world.messages import Json, encoded
from phases.world.ports import Clock
from phases.world.size import BYTES_PER_TOKEN


@frozen(kw_only=True)
class Front:
    """What stands before the conversation in every request."""

    system: tuple[str, ...]
    specs: tuple[Mapping[str, Json], ...]  # of the tools
    notes: str | None
    notes_name: str  # for a person
    environment: str  # what the system prompt says of the place of work

    @property
    def tokens(self) -> int:
        """How large it is, estimated."""
        texts = (*self.system, self.notes or "")
        size = sum(len(text.encode()) for text in texts) + len(encoded(self.specs))
        return round(size / BYTES_PER_TOKEN)


async def front_of(
    options: Options, settings: Settings, cwd: Path, offered: Mapping[str, Tool]
) -> Front:
    notes = memory.found(cwd, settings.home)
    files = ", ".join(str(note.path) for note in notes)
    environment = await environment_for(cwd)
    return Front(
        system=system_blocks(options, environment),
        specs=tuple(tool.wire() for tool in offered.values()),
        notes=user_context({PROJECT: memory.told(notes)}),
        notes_name=f"the notes of {files}",
        environment=environment,
    )


def notes_for(cwd: Path, settings: Settings) -> str | None:
    """The notes of another folder than the session's."""
    return user_context({PROJECT: memory.told(memory.found(cwd, settings.home))})


async def environment_for(cwd: Path) -> str:
    """What is told of the folder as it is now."""
    return await environment_block(cwd, now=time.time())


def adapter_of(options: Options, settings: Settings, front: Front, clock: Clock) -> AnthropicModel:
    return AnthropicModel(
        base_url=settings.base_url,
        api_key=settings.api_key,
        auth_token=settings.auth_token,
        system=front.system,
        tools=front.specs,
        limits=settings.limits,
        thinking_budget=settings.max_thinking_tokens or None,
        raw_events=options.include_partial_messages,
        context_management=edits_of(settings, front.specs),
        user_context=front.notes,
        context_name=front.notes_name,
        clock=clock,
    )


def edits_of(
    settings: Settings, specs: tuple[Mapping[str, Json], ...]
) -> Mapping[str, Json] | None:
    if not settings.features.context_editing:
        return None
    return context_edits(settings.limits, [spec["name"] for spec in specs])
