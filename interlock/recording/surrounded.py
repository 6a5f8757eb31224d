"""The context pipeline of a recorded run, made again around what the world answered it then."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from attrs import frozen

from interlock.context.keepsakes import Keepsake
from interlock.context.surroundings import Surroundings
from interlock.recording.player import PlayedClock, PlayedIds, PlayedModel, Player
from interlock.window import Window, WindowMemory
from phases.world.loop import Features, ToolUseContext
from phases.world.ports import Request
from phases.world.updates import Show


def window_of(player: Player, results: Path, features: Features, show: Show) -> Window:
    """The window as it was when the run began. Nothing of it is written anywhere."""
    said = player.take("window")
    around = Surroundings(
        model=PlayedModel(player),
        clock=PlayedClock(player),
        ids=PlayedIds(player),
        consent=_Consent(player),
        keepsakes=(_Keepsakes(player),) * said["sources"],
        count=_Count(player) if said["counts"] else None,
        shelf=_Shelf(player),
    )
    window = Window.of(around, results=results, collapses=None, features=features)
    window.recall(player.pool.decoded(said["memory"], WindowMemory))
    window.autocompact.show = show
    return window


@frozen
class _Count:
    player: Player

    async def __call__(self, request: Request) -> int | None:
        counted: int | None = await self.player.answer("context.count")
        return counted


@frozen
class _Consent:
    player: Player

    async def refusal(
        self, context: ToolUseContext, trigger: str, focus: str | None
    ) -> str | None:
        against: str | None = await self.player.answer("context.refusal")
        return against


@frozen
class _Keepsakes:
    player: Player

    async def keepsakes(self, budget: int) -> Sequence[Keepsake]:
        said = await self.player.answer("context.keepsakes")
        found: list[Keepsake] = self.player.pool.decoded(said, list[Keepsake])
        return found


@frozen
class _Shelf:
    player: Player

    def put(self, path: Path, text: str) -> str | None:
        problem: str | None = self.player.take("shelf.put")
        return problem

    def has(self, path: Path) -> bool:
        return bool(self.player.take("shelf.has"))
