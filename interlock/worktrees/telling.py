"""What is told of a worktree that stays: where it is, its branch, its commits, what changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from interlock.worktrees.clearing import Cleared

_MOST = 20  # lines of each list


def told(cleared: Cleared, *, for_model: bool = True) -> str:
    """All of it, as text."""
    tree, found = cleared.tree, cleared.found
    if cleared.gone:
        return (
            f"Nothing was changed in its worktree, which is gone, with its branch {tree.branch}."
        )
    where = (
        f"Its worktree is {tree.path}, on the branch {tree.branch}, begun from {tree.base[:12]}."
    )
    parts = [where]
    if not found.files and not found.commits:
        why = (
            "; ".join(found.reasons)
            or "nothing is in it, and `interlock worktrees clean` takes it"
        )
        parts.append(f"It stays: {why}.")
    if found.commits:
        parts.append("Commits:\n" + _listed([str(each) for each in found.commits]))
    if found.files:
        parts.append("In no commit:\n" + _listed(found.files))
    if found.stat:
        parts.append("All that is different from where it began:\n" + _last(found.stat))
    if found.files or found.commits:
        detached = [each for each in found.reasons if each.startswith(("HEAD", "it is on"))]
        parts += [f"{each[:1].upper()}{each[1:]}." for each in detached]
        if for_model:
            parts.append(f"Take over what you want of it: {'; '.join(_ways(cleared))}.")
    return "\n".join(parts)


def left(cleared: Cleared) -> str:
    """A line for the person who has ended its agent."""
    tree = cleared.tree
    return (
        f"a sub-agent was stopped, and what it did is kept: {tree.path}, on the branch"
        f" {tree.branch} (interlock worktrees)"
    )


def _ways(cleared: Cleared) -> Iterator[str]:
    """How what is in it comes over. A merge brings only what its branch holds."""
    tree, found = cleared.tree, cleared.found
    loose = [each.id[:12] for each in found.commits if each.id not in found.on_branch]
    if found.on_branch:
        yield f"git merge {tree.branch}"
    if loose:
        yield f"git cherry-pick {' '.join(reversed(loose))} (on no branch)"
    if found.files:
        yield f"copy from {tree.path} what no commit holds"


def _listed(lines: Sequence[str]) -> str:
    shown = [f"  {_clean(line)}" for line in lines[:_MOST]]
    if len(lines) > _MOST:
        shown.append(f"  … and {len(lines) - _MOST} more")
    return "\n".join(shown)


def _last(stat: str) -> str:
    """Its end: there the sum stands."""
    lines = stat.splitlines()
    return "\n".join(["  …"] * (len(lines) > _MOST) + [_clean(each) for each in lines[-_MOST:]])


def _clean(text: str) -> str:
    """Names and subjects are other people's words: one printable line."""
    return "".join(each if each.isprintable() else "?" for each in text)
