"""The ways to run a child beside the plain one, by the names that a call gives (`isolation`)."""

from __future__ import annotations

from collections.abc import Callable

from attrs import define

from interlock.agents.crew import Tree
from interlock.agents.errand import Errand, Report, Seat, Spawner
from interlock.options import Options
from interlock.permissions import Gate
from interlock.settings import Settings

WORKTREE = "worktree"
REMOTE = "remote"


def spawners_of(
    tree: Tree, gate: Gate, options: Options, settings: Settings
) -> dict[str | None, Spawner]:
    """To be there before the tools are made: the schema of `Agent` lists their names."""

    def apart() -> Spawner:
        from interlock.agents.apart import Apart

        return Apart(tree=tree, gate=gate, settings=settings)

    made: dict[str | None, Spawner] = {WORKTREE: _Later(apart)}
    if options.remotes:  # else its client need not be loaded
        from interlock.remote.client import Remote

        for name, place in options.remotes.items():
            made[f"{REMOTE}:{name}"] = Remote(
                name=name, place=place, tree=tree, gate=gate, settings=settings
            )
        if len(options.remotes) == 1:
            (made[REMOTE],) = (made[f"{REMOTE}:{name}"] for name in options.remotes)
    return made


@define
class _Later:
    """Implements `Spawner`, by one that is made with the first child: few sessions have any."""

    _make: Callable[[], Spawner]
    _made: Spawner | None = None

    async def run(self, errand: Errand, seat: Seat) -> Report:
        if self._made is None:
            self._made = self._make()
        return await self._made.run(errand, seat)
