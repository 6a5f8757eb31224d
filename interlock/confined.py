"""A session's sandbox policy: from options, settings and deny rules to paths.

What a rule denies to the tools is hidden from commands too, file by file as they are there when
the command starts; so a pattern has to be looked for in the folders that are worked in.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from attrs import evolve

from interlock.options import Options
from interlock.permissions import Judge, Rule
from interlock.permissions.paths import covers, relative
from interlock.permissions.rules import READERS, WRITERS
from interlock.sandbox import Mode, Policy, lacking, protected, secrets

if TYPE_CHECKING:
    from interlock.worktrees import Worktree

_WILD = frozenset("*?[{\\")
_MOST_LOOKED_AT = 1_000_000  # files and folders, for each command anew; some seconds


def mode_of(options: Options) -> Mode:
    """What the flag says, else what settings say, else off."""
    if options.sandbox_mode is not None:
        return options.sandbox_mode
    return Mode.AUTO if options.sandbox.enabled else Mode.OFF


def approves(options: Options) -> bool:
    """Whether commands would run in a sandbox that holds, and so need nobody's approval.

    Raises NoSandbox where one is required and cannot be had.
    """
    mode = mode_of(options)
    return lacking(mode) is None and mode is not Mode.OFF and options.sandbox.auto_allow


class Judged(Protocol):
    """Who has a judge: a gate, and whoever works elsewhere with its rights."""

    @property
    def judge(self) -> Judge: ...


def policy_of(options: Options, cwd: Path, gate: Judged, home: Path) -> Policy:
    """The bounds of a session's commands; `gate` is asked for its rules anew each time."""
    said, folders = options.sandbox, gate.judge.folders
    writable = (*folders, *_existing(said.allow_write, cwd))

    def hidden() -> Iterator[Path]:
        yield from secrets(Path.home())
        yield from _existing(said.deny_read, cwd)
        yield from _denied(gate.judge.rules.deny, READERS, gate)

    def kept() -> Iterator[Path]:
        yield from protected(folders)
        yield from _existing(said.deny_write, cwd)
        if home.exists() and any(home.is_relative_to(folder) for folder in writable):
            yield home
        yield from _denied(gate.judge.rules.deny, WRITERS, gate)

    return Policy(
        writable=tuple(dict.fromkeys(writable)),
        folders=folders,
        hidden=hidden,
        kept=kept,
        network=said.allow_network,
        domains=said.domains,
    )


def within(policy: Policy, tree: Worktree) -> Policy:
    """The bounds for who works in a worktree: of the repository, to which it belongs, commands may
    write what a commit on a branch of ours takes, and no more."""
    from interlock.worktrees import BRANCHES

    common, own = tree.common, tree.gitdir
    branches = (common / part / "refs" / "heads" / BRANCHES for part in ("", "logs"))
    # What is looked for there may be planted, where it is missing; so it is made, to be kept.
    steering = tuple(own / name for name in ("commondir", "gitdir", "config.worktree"))
    (own / "config.worktree").touch()

    def kept() -> Iterator[Path]:
        yield from policy.kept()
        yield from (tree.path / ".git", *steering)

    writable = (*policy.writable, own, common / "objects", *filter(Path.is_dir, branches))
    return evolve(policy, writable=writable, kept=kept)


def _existing(written: Iterable[str], cwd: Path) -> Iterator[Path]:
    for each in written:
        path = Path(os.path.realpath(cwd / Path(each).expanduser()))
        if path.exists():
            yield path


def _denied(rules: Iterable[Rule], tools: frozenset[str], gate: Judged) -> Iterator[Path]:
    """The files and folders that deny rules about these tools name, as far as they exist."""
    root = gate.judge.folders[0]
    looked: dict[Path, list[Rule]] = {}
    for rule in rules:
        if rule.tool not in tools or rule.specifier is None:
            continue
        pattern, anchor = relative(rule.specifier)
        whole = pattern.removesuffix("/**").strip("/")
        if not _WILD & set(whole) and (anchor is not None or "/" in whole):
            path = (anchor or root) / whole
            if path.exists():
                yield Path(os.path.realpath(path))
        elif anchor is not None:
            looked.setdefault(_literal(anchor, pattern), []).append(rule)
        else:
            for folder in gate.judge.folders:
                looked.setdefault(folder, []).append(rule)
    for folder, meant in looked.items():
        yield from _found(folder, meant, root)


def _literal(anchor: Path, pattern: str) -> Path:
    """The folder that a pattern begins with, up to its first wildcard."""
    folder = anchor
    for part in pattern.strip("/").split("/")[:-1]:
        if _WILD & set(part):
            break
        folder /= part
    return Path(os.path.realpath(folder))


def _found(folder: Path, rules: list[Rule], root: Path) -> Iterator[Path]:
    def is_meant(path: Path) -> bool:
        return any(covers(rule.specifier or "", path, root, either=True) for rule in rules)

    seen = 0
    for above, names, files in os.walk(folder):
        here = Path(above)
        seen += len(names) + len(files)
        if seen > _MOST_LOOKED_AT:
            raise OSError(
                f"there are too many files in {folder} to look for those that"
                f" {', '.join(str(rule) for rule in rules)} denies: name a folder in the rule"
            )
        for name in list(names):
            # A folder all of whose files are meant is hidden whole, with what is yet to come.
            if is_meant(here / name / "x"):
                names.remove(name)
                yield here / name
        yield from (here / name for name in files if is_meant(here / name))
