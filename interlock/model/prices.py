"""What models cost and how much they hold: a copy of the public price list, taken 30 Nov 2026.

A copy grows old: it serves budgets and the line at the end of a run, not accounting. A model
that is not in it has no known price, which is not the same as a price of zero.
"""

from __future__ import annotations

import re

from attrs import frozen

from phases.world.usage import Usage

_PER = 1_000_000


@frozen
class ModelFacts:
    """Prices in USD per million tokens, sizes in tokens."""

    input: float
    output: float
    cache_write: float  # entries that live five minutes
    cache_read: float
    window: int
    most_output: int
    adaptive: bool = False  # thinks as it sees fit; a budget for thinking is refused


# The first pattern that a name begins with counts, so the longer ones stand first.
_FACTS: tuple[tuple[str, ModelFacts], ...] = (
    ("claude-fable-5-1", ModelFacts(10.0, 50.0, 12.50, 0.25, 1_000_000, 128_000, adaptive=True)),
    ("claude-fable-5", ModelFacts(10.0, 50.0, 12.50, 1.0, 1_000_000, 128_000, adaptive=True)),
    ("claude-opus-5-5", ModelFacts(4.0, 20.0, 5.0, 0.20, 1_000_000, 128_000, adaptive=True)),
    ("claude-opus-5", ModelFacts(5.0, 25.0, 6.25, 0.50, 1_000_000, 128_000, adaptive=True)),
    ("claude-sonnet-5-5", ModelFacts(2.0, 10.0, 2.50, 0.10, 1_000_000, 128_000, adaptive=True)),
    ("claude-sonnet-5", ModelFacts(2.0, 10.0, 2.50, 0.20, 1_000_000, 128_000, adaptive=True)),
    ("claude-haiku-5-5", ModelFacts(0.10, 0.50, 0.125, 0.01, 1_000_000, 128_000, adaptive=True)),
    ("claude-opus-4-8", ModelFacts(5.0, 25.0, 6.25, 0.50, 1_000_000, 128_000)),
    ("claude-opus-4-7", ModelFacts(5.0, 25.0, 6.25, 0.50, 1_000_000, 128_000)),
    ("claude-opus-4-6", ModelFacts(5.0, 25.0, 6.25, 0.50, 1_000_000, 128_000)),
    ("claude-sonnet-4-6", ModelFacts(3.0, 15.0, 3.75, 0.30, 1_000_000, 64_000)),
    ("claude-opus-4-5", ModelFacts(5.0, 25.0, 6.25, 0.50, 200_000, 64_000)),
    ("claude-opus-4", ModelFacts(15.0, 75.0, 18.75, 1.50, 200_000, 32_000)),  # 4 and 4.1
    ("claude-sonnet-4-5", ModelFacts(3.0, 15.0, 3.75, 0.30, 200_000, 64_000)),
    ("claude-sonnet-4", ModelFacts(3.0, 15.0, 3.75, 0.30, 200_000, 64_000)),
    ("claude-haiku-4-5", ModelFacts(1.0, 5.0, 1.25, 0.10, 200_000, 64_000)),
    ("claude-3-7-sonnet", ModelFacts(3.0, 15.0, 3.75, 0.30, 200_000, 64_000)),
    ("claude-3-5-sonnet", ModelFacts(3.0, 15.0, 3.75, 0.30, 200_000, 8_192)),
    ("claude-3-5-haiku", ModelFacts(0.80, 4.0, 1.0, 0.08, 200_000, 8_192)),
    ("claude-3-opus", ModelFacts(15.0, 75.0, 18.75, 1.50, 200_000, 4_096)),
    ("claude-3-haiku", ModelFacts(0.25, 1.25, 0.30, 0.03, 200_000, 4_096)),
)
# What may follow a pattern: an alias or a date, never another version.
_SUFFIX = r"(-[01])?(-latest|[-@]\d{8})?(-v\d+(:\d+)?)?\Z"
_KNOWN = tuple((re.compile(re.escape(name) + _SUFFIX), facts) for name, facts in _FACTS)


def facts(model: str) -> ModelFacts | None:
    """What is known of a model, or None."""
    # Other doors to the same models put a region and a maker before the name.
    name = model.lower().rpartition("anthropic.")[2].rpartition("/")[2]
    return next((known for pattern, known in _KNOWN if pattern.match(name)), None)


# One model is dearer for long prompts, for every token of such a request.
_LONG_PROMPT = 100_000
_DEARER_WHEN_LONG = (("claude-haiku-5-5", 5.0),)


def price(model: str, usage: Usage) -> float | None:
    """What a reply cost in USD; None where the price is not known."""
    known = facts(model)
    if known is None:
        return None
    dearer = next((by for name, by in _DEARER_WHEN_LONG if name in model.lower()), 1.0)
    factor = dearer if usage.prompt_tokens > _LONG_PROMPT else 1.0
    return (
        factor
        * (
            usage.input_tokens * known.input
            + usage.output_tokens * known.output
            + usage.cache_creation_input_tokens * known.cache_write
            + usage.cache_read_input_tokens * known.cache_read
        )
        / _PER
    )
