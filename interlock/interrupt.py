"""The user's wish to stop, as a value that can be waited with: no exception steers the loop."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import anyio


class InterruptSignal:
    """Set once per run. Every open `scope` is cancelled at that moment; later ones at once.

    Call `request` from the event loop's own thread (a signal handler of the loop is fine).
    """

    def __init__(self) -> None:
        self._requested = False
        self._scopes: set[anyio.CancelScope] = set()
        self._parts: set[InterruptSignal] = set()

    @property
    def requested(self) -> bool:
        return self._requested

    def request(self) -> None:
        self._requested = True
        for scope in self._scopes:
            scope.cancel()
        for part in tuple(self._parts):
            part.request()

    def reset(self) -> None:
        """Forget it: a new prompt begins."""
        self._requested = False

    @contextmanager
    def scope(self) -> Iterator[anyio.CancelScope]:
        with anyio.CancelScope() as scope:
            self._scopes.add(scope)
            if self._requested:
                scope.cancel()
            try:
                yield scope
            finally:
                self._scopes.discard(scope)

    @contextmanager
    def part(self) -> Iterator[InterruptSignal]:
        """A signal for a part of the work: set with this one, and by itself without it."""
        own = InterruptSignal()
        self._parts.add(own)
        if self._requested:
            own.request()
        try:
            yield own
        finally:
            self._parts.discard(own)
