"""The bill: each answer is booked once, by the last numbers that came."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest
from attrs import frozen

from interlock.ledger import Account, Ledger
from phases.world.failures import Failure, FailureKind
from phases.world.ports import Begun, Failed, ModelEvent, Request, TextDelta
from phases.world.usage import Usage

ASKED = Request(model="m", messages=(), max_tokens=9)
PROMPT = Usage(input_tokens=50_000, output_tokens=1)
WHOLE = Usage(input_tokens=50_000, output_tokens=7)
BEGUN = Begun(usage=PROMPT, cost=0.15)
FAILED = Failed(failure=Failure(kind=FailureKind.CUT, message="cut"), usage=WHOLE, cost=0.25)


@frozen
class Told:
    """A model that tells these events, and breaks where there are no more."""

    events: tuple[ModelEvent, ...]

    async def ask(self, request: Request) -> AsyncGenerator[ModelEvent, None]:
        for event in self.events:
            yield event
        raise ConnectionError("the line broke")


async def read(ledger: Ledger, number: int) -> None:
    """Take so many events, then leave."""
    async with aclosing(ledger.ask(ASKED)) as events:
        for _ in range(number):
            await anext(events)


@pytest.mark.parametrize("number", [1, 2], ids=["at once", "in the answer"])
async def test_an_answer_that_is_left_costs_its_prompt(number: int) -> None:
    ledger = Ledger(Told((BEGUN, TextDelta("Hel"))))

    await read(ledger, number)

    assert ledger.accounts == {"m": Account(PROMPT, 0.15)}
    assert ledger.usage == PROMPT


async def test_an_answer_that_breaks_costs_its_prompt() -> None:
    ledger = Ledger(Told((BEGUN, TextDelta("Hel"))))

    with pytest.raises(ConnectionError):
        await read(ledger, 3)

    assert ledger.accounts == {"m": Account(PROMPT, 0.15)}


async def test_what_the_end_tells_replaces_what_the_beginning_told() -> None:
    ledger = Ledger(Told((BEGUN, TextDelta("Hel"), FAILED)))

    await read(ledger, 3)

    assert ledger.accounts == {"m": Account(WHOLE, 0.25)}
    assert ledger.usage == WHOLE


async def test_an_answer_that_never_began_costs_nothing() -> None:
    ledger = Ledger(Told((TextDelta("Hel"),)))

    await read(ledger, 1)

    assert ledger.accounts == {}


async def test_what_an_answer_cost_is_told_before_the_answer_goes_on() -> None:
    told: list[float | None] = []
    ledger = Ledger(Told((BEGUN, TextDelta("Hel"), FAILED)))
    ledger.booked = lambda: told.append(ledger.cost)

    await read(ledger, 2)
    before = [*told]
    ledger.model = Told((BEGUN, FAILED))
    await read(ledger, 2)

    assert before == [0.15]  # somebody left: the prompt was read all the same
    assert told == [0.15, 0.4]
