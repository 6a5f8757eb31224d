"""The main agent's line to the model, opened; and where it is written down what that costs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import anyio

from interlock.assembly.basis import Basis
from interlock.assembly.equipment import Equipment
from interlock.captioner import small_models
from interlock.front import Line, adapter_of, front_of
from interlock.ledger import Ledger
from interlock.offer import offer_of
from interlock.settled import Settled
from interlock.spending import SpendingFile


@asynccontextmanager
async def connected(basis: Basis, equipment: Equipment) -> AsyncIterator[Line]:
    """Leaving closes the connections, of the main model and of the small one."""
    settings, transcript = basis.settings, basis.transcript
    async with AsyncExitStack() as stack:
        offer = offer_of(settings, equipment.tools, basis.start.state.loaded)
        front = await front_of(basis.options, basis.cwd, offer, equipment.knowledge)
        adapter = adapter_of(basis.options, settings, front, offer, basis.clock)
        helpers = small_models(settings, basis.clock)
        for model in (adapter, *helpers.values()):
            stack.push_async_callback(model.aclose)
        costs = SpendingFile(basis.paths.costs, transcript.disk)
        transcript.beside = costs.sync
        ledger = Ledger(
            Settled(adapter, transcript),
            slot=anyio.Semaphore(settings.limits.max_concurrent_requests),
            helpers=helpers,
            accounts=dict(basis.start.spent),
            paid=costs.add,
        )
        yield Line(offer=offer, front=front, adapter=adapter, ledger=ledger)
