"""Git, asked with everything turned off by which a repository could run a program of its own.

Hooks, the file system monitor, filters of the repository's own configuration, external diffs and
remote helpers stay off: whoever cloned a repository has not agreed to run what is in it. What the
user's own configuration says (git-lfs, say) counts.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import anyio

from interlock import children

LIMIT_S = 120.0  # of one command: a checkout of a large tree on a slow disk takes its time
_QUIET = {
    "GIT_OPTIONAL_LOCKS": "0",  # never in the way of a git that the user runs
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ALLOW_PROTOCOL": "none",  # a partial clone would fetch what is missing, by any program
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_PAGER": "cat",
    "LC_ALL": "C",
}
# Set where a hook of git's has started us, they would make every question one about another tree.
_ELSEWHERE = frozenset(
    {
        "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_CEILING_DIRECTORIES", "GIT_COMMON_DIR",
        "GIT_CONFIG", "GIT_DIR", "GIT_EXTERNAL_DIFF", "GIT_INDEX_FILE", "GIT_NAMESPACE",
        "GIT_OBJECT_DIRECTORY", "GIT_PREFIX", "GIT_WORK_TREE",
    }
)  # fmt: skip
_RUNS_FILTERS = frozenset({"diff", "status", "worktree"})  # of what is asked here
_HARMLESS = (
    "core.fsmonitor=false",
    f"core.hooksPath={os.devnull}",
    "core.untrackedCache=false",
    "core.ignoreStat=false",  # else a change can be told only by who made it
    "core.quotePath=false",
    "log.showSignature=false",  # would run gpg.program
    "submodule.recurse=false",
    "safe.bareRepository=explicit",
)


class GitFailed(Exception):
    """Git did not do what was asked, in its own words: then nothing is known."""

    def __init__(self, words: tuple[str, ...], code: int, said: str) -> None:
        self.code = code
        lines = [line.strip() for line in said.splitlines() if line.strip()]
        # The last line that is an error: before it git tells what it was about to do.
        errors = [line for line in lines if line.startswith(("fatal:", "error:"))]
        why = (errors or lines or [f"exit code {code}"])[-1]
        command = next((word for word in words if not word.startswith("-")), words[0])
        super().__init__(f"git {command}: {why}")


async def git(cwd: Path, *words: str) -> str:
    """What git answers. Raises GitFailed, also where it is missing or takes too long."""
    more = {}
    if _RUNS_FILTERS & set(words):
        where = tuple(word for word in words[:1] if word.startswith("--git-dir="))
        more = await _without_filters(cwd, where)
    code, said, complained = await _ran(cwd, words, more)
    if code != 0:
        raise GitFailed(words, code, complained or said)
    return said


async def holds(cwd: Path, *words: str) -> bool:
    """For a question that git answers with its exit code: 0 or 1. Raises GitFailed for others."""
    code, said, complained = await _ran(cwd, words, {})
    if code not in (0, 1):
        raise GitFailed(words, code, complained or said)
    return code == 0


async def line(cwd: Path, *words: str) -> str:
    """The same, for an answer of one line."""
    return (await git(cwd, *words)).rstrip("\n")


async def _ran(cwd: Path, words: tuple[str, ...], more: Mapping[str, str]) -> tuple[int, str, str]:
    options = [word for setting in _HARMLESS for word in ("-c", setting)]
    kept = {name: value for name, value in os.environ.items() if name not in _ELSEWHERE}
    try:
        with anyio.fail_after(LIMIT_S):
            done = await children.run(
                ["git", "--no-pager", *options, *words], cwd=cwd, env={**kept, **_QUIET, **more}
            )
    except TimeoutError:
        raise GitFailed(words, -1, f"it took more than {LIMIT_S:.0f} s") from None
    except OSError as error:
        problem = "git is not installed" if error.filename == "git" else f"{cwd}: {error.strerror}"
        raise GitFailed(words, -1, problem) from error
    text = done.stdout.decode("utf-8", "surrogateescape")
    return done.code, text, done.stderr.decode("utf-8", "replace")


async def _without_filters(cwd: Path, where: tuple[str, ...]) -> dict[str, str]:
    """Environment that empties the filters of the repository itself: a checkout and a status run
    them. Not `-c`: it splits at the first "=", and a driver may have one in its name."""
    asked = ("config", "--includes", "--show-scope", "--name-only", "--get-regexp", r"^filter\.")
    code, listing, complained = await _ran(cwd, (*where, *asked), {})
    if code > 1:
        raise GitFailed(asked, code, complained)
    keys = [each.partition("\t")[2] for each in listing.splitlines() if each[:1] in "lw"]
    drivers = sorted({key.rpartition(".")[0] for key in keys})
    first = int(os.environ.get("GIT_CONFIG_COUNT") or 0)
    pairs = [
        (f"{driver}.{name}", value)
        for driver in drivers
        for name, value in (("clean", ""), ("smudge", ""), ("process", ""), ("required", "false"))
    ]
    told = {"GIT_CONFIG_COUNT": str(first + len(pairs))}
    for at, (key, value) in enumerate(pairs, start=first):
        told |= {f"GIT_CONFIG_KEY_{at}": key, f"GIT_CONFIG_VALUE_{at}": value}
    return told
