"""What the context pipeline asks of the world, handed on, and noted while a run is recorded.

The pipeline lives as long as its session and a tape as long as a run: between two runs, and where
nothing is recorded, all is handed on as it is.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from attrs import define, field, frozen

from interlock.context.keepsakes import Keepsake, Keepsakes
from interlock.context.surroundings import Consent, Shelf, Surroundings
from interlock.recording.tape import Tape
from interlock.recording.wrapped import asked
from phases.world.loop import ToolUseContext
from phases.world.ports import Clock, Ids, Model, ModelEvent, Request

T = TypeVar("T")


@define
class Spool:
    """The tape of the run under way, if there is one."""

    tape: Tape | None = None
    present: Mapping[str, int | bool] = field(factory=dict)  # of what there may be more or less

    async def through(self, on: str, work: Awaitable[T]) -> T:
        return await (work if self.tape is None else self.tape.through(on, work))

    def at_once(self, on: str, work: Callable[[], T]) -> T:
        return work() if self.tape is None else self.tape.at_once(on, work)


def noted(spool: Spool, around: Surroundings) -> Surroundings:
    """The same surroundings, each with a wrapper."""
    count = around.count
    spool.present = {"sources": len(around.keepsakes), "counts": count is not None}

    async def counted(request: Request) -> int | None:
        assert count is not None
        return await spool.through("context.count", count(request))

    return Surroundings(
        model=_Model(spool, around.model),
        clock=_Clock(spool, around.clock),
        ids=_Ids(spool, around.ids),
        consent=_Consent(spool, around.consent),
        keepsakes=tuple(_Keepsakes(spool, source) for source in around.keepsakes),
        count=None if count is None else counted,
        shelf=_Shelf(spool, around.shelf),
    )


@frozen
class _Model:
    spool: Spool
    model: Model

    def ask(self, request: Request) -> AsyncGenerator[ModelEvent, None]:
        tape = self.spool.tape
        return self.model.ask(request) if tape is None else asked(tape, self.model, request)


@frozen
class _Clock:
    spool: Spool
    real: Clock

    def time(self) -> float:
        return self.spool.at_once("clock.time", self.real.time)

    def jitter(self) -> float:
        return self.spool.at_once("clock.jitter", self.real.jitter)

    async def sleep(self, seconds: float) -> None:
        await self.spool.through("clock.sleep", self.real.sleep(seconds))


@frozen
class _Ids:
    spool: Spool
    ids: Ids

    def new(self) -> str:
        return self.spool.at_once("ids.new", self.ids.new)


@frozen
class _Consent:
    spool: Spool
    consent: Consent

    async def refusal(
        self, context: ToolUseContext, trigger: str, focus: str | None
    ) -> str | None:
        work = self.consent.refusal(context, trigger, focus)
        return await self.spool.through("context.refusal", work)


@frozen
class _Keepsakes:
    spool: Spool
    source: Keepsakes

    async def keepsakes(self, budget: int) -> Sequence[Keepsake]:
        return await self.spool.through("context.keepsakes", self._found(budget))

    async def _found(self, budget: int) -> list[Keepsake]:
        return list(await self.source.keepsakes(budget))


@frozen
class _Shelf:
    spool: Spool
    shelf: Shelf

    def put(self, path: Path, text: str) -> str | None:
        return self.spool.at_once("shelf.put", lambda: self.shelf.put(path, text))

    def has(self, path: Path) -> bool:
        return self.spool.at_once("shelf.has", lambda: self.shelf.has(path))
