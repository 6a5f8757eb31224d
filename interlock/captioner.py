"""The small model, for captions of tools and for what of the memory may help with a prompt.

Each on a connection of its own beside the main model's, with its own system prompt and no tools:
in the main model's place it would spoil the cached prefix.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing

from attrs import evolve, frozen

from interlock.inbox import CAPTION_SYSTEM
from interlock.memory import Topic, manifest
from interlock.model import AnthropicModel
from interlock.settings import Settings
from phases.world.messages import Kind, Message, Text
from phases.world.ports import Clock, Ids, Interrupt, Model, Replied, Request

_LONGEST_S = 30.0  # a caption that takes longer is no longer about what is on the screen
_MEMORY = "memory"  # the purpose of a request
_MOST_TOKENS = 256
_MOST_PROMPT = 2_000  # characters of the prompt that it is shown
_CHOOSE = """\
You choose which notes a coding agent should be shown for a task. You are given the task, and a \
list of files with a line about each. Answer with the names of at most three files that surely \
help with this task, one a line, the most helpful first, and nothing else; with the word NONE, if \
none does."""


def captioner(settings: Settings, clock: Clock | None = None) -> AnthropicModel:
    """The model port for requests of purpose `summary`; whoever opens it closes it."""
    return _small(settings, CAPTION_SYSTEM, clock)


def small_models(settings: Settings, clock: Clock | None = None) -> dict[str, AnthropicModel]:
    """The model ports by purpose; none without a small model. Whoever opens them closes them."""
    if settings.small_model is None:
        return {}
    return {"summary": captioner(settings, clock), _MEMORY: _small(settings, _CHOOSE, clock)}


@frozen(kw_only=True)
class Chooser:
    """Asks the small model which topics of the memory fit a prompt."""

    model: Model
    name: str
    ids: Ids
    interrupt: Interrupt

    async def __call__(self, prompt: str, topics: Sequence[Topic]) -> Sequence[str] | None:
        """The names it chose; None where it did not answer."""
        if self.interrupt.requested:  # no further request leaves
            return None
        text = f"The task:\n{prompt[:_MOST_PROMPT]}\n\nThe files:\n{manifest(topics)}"
        said = Message(id=self.ids.new(), role="user", kind=Kind.NOTE, content=(Text(text),))
        request = Request(
            model=self.name, messages=(said,), max_tokens=_MOST_TOKENS, purpose=_MEMORY
        )
        async with aclosing(self.model.ask(request)) as events:
            async for event in events:
                if isinstance(event, Replied):
                    lines = event.reply.message.text.splitlines()
                    return [line.strip().removeprefix("- ").strip("`") for line in lines]
        return None


def chooser(settings: Settings, model: Model, ids: Ids, interrupt: Interrupt) -> Chooser | None:
    """Who chooses from the memory; None: nobody, and words decide."""
    if settings.small_model is None:
        return None
    return Chooser(model=model, name=settings.small_model, ids=ids, interrupt=interrupt)


def _small(settings: Settings, system: str, clock: Clock | None) -> AnthropicModel:
    limits = settings.limits
    return AnthropicModel(
        base_url=settings.base_url,
        api_key=settings.api_key,
        auth_token=settings.auth_token,
        system=(system,),
        limits=evolve(limits, request_timeout_s=min(limits.request_timeout_s, _LONGEST_S)),
        clock=clock,
    )
