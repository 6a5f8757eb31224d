"""How a worktree goes: when every check has found nothing, without force, and with its branch.

Whatever stands in the way is a reason to keep it. What another process works in is never touched.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable

from attrs import evolve, frozen

from interlock.worktrees.checking import Examined, examined
from interlock.worktrees.git import GitFailed, git, holds
from interlock.worktrees.record import Busy, Worktree, forget, held

_HERE = (
    "--git-dir=.",
)  # asked in the folder of git itself: the tree it was made from may be gone


@frozen(kw_only=True)
class Cleared:
    """What became of one: gone, or kept for the reasons found."""

    tree: Worktree
    gone: bool
    found: Examined


async def cleared(tree: Worktree) -> Cleared:
    """Take it away if nothing is in it. Call it only as its holder (`held`)."""
    found = await examined(tree)
    if not found.is_empty:
        return await _missing(tree, found)
    try:
        # Not --force: git refuses what it sees to be changed, should it have been just now.
        await git(tree.common, *_HERE, "worktree", "remove", "--", str(tree.path))
        await _drop_branch(tree)
    except GitFailed as error:
        return Cleared(tree=tree, gone=False, found=evolve(found, reasons=(str(error),)))
    forget(tree)
    return Cleared(tree=tree, gone=True, found=found)


async def swept(trees: Iterable[Worktree]) -> AsyncIterator[Cleared]:
    """The same for several, each held meanwhile."""
    for tree in trees:
        try:
            with held(tree):
                yield await cleared(tree)
        except (Busy, OSError) as error:
            reasons = (str(error),)
            yield Cleared(tree=tree, gone=False, found=Examined(reasons=reasons))


async def looked_at(tree: Worktree) -> Cleared:
    """What is in it, without a change."""
    found = await examined(tree)
    try:
        with held(tree):
            pass
    except (Busy, OSError) as error:
        found = evolve(found, reasons=(str(error), *found.reasons))
    return Cleared(tree=tree, gone=False, found=found)


async def _missing(tree: Worktree, found: Examined) -> Cleared:
    """A record of nothing: the tree is not there, and its branch holds nothing new."""
    try:
        nothing = not tree.path.exists() and not tree.gitdir.exists() and tree.common.is_dir()
        if nothing and await _drop_branch(tree):
            forget(tree)
            return Cleared(tree=tree, gone=True, found=Examined())
    except GitFailed as error:
        found = evolve(found, reasons=(*found.reasons, str(error)))
    return Cleared(tree=tree, gone=False, found=found)


async def _drop_branch(tree: Worktree) -> bool:
    """Delete the branch if it still stands where it began; whether it is gone."""
    ref = f"refs/heads/{tree.branch}"
    if not await holds(tree.common, *_HERE, "show-ref", "--verify", "--quiet", ref):
        return True
    try:
        # With the old value: git compares and deletes in one step.
        await git(tree.common, *_HERE, "update-ref", "-d", ref, tree.base)
    except GitFailed:
        return False
    return True
