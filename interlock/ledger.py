"""What a run uses up, counted where every answer of the model passes: once per reply.

A port around a port: the loop books cost and tokens for its own decisions, this books them per
model for the bill. Failed attempts and helper calls pass here too, so nothing is forgotten.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, contextmanager, nullcontext
from time import monotonic
from uuid import uuid4

from attrs import define, field, frozen

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


@frozen(kw_only=True)
class Payment:
    """What one request cost, as far as it is known; the last one of a request counts."""

    request: str
    model: str
    usage: Usage
    cost: float | None
    total: float | None  # of the session, with this


def _nowhere(payment: Payment) -> None:
    """Nobody keeps it."""


@define(eq=False)
class Aside:
    """What all others have spent since the last look. A budget is one for the whole tree, so
    each run is told of what it did not spend itself."""

    of: Ledger
    spent: Account = field(factory=Account)

    def taken(self) -> Account:
        spent, self.spent = self.spent, Account()
        return spent


@define(eq=False)
class Ledger:
    """Implements the Model port; `accounts` are the session's, `usage` is this prompt's.

    `helpers` answer requests of their purpose in place of `model`, on the same books. A child's
    ledger has its parent's `above`: what it pays stands in both. `slot` is held while a request
    is under way, and only then: who waits for a child holds none, so none waits in vain. `paid`
    of the root is told at once of what a request costs: when its answer begins, and when it ends.
    """

    model: Model
    above: Ledger | None = None
    slot: AbstractAsyncContextManager[object] = field(factory=nullcontext)
    seconds: Callable[[], float] = monotonic
    helpers: Mapping[str, Model] = field(factory=dict)
    accounts: dict[str, Account] = field(factory=dict)
    paid: Callable[[Payment], None] = _nowhere
    usage: Usage = field(factory=Usage)
    api_seconds: float = 0.0
    last_failure: Failure | None = None
    aside: list[Aside] = field(factory=list)  # of the root: who is told what others spend

    def new_prompt(self) -> None:
        self.usage, self.api_seconds, self.last_failure = Usage(), 0.0, None

    @property
    def cost(self) -> float | None:
        """USD of the session; None where a price is not known."""
        costs = [account.cost for account in self.accounts.values()]
        known = [cost for cost in costs if cost is not None]
        return sum(known) if len(known) == len(costs) else None

    async def ask(self, request: Request) -> AsyncGenerator[ModelEvent, None]:
        async with self.slot, aclosing(self._asked(request)) as events:
            async for event in events:
                yield event

    async def _asked(self, request: Request) -> AsyncGenerator[ModelEvent, None]:
        began = self.seconds()
        id_ = uuid4().hex
        counted: Begun | None = None  # not booked yet: most answers go on to say it better
        try:
            model = self.helpers.get(request.purpose, self.model)
            async with aclosing(model.ask(request)) as events:
                async for event in events:
                    if isinstance(event, Begun):
                        counted = event
                        self._expect(id_, request.model, event)
                    elif isinstance(event, Replied | Failed):
                        self._book(id_, request, event, counted)
                        counted = None
                    yield event
        finally:
            if counted is not None and counted.usage != Usage():  # cut off: the prompt was read
                self._pay(id_, request, counted.usage, counted.cost)
            self._waited(self.seconds() - began)

    def _book(
        self, id_: str, request: Request, event: Replied | Failed, counted: Begun | None
    ) -> None:
        failure = event.failure if isinstance(event, Failed) else None
        if request.purpose not in self.helpers:  # how a helper fared is not how the run did
            self.last_failure = failure
        if failure is None or event.usage != Usage():  # else refused before anything was counted
            self._pay(id_, request, event.usage, event.cost)
        elif counted is not None:  # what was expected is taken back
            self._tell(id_, request.model, Usage(), 0.0, self.root.cost)

    def _pay(self, id_: str, request: Request, usage: Usage, cost: float | None) -> None:
        for ledger in self._line():
            ledger.usage += usage
            ledger.accounts.setdefault(request.model, Account()).book(usage, cost)
        for one in self.root.aside:
            if one.of is not self:
                one.spent.book(usage, cost)
        self._tell(id_, request.model, usage, cost, self.root.cost)

    def tell(self, payment: Payment) -> None:
        """Of what is being paid in another process: it is in no account yet."""
        self._tell(payment.request, payment.model, payment.usage, payment.cost, self.root.cost)

    def take(self, payment: Payment) -> None:
        """Book what another process has paid for us, and has told of before."""
        for ledger in self._line():
            ledger.usage += payment.usage
            account = ledger.accounts.setdefault(payment.model, Account())
            account.book(payment.usage, payment.cost)
        for one in self.root.aside:
            if one.of is not self:
                one.spent.book(payment.usage, payment.cost)
        self.tell(payment)

    def _expect(self, id_: str, model: str, begun: Begun) -> None:
        """It is in no account yet, but a kill would leave nobody who could book it."""
        if begun.usage != Usage():
            known, more = self.root.cost, begun.cost
            total = None if known is None or more is None else known + more
            self._tell(id_, model, begun.usage, more, total)

    def _tell(
        self, id_: str, model: str, usage: Usage, cost: float | None, total: float | None
    ) -> None:
        payment = Payment(request=id_, model=model, usage=usage, cost=cost, total=total)
        self.root.paid(payment)

    def _waited(self, seconds: float) -> None:
        for ledger in self._line():
            ledger.api_seconds += seconds

    def _line(self) -> Iterator[Ledger]:
        """This one and all above it."""
        ledger: Ledger | None = self
        while ledger is not None:
            yield ledger
            ledger = ledger.above

    @property
    def root(self) -> Ledger:
        *_, root = self._line()
        return root

    @contextmanager
    def beside(self) -> Iterator[Aside]:
        """Hear, for as long as a run lasts, what the other agents of the session spend."""
        one = Aside(self)
        self.root.aside.append(one)
        try:
            yield one
        finally:
            self.root.aside.remove(one)
