"""Wait before another attempt at the same request."""

from __future__ import annotations

from typing import Protocol

from phases.world.loop import Loop
from phases.world.outcomes import Waited
from phases.world.ports import Clock, Interrupt
from phases.world.updates import Retrying, Show


class BackoffPorts(Protocol):
    @property
    def interrupt(self) -> Interrupt: ...
    @property
    def clock(self) -> Clock: ...
    @property
    def show(self) -> Show: ...


async def backoff(loop: Loop, ports: BackoffPorts) -> Waited:
    """Show the wait, then wait; an interrupt breaks it."""
    failure = loop.now.withheld
    if failure is None:
        raise RuntimeError("the table led to backoff without a failure")
    delay = delay_of(loop, ports.clock.jitter())
    ports.show(
        Retrying(
            failure=failure,
            attempt=loop.spent.attempts,
            max_retries=loop.run.limits.max_retries,
            delay=delay,
        )
    )
    with ports.interrupt.scope():
        await ports.clock.sleep(delay)
    return Waited(seconds=delay, aborted=ports.interrupt.requested)


def delay_of(loop: Loop, jitter: float) -> float:
    """Seconds to wait: doubling and capped, never less than the server asked for.

    The jitter only adds (up to a quarter): many agents told the same `retry-after` would else
    come back in the same moment, and none may come back early.
    """
    limits = loop.run.limits
    exponent = min(max(loop.spent.attempts - 1, 0), 30)
    own = min(limits.backoff_first_s * 2.0**exponent, limits.backoff_cap_s)
    asked = (loop.now.withheld.retry_after or 0.0) if loop.now.withheld else 0.0
    return max(own, asked) * (1.0 + jitter / 4.0)
