"""Where a setting comes from, and who wins: one order for every single value.

    managed       the machine's administrator
    flags         the command line, `--settings` among it
    environment   a variable with a known name
    local         this user, in this project
    project       everybody in this project
    user          this user, in all projects
    default       our own

The first that says something counts. Lists do not compete: they add up.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Generic, TypeVar

from attrs import frozen

from interlock.errors import UsageError

T = TypeVar("T", covariant=True)


class Source(StrEnum):
    """Highest first."""

    MANAGED = "managed"
    FLAGS = "flags"
    ENVIRONMENT = "environment"
    LOCAL = "local"
    PROJECT = "project"
    USER = "user"
    DEFAULT = "default"

    @property
    def rank(self) -> int:
        return tuple(Source).index(self)

    @property
    def from_repository(self) -> bool:
        """Whether whoever wrote the repository may have written this: it is trusted less.

        A local file is meant to stay out of git, but nothing keeps one from being committed.
        """
        return self in (Source.LOCAL, Source.PROJECT)


CHOSEN = (Source.USER, Source.PROJECT, Source.LOCAL)  # what --setting-sources chooses from


def sources_of(given: str | None) -> tuple[Source, ...]:
    """The sources that `user,project,local` names; None: all of these. Raises UsageError."""
    if given is None:
        return CHOSEN
    names = [name.strip() for name in given.split(",") if name.strip()]
    for name in names:
        if name not in CHOSEN:
            known = ",".join(CHOSEN)
            raise UsageError(f"--setting-sources: no source {name!r}; choose from {known}")
    return tuple(Source(name) for name in names)


_KINDS = {
    Source.MANAGED: "managed settings",
    Source.FLAGS: "command line",
    Source.ENVIRONMENT: "environment",
    Source.LOCAL: "local settings",
    Source.PROJECT: "project settings",
    Source.USER: "user settings",
    Source.DEFAULT: "default",
}


@frozen(kw_only=True)
class Origin:
    """`where` is a path as a person would write it, a flag, or the name of a variable."""

    source: Source
    where: str = ""
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        kind = _KINDS[self.source]
        if not self.where:
            return kind
        return f"{kind}, {self.where}" + (f":{self.line}" if self.line is not None else "")

    @property
    def place(self) -> str:
        """`path:line:column`, as compilers write it."""
        return ":".join(str(each) for each in (self.where, self.line, self.column) if each)


@frozen
class Sourced(Generic[T]):
    """A value, and where it comes from."""

    value: T
    origin: Origin
