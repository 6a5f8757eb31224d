"""How a worktree comes to be: on a branch of its own, from the commit its maker stands on."""

from __future__ import annotations

import os
import re
from pathlib import Path

from attrs import evolve, frozen

from interlock.worktrees.git import GitFailed, git, holds, line
from interlock.worktrees.record import Worktree, folder_for, forget, write

BRANCHES = "interlock"  # the folder of all branches that we make
_LONGEST = 40  # characters of a description in a name
_MADE_SO = ("-c", "core.logAllRefUpdates=always", "-c", "advice.detachedHead=false")


class NoWorktree(Exception):
    """A worktree cannot be had; the text says why, and is for the model."""


@frozen(kw_only=True)
class Wanted:
    """What a worktree is for."""

    name: str  # unique
    session_id: str = ""
    agent_id: str = ""
    description: str = ""


@frozen(kw_only=True)
class Ground:
    """The repository as it stands where a worktree is wanted."""

    top: Path
    common: Path
    base: str
    unsaved: int  # changes that no commit holds, and that a new tree will not have


async def ground_of(cwd: Path) -> Ground:
    """Raises NoWorktree where there is no git repository, or none that has a commit."""
    try:
        absolute = "--path-format=absolute"
        top = await line(cwd, "rev-parse", absolute, "--show-toplevel")
        if not await holds(cwd, "rev-parse", "--verify", "--quiet", "HEAD^{commit}"):
            raise NoWorktree(
                f"the repository in {top} has no commit yet that a tree could begin from"
            )
        base = await line(cwd, "rev-parse", "HEAD^{commit}")
        status = await git(cwd, "status", "--porcelain=v1", "-z", "--ignore-submodules=none")
    except GitFailed as error:
        raise NoWorktree(f"{cwd} is in no git repository that can be used ({error})") from error
    return Ground(
        top=Path(os.path.realpath(top)),
        common=await common_of(cwd),
        base=base,
        unsaved=status.count("\0"),
    )


async def common_of(cwd: Path) -> Path:
    """The folder that git keeps of the repository in `cwd`. Raises NoWorktree."""
    try:
        said = await line(cwd, "rev-parse", "--path-format=absolute", "--git-common-dir")
    except GitFailed as error:
        raise NoWorktree(f"{cwd} is in no git repository that can be used ({error})") from error
    return Path(os.path.realpath(said))


def planned(home: Path, wanted: Wanted, ground: Ground) -> Worktree:
    """What it will be; nothing is made yet."""
    folder = Path(os.path.realpath(folder_for(home, ground.common)))
    name = named(wanted.description, wanted.name)
    return Worktree(
        path=folder / name,
        branch=f"{BRANCHES}/{name}",
        base=ground.base,
        top=ground.top,
        common=ground.common,
        # As git names it; `checking` holds it against what git says.
        gitdir=ground.common / "worktrees" / name,
        session_id=wanted.session_id,
        agent_id=wanted.agent_id,
        description=wanted.description,
    )


async def made(tree: Worktree) -> Worktree:
    """Make it as planned. Raises NoWorktree; then nothing is left of it."""
    try:
        # Before the tree itself: a crash in between leaves a record of nothing, never the reverse.
        write(tree)
        place = ("-b", tree.branch, "--", str(tree.path), tree.base)
        await git(tree.top, *_MADE_SO, "worktree", "add", "--quiet", "--no-track", *place)
        real = await line(tree.path, "rev-parse", "--path-format=absolute", "--git-dir")
    except (GitFailed, OSError) as error:
        if not tree.path.exists():
            forget(tree)
        raise NoWorktree(f"the worktree {tree.path} cannot be made ({error})") from error
    return tree if Path(real) == tree.gitdir else _called(tree, Path(os.path.realpath(real)))


def named(description: str, unique: str) -> str:
    """A name that a person knows again, safe as a folder and as a branch."""
    plain = re.sub(r"[^a-z0-9]+", "-", description.lower())[:_LONGEST].strip("-")
    return f"{plain}-{unique}" if plain else unique


def _called(tree: Worktree, gitdir: Path) -> Worktree:
    tree = evolve(tree, gitdir=gitdir)
    write(tree)
    return tree
