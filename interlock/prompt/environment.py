"""The environment block: where the agent works, as `key: value` lines of about 280 tokens.

Taken once, when a session begins. Git is asked with a time limit and with everything turned off
by which a repository's own configuration could run a program: a folder is looked at here before
its user has said that it can be trusted. What git does not answer in time is "unknown".
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Coroutine, Mapping
from datetime import date
from pathlib import Path
from typing import Any

import anyio
from attrs import define, frozen

from interlock import children
from interlock.context.inject import system_context

GIT_LIMIT_S = 1.5  # for all questions together; a session's start must not wait for a huge tree
STATUS_LINES = 10
COMMITS = 5
LINE_WIDTH = 72  # characters of a status line or commit; with the two counts it bounds the block
UNKNOWN = "unknown"

_QUIET = {
    "GIT_OPTIONAL_LOCKS": "0",  # never in the way of a git that the user runs
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ALLOW_PROTOCOL": "none",  # a partial clone would fetch missing objects, by any program
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_PAGER": "cat",
    "LC_ALL": "C",  # "not a git repository" is recognised by its words
}
_HARMLESS = (
    "core.fsmonitor=false",
    f"core.hooksPath={os.devnull}",
    "log.showSignature=false",  # would run gpg.program
    "safe.bareRepository=explicit",  # a bare repository among a project's files is no repository
)


@frozen
class _Answer:
    code: int
    text: str
    error: str

    @property
    def line(self) -> str:
        return _clean(self.text.strip())


@define
class _Facts:
    """What git said; each stays unknown until it is answered."""

    repository: str = UNKNOWN
    branch: str = UNKNOWN
    main: str = UNKNOWN
    status: str = UNKNOWN
    commits: str = UNKNOWN


async def environment_block(cwd: Path, *, now: float) -> str:
    """The block for a working folder; `now` is in seconds since 1970."""
    facts = await _ask_git(cwd)
    parts = {
        "Working directory": _clean(str(cwd), width=300),
        "Git repository": facts.repository,
        "Platform": sys.platform,
        "OS version": f"{platform.system()} {platform.release()}",
        "Today's date": date.fromtimestamp(now).isoformat(),
    }
    if facts.repository == "yes":
        parts |= {
            "Git branch": facts.branch,
            "Main branch": facts.main,
            "Git status (at the start of the session)": facts.status,
            "Recent commits": facts.commits,
        }
    return system_context(parts)


async def _ask_git(cwd: Path) -> _Facts:
    facts = _Facts()
    further: tuple[Callable[[Path, _Facts], Coroutine[Any, Any, None]], ...] = (
        _branch,
        _main,
        _status,
        _commits,
    )
    with anyio.move_on_after(GIT_LIMIT_S):
        await _repository(cwd, facts)
        if facts.repository == "yes":
            async with anyio.create_task_group() as group:
                for question in further:
                    group.start_soon(question, cwd, facts)
    return facts


async def _repository(cwd: Path, facts: _Facts) -> None:
    answer = await _git(cwd, "rev-parse", "--is-inside-work-tree")
    if answer is None:
        return
    if answer.code == 0:
        facts.repository = "yes" if answer.line == "true" else "no working tree"
    elif "not a git repository" in answer.error:
        facts.repository = "no"


async def _branch(cwd: Path, facts: _Facts) -> None:
    answer = await _git(cwd, "symbolic-ref", "--short", "-q", "HEAD")
    if answer and answer.code == 1:
        answer = await _git(cwd, "rev-parse", "--short", "HEAD")
        if answer and answer.code == 0:
            facts.branch = f"none (detached at {answer.line})"
    elif answer and answer.code == 0:
        facts.branch = answer.line


async def _main(cwd: Path, facts: _Facts) -> None:
    names = ("refs/remotes/origin/HEAD", "refs/heads/main", "refs/heads/master")
    answer = await _git(cwd, "for-each-ref", "--format=%(refname) %(symref)", *names)
    if answer is None or answer.code != 0:
        return
    found = dict(line.partition(" ")[::2] for line in answer.text.splitlines())
    remote = found.get(names[0], "").removeprefix("refs/remotes/origin/")
    local = next((name for name in names[1:] if name in found), "").removeprefix("refs/heads/")
    facts.main = _clean(remote or local)


async def _status(cwd: Path, facts: _Facts) -> None:
    filters = await _git(
        cwd, "config", "--includes", "--show-scope", "--name-only", "--get-regexp", r"^filter\."
    )
    if filters is None or filters.code > 1:
        return
    answer = await _git(
        cwd,
        *("status", "--porcelain", "--ignore-submodules=all"),
        more=_without_filters(filters.text),
    )
    if answer and answer.code == 0:
        facts.status = _listed(answer.text.splitlines(), STATUS_LINES, none="clean")


async def _commits(cwd: Path, facts: _Facts) -> None:
    answer = await _git(cwd, "log", f"-{COMMITS}", "--no-color", "--format=%h %s")
    if answer and answer.code == 0:
        facts.commits = _listed(answer.text.splitlines(), COMMITS, none="none")
    elif answer and "does not have any commits yet" in answer.error:
        facts.commits = "none"


def _without_filters(listing: str) -> dict[str, str]:
    """Environment that empties the clean filters of the repository itself: `status` runs them.

    The user's own (git-lfs) stay, or each file under them would be shown as changed. Not `-c`:
    it splits at the first "=", and a driver may have one in its name.
    """
    keys = [line.partition("\t")[2] for line in listing.splitlines() if line[:1] in "lw"]
    drivers = sorted({key.rpartition(".")[0] for key in keys})
    first = int(os.environ.get("GIT_CONFIG_COUNT") or 0)
    pairs = [
        (f"{driver}.{name}", value)
        for driver in drivers
        for name, value in (("clean", ""), ("process", ""), ("required", "false"))
    ]
    told = {"GIT_CONFIG_COUNT": str(first + len(pairs))}
    for at, (key, value) in enumerate(pairs, start=first):
        told |= {f"GIT_CONFIG_KEY_{at}": key, f"GIT_CONFIG_VALUE_{at}": value}
    return told


async def _git(cwd: Path, *words: str, more: Mapping[str, str] | None = None) -> _Answer | None:
    """One question; None where git is missing or the folder is gone."""
    options = [word for setting in _HARMLESS for word in ("-c", setting)]
    try:
        done = await children.run(
            ["git", "--no-pager", *options, *words],
            cwd=cwd,
            env={**os.environ, **_QUIET, **(more or {})},
        )
    except OSError:
        return None
    return _Answer(
        done.code, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
    )


def _listed(lines: list[str], limit: int, *, none: str) -> str:
    if not lines:
        return none
    shown = [_clean(line) for line in lines[:limit]]
    if more := len(lines) - limit:
        shown += [f"... and {more} more"] if more > 0 else []
    return "\n" + "\n".join(shown)


def _clean(line: str, width: int = LINE_WIDTH) -> str:
    """One printable line: names and subjects are other people's words, in the system prompt."""
    plain = "".join(letter if letter.isprintable() else "?" for letter in line)
    return plain if len(plain) <= width else f"{plain[: width - 3]}..."
