"""What differs between models: how much each can write, and whether it goes on from a beginning.

A copy of the public model table, of its own: the judge must not share an error with the client.
A model that is not in it is judged by what holds for all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import attrs

from interlock.scripted.rules.walk import Asked, Problems


@attrs.frozen
class _Facts:
    most_output: int
    prefill: bool = True  # a last message of the assistant is gone on from


# The first pattern that fits counts.
_MODELS: tuple[tuple[re.Pattern[str], _Facts], ...] = tuple(
    (re.compile(pattern), facts)
    for pattern, facts in (
        (r"claude-(fable|opus|sonnet|haiku)-5\b", _Facts(128_000, prefill=False)),
        (r"claude-opus-4-[678]\b", _Facts(128_000, prefill=False)),
        (r"claude-sonnet-4-6\b", _Facts(64_000, prefill=False)),
        (r"claude-(opus-4-5|sonnet-4|haiku-4-5|3-7-sonnet)\b", _Facts(64_000)),
        (r"claude-opus-4\b", _Facts(32_000)),
        (r"claude-3-5-", _Facts(8_192)),
        (r"claude-3-", _Facts(4_096)),
    )
)


def output_problems(body: Mapping[str, Any]) -> Problems:
    """`max_tokens` within what the model can write."""
    model, asked = body.get("model"), body.get("max_tokens")
    facts = _facts(model) if isinstance(model, str) else None
    if facts is not None and isinstance(asked, int) and asked > facts.most_output:
        yield (
            f"max_tokens: {asked} > {facts.most_output}, which is the maximum allowed number of"
            f" output tokens for {model}"
        )


def prefill_problems(asked: Asked) -> Problems:
    """The user has the last word, where the model or its thinking asks for that.

    A reply that the server itself paused is gone on from all the same.
    """
    last = asked.turns[-1] if asked.turns else None
    if last is None or last.role != "assistant" or not last.blocks:
        return
    if asked.signatures.paused(last.blocks[-1].block):
        return
    facts = _facts(str(asked.body["model"]))
    thinks = (asked.body.get("thinking") or {}).get("type", "disabled") != "disabled"
    if thinks or (facts is not None and not facts.prefill):
        yield (
            "This model does not support assistant message prefill. The conversation must end"
            " with a user message."
        )


def _facts(model: str) -> _Facts | None:
    return next((facts for pattern, facts in _MODELS if pattern.search(model)), None)
