"""What is in a worktree that would be lost with it. Every check must succeed and find nothing.

A check that fails is a reason to keep, and so is whatever git hides from its own status: files
marked as unchanged, commits that only the log of HEAD still knows, a repository inside, a rebase
half done. Changes nothing.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from attrs import frozen

from interlock.worktrees.git import GitFailed, git, holds, line
from interlock.worktrees.record import Worktree

_UNFINISHED = {
    "MERGE_HEAD": "merge",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "BISECT_LOG": "bisect",
    "sequencer": "sequence of picks",
}
_KINDS = {"??": "untracked", "!!": "ignored by git"}


@frozen(kw_only=True)
class Commit:
    id: str
    subject: str

    def __str__(self) -> str:
        return f"{self.id[:12]} {self.subject}"


@frozen(kw_only=True)
class Examined:
    """What was found. Without `reasons` nothing is in it."""

    reasons: tuple[str, ...] = ()  # why it stays, a line each
    commits: tuple[Commit, ...] = ()  # that its base does not hold, newest first
    on_branch: frozenset[str] = frozenset()  # the ids of those that its branch holds
    files: tuple[str, ...] = ()  # that no commit holds: "changed: a.txt"
    stat: str = ""  # git's own, of all that is different from the base

    @property
    def is_empty(self) -> bool:
        return not self.reasons


async def examined(tree: Worktree) -> Examined:
    """Look at all of it. Raises nothing."""
    try:
        broken = await _broken_link(tree)
        if broken is not None:  # git would answer about another tree
            return Examined(reasons=(broken,))
        head = await _head(tree)
        commits = await _commits(tree, head)
        lost = await _only_in_the_log(tree, commits)
        files = tuple([each async for each in _files(tree)])
        reasons = [
            *_off_its_branch(tree, head),
            *_counted(len(commits), "commit"),
            *_counted(len(lost), "commit that only the log of HEAD still knows"),
            *_counted(len(files), "file that no commit holds"),
            *_half_done(tree),
            *await _own_refs(tree),
        ]
        # Only where nothing else was found: it walks the whole tree.
        reasons += [] if reasons else list(_repositories_inside(tree.path))
        stat = await _stat(tree)
        merging = await _logged(tree, head.tip, f"^{tree.base}") if head.tip else ()
    except (GitFailed, OSError) as error:
        return Examined(reasons=(f"it could not be looked at: {error}",))
    return Examined(
        reasons=tuple(reasons),
        commits=(*commits, *lost),
        on_branch=frozenset(each.id for each in merging),
        files=files,
        stat=stat,
    )


@frozen(kw_only=True)
class _Head:
    branch: str | None  # None: detached
    commit: str
    tip: str | None  # of the branch that was made for it; None: it is gone


async def _broken_link(tree: Worktree) -> str | None:
    link = tree.path / ".git"
    if not tree.path.is_dir():
        return f"{tree.path} is not there"
    if link.is_symlink() or not link.is_file():
        return "its link to the repository (.git) is broken: what is in it cannot be told"
    absolute = ("rev-parse", "--path-format=absolute")
    for asked, expected in (
        ("--show-toplevel", tree.path),
        ("--git-common-dir", tree.common),
        ("--git-dir", tree.gitdir),
    ):
        there = await line(tree.path, *absolute, asked)
        if os.path.realpath(there) != os.path.realpath(expected):
            return f"it is linked to {there}, where {expected} was expected"
    if (tree.gitdir / "locked").exists():
        return "it is locked (git worktree lock)"
    return None


async def _head(tree: Worktree) -> _Head:
    branch = None
    if await holds(tree.path, "symbolic-ref", "--quiet", "HEAD"):
        branch = await line(tree.path, "symbolic-ref", "HEAD")
    ref, tip = f"refs/heads/{tree.branch}", None
    if await holds(tree.path, "show-ref", "--verify", "--quiet", ref):
        tip = await line(tree.path, "rev-parse", "--verify", f"{ref}^{{commit}}")
    commit = await line(tree.path, "rev-parse", "--verify", "HEAD^{commit}")
    return _Head(branch=branch, commit=commit, tip=tip)


def _off_its_branch(tree: Worktree, head: _Head) -> Iterator[str]:
    if head.branch is None:
        yield f"HEAD is detached at {head.commit[:12]}"
    elif head.branch != f"refs/heads/{tree.branch}":
        yield f"it is on the branch {head.branch.removeprefix('refs/heads/')}"
    if head.tip is None:
        yield f"its branch {tree.branch} is gone"
    elif head.tip != tree.base or head.commit != tree.base:
        yield f"its branch or HEAD does not stand on {tree.base[:12]}, where it began"


async def _commits(tree: Worktree, head: _Head) -> tuple[Commit, ...]:
    tips = [head.commit, *([head.tip] if head.tip else [])]
    return await _logged(tree, *tips, f"^{tree.base}")


async def _only_in_the_log(tree: Worktree, known: tuple[Commit, ...]) -> tuple[Commit, ...]:
    """Commits that were made here and then left: their log goes with the tree."""
    # The file itself: without one, git would answer with the log of the branch.
    log = (tree.gitdir / "logs" / "HEAD").read_text("utf-8", "replace")
    been = dict.fromkeys(word for entry in log.splitlines() for word in entry.split()[:2])
    if not been:
        raise GitFailed(("log",), 0, "the log of HEAD is empty: where it has been is not known")
    held = {each.id for each in known}
    new = [id_ for id_ in been if id_ not in held and id_ != tree.base and id_.strip("0")]
    return (
        tuple(each for each in await _logged(tree, *new, f"^{tree.base}") if each.id not in held)
        if new
        else ()
    )


async def _logged(tree: Worktree, *revisions: str) -> tuple[Commit, ...]:
    said = await git(tree.path, "log", "-z", "--no-color", "--format=%H %s", *revisions, "--")
    parts = (each.partition(" ") for each in said.split("\0") if each)
    return tuple(Commit(id=id_, subject=subject) for id_, _, subject in parts)


async def _files(tree: Worktree) -> AsyncIterator[str]:
    status = await git(
        tree.path,
        *("status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all"),
        *("--ignored=traditional", "--ignore-submodules=none"),
    )
    for entry in filter(None, status.split("\0")):
        yield f"{_KINDS.get(entry[:2], 'changed')}: {entry[3:]}"
    # `git update-index --assume-unchanged` and its like: status is told to look away.
    for entry in filter(None, (await git(tree.path, "ls-files", "-v", "-z")).split("\0")):
        flag, name = entry[0], entry[2:]
        if (flag.islower() or flag == "S") and os.path.lexists(tree.path / name):
            yield f"marked as unchanged: {name}"


def _half_done(tree: Worktree) -> Iterator[str]:
    for name, what in _UNFINISHED.items():
        if (tree.gitdir / name).exists():
            yield f"a {what} is half done in it"


async def _own_refs(tree: Worktree) -> list[str]:
    said = await git(
        tree.path, "for-each-ref", "--format=%(refname)",
        "refs/worktree", "refs/bisect", "refs/rewritten",
    )  # fmt: skip
    return [f"{ref} is known in it alone" for ref in said.split()]


def _repositories_inside(path: Path) -> Iterator[str]:
    """Status does not speak of a .git among tracked files; its history would go too."""

    def failed(error: OSError) -> None:
        raise error

    for folder, folders, files in os.walk(path, onerror=failed):
        if ".git" in (*folders, *files) and Path(folder) != path:
            yield f"{folder} is a repository of its own"


async def _stat(tree: Worktree) -> str:
    plain = ("--no-ext-diff", "--no-textconv", "--no-color", "--no-renames")
    return (await git(tree.path, "diff", "--stat=90", *plain, tree.base, "--")).rstrip()


def _counted(number: int, what: str) -> list[str]:
    if number == 1:
        return [f"1 {what}"]
    first, _, rest = what.partition(" ")
    return [f"{number} {first}s{' ' if rest else ''}{rest}"] if number else []
