"""A child in a git worktree of its own: its folder, its notes, its sandbox, its branch.

It has its parent's rights, counted from the worktree as the parent's are from its own folder;
that one it may not change. When it is over, the worktree goes if nothing is in it; else it stays,
and its parent is told where, on which branch, and what changed. A kill leaves a record behind.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from attrs import evolve, field, frozen

from interlock import confined, worktrees
from interlock.agents.crew import Tree
from interlock.agents.errand import Errand, Report, Seat
from interlock.permissions import Gate, Place
from interlock.running import Ground
from interlock.sandbox import Mode, opened
from interlock.settings import Settings
from interlock.tools import ToolError
from interlock.worktrees import NoWorktree, Worktree
from phases.world.updates import Notice

_TOLD = (
    "You work in a git worktree of your own, {root}, on the branch {branch}; it began from the"
    " commit {base} of {top}. What you were told of files in {top} is meant of the files of that"
    " name here: leave {top} itself as it is. Commit what belongs together; what you leave"
    " uncommitted is kept too."
)


@frozen(kw_only=True)
class Apart:
    """Implements `Spawner`, by one that runs a child in a folder that it is given."""

    tree: Tree
    gate: Gate  # of the main agent
    settings: Settings
    # One after the other: git's own locks would let one of two fail.
    _making: anyio.Lock = field(factory=anyio.Lock)

    async def run(self, errand: Errand, seat: Seat) -> Report:
        ended: list[Report] = []
        async with self._worktree(errand) as (tree, lacks):
            try:
                async with self._ground(errand, seat, tree) as moved:
                    cwd = _within(tree, errand.cwd)
                    here = self.tree.spawners[None]
                    report = await here.run(
                        evolve(errand, cwd=cwd), evolve(moved, ended=ended.append)
                    )
            except BaseException:  # a cancellation too: the tree is put in order before it goes on
                cut = ended[-1] if ended else Report(text="", error="aborted_streaming")
                report, became = await _with_its_tree(cut, tree, lacks)
                seat.ended(report)
                if not became.gone:  # no model reads it now: the next to take the session up does
                    self.tree.show(Notice("warning", worktrees.left(became)))
                raise
            report, became = await _with_its_tree(report, tree, lacks)
            if not became.gone:
                worktrees.tell(tree)
            return report

    @asynccontextmanager
    async def _worktree(self, errand: Errand) -> AsyncIterator[tuple[Worktree, int]]:
        """A new one, held for as long as its child works. Raises ToolError."""
        wanted = worktrees.Wanted(
            name=errand.agent_id[:8],
            session_id=self.tree.paths.session_id,
            agent_id=errand.agent_id,
            description=errand.description,
        )
        try:
            ground = await worktrees.ground_of(errand.cwd)
            planned = worktrees.planned(self.settings.home, wanted, ground)
            with worktrees.held(planned):
                # Not cut off half-way: what is there in part would look as if it were work.
                with anyio.CancelScope(shield=True):
                    async with self._making:
                        tree = await worktrees.made(planned)
                yield tree, ground.unsaved
        except (NoWorktree, worktrees.Busy, OSError) as error:
            raise ToolError(f"Not started: {error}. Without isolation it can be.") from error

    @asynccontextmanager
    async def _ground(self, errand: Errand, seat: Seat, tree: Worktree) -> AsyncIterator[Seat]:
        """The seat with all that is another in this folder."""
        options, settings = seat.parent.shared.options, self.settings
        main = self.gate.judge.folders[0]
        root = _within(tree, main)
        place = Place(root=root, spared=(tree.top, main))
        mode = confined.mode_of(options)
        policy = confined.policy_of(options, root, self.gate.moved(place), settings.home)
        paths = self.tree.paths.agent(errand.agent_id)
        if mode is not Mode.OFF:
            policy = confined.within(policy, tree)
        async with opened(mode, policy, taken=paths.tool_results) as box:
            told = _TOLD.format(root=root, branch=tree.branch, base=tree.base[:12], top=tree.top)
            ground = Ground(root=root, tree=tree.path, top=tree.top, told=told, sandbox=box)
            parent = evolve(seat.parent, gate=seat.parent.gate.elsewhere(place))
            yield evolve(seat, parent=parent, ground=ground)


def _within(tree: Worktree, folder: Path) -> Path:
    """The folder of the worktree that stands for one of the tree it was made from."""
    real = Path(os.path.realpath(folder))
    there = tree.path / real.relative_to(tree.top) if real.is_relative_to(tree.top) else tree.path
    return there if there.is_dir() else tree.path


async def _with_its_tree(
    report: Report, tree: Worktree, lacks: int
) -> tuple[Report, worktrees.Cleared]:
    """The report, with what became of the worktree; and that itself."""
    with anyio.CancelScope(shield=True):
        became = await worktrees.cleared(tree)
    notes = [worktrees.told(became)]
    if lacks:
        many = "change of yours was" if lacks == 1 else "changes of yours were"
        notes.append(f"{lacks} {many} in no commit when it began: it worked without.")
    return evolve(report, notes=(*report.notes, *notes)), became
