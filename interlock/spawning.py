"""The ways to run a child beside the plain one, by the names that a call gives (`isolation`)."""

from __future__ import annotations

from interlock.agents.apart import WORKTREE, Apart
from interlock.agents.crew import Tree
from interlock.agents.errand import Spawner
from interlock.permissions import Gate
from interlock.settings import Settings


def spawners_of(tree: Tree, gate: Gate, settings: Settings) -> dict[str | None, Spawner]:
    """To be there before the tools are made: the schema of `Agent` lists their names."""
    return {WORKTREE: Apart(tree=tree, gate=gate, settings=settings)}
