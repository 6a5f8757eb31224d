"""What a run uses up, counted where every answer of the model passes: once per reply.

A port around a port: the loop books cost and tokens for its own decisions, this books them per
model for the bill. Failed attempts and helper calls pass here too, so nothing is forgotten.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from time import monotonic

from attrs import define, field

from phases.world.failures import Failure
from phases.world.ports import Begun, Failed, Model, ModelEvent, Replied, Request
from phases.world.usage import Usage


@define
class Account:
    """One model's use. `cost` is None once something without a known price is in it."""

    usage: Usage = field(factory=Usage)
    cost: float | None = 0.0

    def book(self, usage: Usage, cost: float | None) -> None:
        self.usage += usage
        self.cost = None if self.cost is None or cost is None else self.cost + cost


@define
class Ledger:
    """Implements the Model port; `accounts` are the session's, `usage` is this prompt's.

    `helpers` answer requests of their purpose in place of `model`, on the same books. `booked` is
    told before the answer goes on, so that what a reply cost can be kept before the reply is.
    """

    model: Model
    seconds: Callable[[], float] = monotonic
    helpers: Mapping[str, Model] = field(factory=dict)
    accounts: dict[str, Account] = field(factory=dict)
    usage: Usage = field(factory=Usage)
    api_seconds: float = 0.0
    last_failure: Failure | None = None
    booked: Callable[[], object] = lambda: None

    def new_prompt(self) -> None:
        self.usage, self.api_seconds, self.last_failure = Usage(), 0.0, None

    @property
    def cost(self) -> float | None:
        """USD of the session; None where a price is not known."""
        costs = [account.cost for account in self.accounts.values()]
        known = [cost for cost in costs if cost is not None]
        return sum(known) if len(known) == len(costs) else None

    async def ask(self, request: Request) -> AsyncGenerator[ModelEvent, None]:
        began = self.seconds()
        counted: Begun | None = None  # not booked yet: most answers go on to say it better
        try:
            model = self.helpers.get(request.purpose, self.model)
            async with aclosing(model.ask(request)) as events:
                async for event in events:
                    if isinstance(event, Begun):
                        counted = event
                    elif isinstance(event, Replied | Failed):
                        counted = None
                        self._book(request, event)
                    yield event
        finally:
            if counted is not None and counted.usage != Usage():  # cut off: the prompt was read
                self._pay(request, counted.usage, counted.cost)
            self.api_seconds += self.seconds() - began

    def _book(self, request: Request, event: Replied | Failed) -> None:
        failure = event.failure if isinstance(event, Failed) else None
        if request.purpose not in self.helpers:  # how a helper fared is not how the run did
            self.last_failure = failure
        if failure is None or event.usage != Usage():  # else refused before anything was counted
            self._pay(request, event.usage, event.cost)

    def _pay(self, request: Request, usage: Usage, cost: float | None) -> None:
        self.usage += usage
        self.accounts.setdefault(request.model, Account()).book(usage, cost)
        self.booked()
