"""The ways to run a child beside the plain one, by the names that a call gives (`isolation`)."""

from __future__ import annotations

from interlock.agents.apart import WORKTREE, Apart
from interlock.agents.crew import Tree
from interlock.agents.errand import Spawner
from interlock.options import Options
from interlock.permissions import Gate
from interlock.settings import Settings

REMOTE = "remote"


def spawners_of(
    tree: Tree, gate: Gate, options: Options, settings: Settings
) -> dict[str | None, Spawner]:
    """To be there before the tools are made: the schema of `Agent` lists their names."""
    made: dict[str | None, Spawner] = {WORKTREE: Apart(tree=tree, gate=gate, settings=settings)}
    if options.remotes:  # else its client need not be loaded
        from interlock.remote.client import Remote

        for name, place in options.remotes.items():
            made[f"{REMOTE}:{name}"] = Remote(
                name=name, place=place, tree=tree, gate=gate, settings=settings
            )
        if len(options.remotes) == 1:
            (made[REMOTE],) = (made[f"{REMOTE}:{name}"] for name in options.remotes)
    return made
