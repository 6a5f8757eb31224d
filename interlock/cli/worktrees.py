"""`interlock worktrees [list|clean]`: the trees that agents have left, and taking away empty ones.

By the checks that are made when an agent ends: what holds anything stays, and so does what
another session works in.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import anyio
import orjson

from interlock.cli.flags import Parser, decoded
from interlock.cli.place import insist_on_stdout
from interlock.errors import UsageError
from interlock.home import home_of
from interlock.worktrees import (
    Cleared,
    NoWorktree,
    Worktree,
    all_of,
    common_of,
    looked_at,
    swept,
    told,
)


def run(argv: Sequence[str]) -> int:
    """List or clean. Raises UsageError."""
    parser = Parser(prog="interlock worktrees", allow_abbrev=False)
    parser.add_argument("action", nargs="?", choices=("list", "clean"), default="list")
    parser.add_argument("--all", action="store_true", help="of every repository")
    parser.add_argument("--json", action="store_true", help="for programs")
    asked = parser.parse_args([decoded(each) for each in argv])
    insist_on_stdout()
    became = asyncio.run(_became(asked.action == "clean", everywhere=asked.all))
    if asked.json:
        print(orjson.dumps([_object(one) for one in became]).decode())
    elif became:
        print("\n\n".join(_shown(one) for one in became))
    else:
        print("no agent has left a worktree" + ("" if asked.all else " of this repository"))
    return 0


async def _became(clean: bool, *, everywhere: bool) -> list[Cleared]:
    home = home_of(os.environ)
    try:
        common = None if everywhere else await common_of(Path.cwd())
    except NoWorktree as error:
        raise UsageError(f"{error}; --all shows those of every repository") from error
    trees = list(all_of(home, common))
    return [one async for one in (swept(trees) if clean else _each(trees))]


async def _each(trees: Sequence[Worktree]) -> AsyncIterator[Cleared]:
    for tree in trees:
        with anyio.CancelScope(shield=True):
            yield await looked_at(tree)


def _shown(one: Cleared) -> str:
    tree = one.tree
    if one.gone:
        return f"{tree.path}: nothing was in it; it is gone, with its branch {tree.branch}"
    about = f"{tree.description}: " if tree.description else ""
    return f"{about}{told(one, for_model=False)}"


def _object(one: Cleared) -> dict[str, object]:
    tree, found = one.tree, one.found
    return {
        "path": str(tree.path),
        "branch": tree.branch,
        "base": tree.base,
        "repository": str(tree.top),
        "session": tree.session_id,
        "agent": tree.agent_id,
        "description": tree.description,
        "gone": one.gone,
        "reasons": found.reasons,
        "commits": [{"id": each.id, "subject": each.subject} for each in found.commits],
        "files": [each.encode("utf-8", "replace").decode() for each in found.files],
    }
