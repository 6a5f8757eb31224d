"""Something looked up beside the first request, and read once, where it is there without a wait.

Memory and skills are such lookups; what they search is their own affair (`PrefetchSource`). A
lookup that fails has found nothing; one that never ends costs nothing and ends with the run.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from anyio.abc import TaskGroup
from attrs import define, field, frozen

from interlock.quiet import Quiet

_log = Quiet(__name__)


@frozen(kw_only=True)
class Found:
    """One thing that may help. `path` is the real path of the file it stands in, if any."""

    title: str
    text: str
    path: Path | None = None


class PrefetchSource(Protocol):
    @property
    def name(self) -> str: ...

    async def find(self, prompt: str) -> tuple[Found, ...]:
        """What could help with this prompt. Cancelled when the run is over."""
        ...


class AlreadyRead(Protocol):
    """What the model has seen of files."""

    def seen(self, path: Path) -> bool: ...


@define
class Prefetch:
    """One lookup of one run."""

    source: PrefetchSource
    consumed_in: int | None = field(default=None, init=False)  # the turn that read it
    _found: tuple[Found, ...] | None = field(default=None, init=False)  # None: not settled

    @property
    def settled(self) -> bool:
        return self._found is not None

    def start(self, tasks: TaskGroup, prompt: str) -> None:
        """Begin; `tasks` is the run's group, so the lookup ends with the run."""
        tasks.start_soon(self._search, prompt)

    def consume(self, turn: int, reads: AlreadyRead) -> tuple[Found, ...]:
        """What was found, once; nothing as long as it is not settled. Files that the model has
        read meanwhile are left out."""
        if self._found is None or self.consumed_in is not None:
            return ()
        self.consumed_in = turn
        news = tuple(one for one in self._found if one.path is None or not reads.seen(one.path))
        _log.debug("prefetch read", source=self.source.name, turn=turn, found=len(news))
        return news

    async def _search(self, prompt: str) -> None:
        try:
            self._found = await self.source.find(prompt)
        except Exception:  # a lookup that breaks must not end the run it was to help
            _log.debug("prefetch failed", source=self.source.name, exc_info=True)
            self._found = ()
