"""Prices: known families by any of their names, and no guess for the others."""

from __future__ import annotations

import pytest

from interlock.model.prices import facts, price
from phases.world.usage import Usage

MILLION = 1_000_000


@pytest.mark.parametrize(
    "model",
    [
        "claude-sonnet-4-5",
        "claude-sonnet-4-5-20250929",
        "claude-sonnet-4-5-latest",
        "claude-sonnet-4-0",
        "anthropic.claude-sonnet-4-20250514-v1:0",
        "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "claude-sonnet-4@20250514",
        "claude-3-5-sonnet-20241022",
        "claude-3-7-sonnet-latest",
    ],
)
def test_a_family_is_known_by_any_of_its_names(model: str) -> None:
    usage = Usage(
        input_tokens=MILLION,
        output_tokens=MILLION,
        cache_creation_input_tokens=MILLION,
        cache_read_input_tokens=MILLION,
    )

    assert price(model, usage) == pytest.approx(3 + 15 + 3.75 + 0.30)


@pytest.mark.parametrize(
    "model", ["model-x", "", "claude-sonnet-4-9", "claude-sonnet-9", "claude-opus-4-5-fast"]
)
def test_an_unknown_model_has_no_price_not_a_price_of_zero(model: str) -> None:
    assert price(model, Usage(input_tokens=1)) is None
    assert facts(model) is None


def test_nothing_costs_nothing() -> None:
    assert price("claude-opus-4-5", Usage()) == 0.0
