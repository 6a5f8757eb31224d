"""Old sessions are cleaned beside a session at the command line, at most once a day.

It begins when the first request has been answered for, so that it holds up none, and ends with the
session: what it has not come to by then is for another time. Never raises: nobody asked for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from types import TracebackType
from typing import Self

from attrs import define, field

from interlock.counted import counted
from interlock.settings import Settings
from phases.world.updates import RequestStarted, Show, Update

_LONGEST_S = 20.0  # of one cleaning
_GRACE_S = 0.5  # that it may go on when all else is over


@define(kw_only=True)
class Housekeeping:
    """One cleaning at most, in a thread that does not outlive the `with`."""

    home: Path
    days: int
    tell: Callable[[str], None]  # what was deleted, once, at the end
    _requested: bool = False
    _until: float = 0.0
    _thread: Thread | None = None
    _told: list[str] = field(factory=list)

    @classmethod
    def of(cls, settings: Settings, *, tell: Callable[[str], None]) -> Self:
        return cls(home=settings.home, days=settings.cleanup_days, tell=tell)

    def watching(self, show: Show) -> Show:
        """Passes updates on, and begins with the first that a model's answer brings."""

        def seen(update: Update) -> None:
            show(update)
            if self._requested and self._thread is None:
                self._begin()
            self._requested = self._requested or isinstance(update, RequestStarted)

        return seen

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._thread is None:
            return
        self._until = min(self._until, time.monotonic() + (_GRACE_S if error is None else 0.0))
        self._thread.join()
        for line in self._told:
            self.tell(line)

    def _begin(self) -> None:
        self._until = time.monotonic() + _LONGEST_S
        self._thread = Thread(target=self._clean, name="housekeeping", daemon=True)
        self._thread.start()

    def _clean(self) -> None:
        from interlock.sessions.cleaning import clean_daily

        try:
            done = clean_daily(self.home, self.days, now=time.time(), stop=self._is_over)
        except OSError:
            return  # a home that cannot be written is told by those who must
        if done is not None and done.sessions:
            words = counted(done.sessions, "session was", "sessions were")
            self._told.append(
                f"{words} deleted, not written for {counted(self.days, 'day')} "
                "(cleanupPeriodDays says how long they are kept)"
            )

    def _is_over(self) -> bool:
        return time.monotonic() > self._until
