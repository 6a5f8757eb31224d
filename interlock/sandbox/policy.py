"""What a confined command may touch. Data and lists; how it is enforced is the backends' affair.

The rule: the working folders are writable, the rest can only be read, secrets not even that, and
there is no network but to the hosts that are named.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from enum import StrEnum
from pathlib import Path

from attrs import field, frozen

from interlock.errors import UsageError


class Mode(StrEnum):
    """`--sandbox`: what to do about confinement."""

    REQUIRED = "required"  # no session without all of it
    AUTO = "auto"  # as much as this machine can, and say how much that is
    OFF = "off"


class NoSandbox(UsageError):
    """A sandbox was required, and this machine cannot give it."""


@frozen(kw_only=True)
class SandboxSettings:
    """What users write under `sandbox` in their settings. Paths may begin with `~` or `./`."""

    enabled: bool | None = None  # None: as --sandbox says, which is off
    auto_allow: bool = True  # commands that run inside need no approval
    allow_write: tuple[str, ...] = ()
    deny_write: tuple[str, ...] = ()
    deny_read: tuple[str, ...] = ()
    allow_network: bool = False  # all of it
    domains: tuple[str, ...] = ()  # "github.com", "*.github.com"


def _nothing() -> Iterable[Path]:
    return ()


@frozen(kw_only=True)
class Policy:
    """One session's bounds. `hidden` and `kept` are asked for each command: files come and go."""

    writable: tuple[Path, ...]  # real paths of folders
    folders: tuple[Path, ...] = ()  # of these, those that are worked in
    hidden: Callable[[], Iterable[Path]] = field(default=_nothing)  # cannot be read
    kept: Callable[[], Iterable[Path]] = field(default=_nothing)  # cannot be written
    network: bool = False
    domains: tuple[str, ...] = ()


# Files that hold keys, below the home folder. Whole folders where every file in them may.
_SECRETS = (
    ".aws",
    ".azure",
    ".config/gcloud",
    ".config/gh",
    ".config/hub",
    ".config/op",
    ".docker",
    ".git-credentials",
    ".gnupg",
    ".kube",
    ".netrc",
    ".npmrc",
    ".pgpass",
    ".pypirc",
    ".ssh",
    ".vault-token",
    ".bash_history",
    ".zsh_history",
    ".python_history",
)
# Sockets of services that would do outside what is forbidden inside, and what only root can read.
_SYSTEM = (
    "/run",
    "/var/run",
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/ssl/private",
)
# Written in a project, these are run or obeyed later, outside.
_OBEYED = (
    ".git/hooks",
    ".git/config",
    ".git/config.worktree",
    ".git/commondir",  # says where config and hooks are looked for
    ".claude",
    ".interlock",
    ".mcp.json",
    ".vscode",
    ".idea",
    ".envrc",
)
_KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")


def secrets(home: Path) -> Iterable[Path]:
    """What no command needs to read, as far as it exists."""
    for path in (*(home / name for name in _SECRETS), *map(Path, _SYSTEM)):
        if path.exists():
            yield path


def protected(folders: Iterable[Path]) -> Iterable[Path]:
    """What a command must not change inside the folders it may write to, as far as it exists."""
    for folder in folders:
        for name in _OBEYED:
            if os.path.lexists(folder / name):
                yield folder / name


def unplanted(folders: Iterable[Path]) -> frozenset[Path]:
    """What is not there yet of it: a mount protects what exists only, so these are looked for
    when a command has ended. A repository that is made anew is its maker's.
    """
    return frozenset(
        folder / name
        for folder in folders
        for name in _OBEYED
        if (folder / name).parent.is_dir() and not os.path.lexists(folder / name)
    )


def removed_variables() -> tuple[str, ...]:
    """Our own credentials, which no command needs."""
    return _KEYS
