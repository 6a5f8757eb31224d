"""All that the context pipeline asks of the world, in one place.

So what it does with the answers can be done again where these alone are given back.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Protocol

from attrs import field, frozen

from interlock.context.keepsakes import Keepsakes
from phases.world.loop import ToolUseContext
from phases.world.ports import Clock, Ids, Model, Request

Count = Callable[[Request], Awaitable[int | None]]


class Shelf(Protocol):
    """Where the whole of a result lies, of which only a part is shown."""

    def put(self, path: Path, text: str) -> str | None:
        """Write it; why that could not be done, or None."""
        ...

    def has(self, path: Path) -> bool: ...


class Consent(Protocol):
    """Who may be against a compaction."""

    async def refusal(
        self, context: ToolUseContext, trigger: str, focus: str | None
    ) -> str | None: ...


class Disk:
    """The shelf of a session."""

    def put(self, path: Path, text: str) -> str | None:
        """For its owner's eyes only."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0)
            file = os.open(path, flags, 0o600)
            with os.fdopen(file, "w", encoding="utf-8", errors="replace", newline="") as out:
                out.write(text)
        except OSError as error:
            return error.strerror or str(error)
        return None

    def has(self, path: Path) -> bool:
        return path.is_file()


@frozen(kw_only=True)
class Surroundings:
    """What is asked: a model, a clock and so on. `count` is None where no server can count."""

    model: Model
    clock: Clock
    ids: Ids
    consent: Consent
    keepsakes: tuple[Keepsakes, ...] = ()
    count: Count | None = None
    shelf: Shelf = field(factory=Disk)
