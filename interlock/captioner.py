"""The small model that writes captions: a connection of its own beside the main model's.

Its own system prompt and no tools: in the main model's place it would spoil the cached prefix.
"""

from __future__ import annotations

from attrs import evolve

from interlock.inbox import CAPTION_SYSTEM
from interlock.model import AnthropicModel
from interlock.settings import Settings
from phases.world.ports import Clock

_LONGEST_S = 30.0  # a caption that takes longer is no longer about what is on the screen


def captioner(settings: Settings, clock: Clock | None = None) -> AnthropicModel:
    """The model port for requests of purpose `summary`; whoever opens it closes it."""
    limits = settings.limits
    return AnthropicModel(
        base_url=settings.base_url,
        api_key=settings.api_key,
        auth_token=settings.auth_token,
        system=(CAPTION_SYSTEM,),
        limits=evolve(limits, request_timeout_s=min(limits.request_timeout_s, _LONGEST_S)),
        clock=clock,
    )
