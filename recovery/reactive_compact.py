"""The window is full, or media were refused: have the history summarised, so the run can go on.

A thin step: how a summary is made, and what becomes of a history that has none, is the
summariser's (interlock/context/summary.py).
"""

from __future__ import annotations

from typing import Protocol

from phases.world.failures import FailureKind
from phases.world.loop import Loop
from phases.world.messages import Message
from phases.world.outcomes import Compacted
from phases.world.ports import Interrupt, Summarised, Summariser
from phases.world.size import summarised_size
from phases.world.updates import Compaction, Notice, Show

FRUITLESS = "the window was full again right after the last compactions"


class ReactiveCompactPorts(Protocol):
    @property
    def interrupt(self) -> Interrupt: ...
    @property
    def summariser(self) -> Summariser | None: ...
    @property
    def show(self) -> Show: ...


async def reactive_compact(loop: Loop, ports: ReactiveCompactPorts) -> Compacted:
    """Ask for a summary, once. The view it makes, or why there is none."""
    withheld = loop.now.withheld
    media = withheld is None or withheld.kind is not FailureKind.MEDIA_TOO_LARGE
    if ports.summariser is None:
        return Compacted(problem="no summariser is configured")
    if media and _brought_nothing(loop):
        return Compacted(problem=FRUITLESS)  # once more would only burn tokens
    made: Summarised | None = None
    with ports.interrupt.scope():
        made = await ports.summariser.summarise(
            loop, loop.now.view, trigger="reactive", media=media
        )
    if made is None:
        return Compacted(aborted=True)
    aborted = ports.interrupt.requested
    if made.view is not None and not aborted:
        _tell(loop, made, made.view, ports.show)
    elif made.problem is not None:
        text = f"The conversation could not be summarised: {made.problem}"
        ports.show(Notice("warning", text))
    return Compacted(
        view=None if aborted else made.view,
        problem=made.problem,
        aborted=aborted,
        cost=made.cost,
        tokens=made.tokens,
    )


def _brought_nothing(loop: Loop) -> bool:
    tracking, most = loop.now.tracking, loop.run.limits.max_fruitless_compactions
    return max(tracking.fruitless, tracking.fruitless_now) >= most


def _tell(loop: Loop, made: Summarised, view: tuple[Message, ...], show: Show) -> None:
    if made.problem is not None:
        show(Notice("warning", f"The conversation was cut without a summary: {made.problem}"))
    size, fixed = loop.now.size, loop.run.fixed_tokens
    after = summarised_size(view, of=loop.now.view, size=size, fixed=fixed)
    show(Compaction("auto", size, after))
