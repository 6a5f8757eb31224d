"""Whether the session works, waits for its host, or has nothing to do: told as it changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import Any

from attrs import define


class State(StrEnum):
    RUNNING = "running"
    REQUIRES_ACTION = "requires_action"
    IDLE = "idle"


@define(eq=False)
class States:
    """`tell` is given a state; None: the host does not want to know."""

    tell: Callable[[State], Any] | None = None
    _state: State | None = None

    def now(self, state: State) -> None:
        if state is not self._state:
            self._state = state
            if self.tell is not None:
                self.tell(state)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """The host has to answer before anything goes on."""
        self.now(State.REQUIRES_ACTION)
        try:
            yield
        finally:
            self.now(State.RUNNING)
