"""Assertions about a run's way through the machine, each with the way itself where it fails.

    Way.of(result).took("abort_check", "tools").never("recovery.backoff").ended("completed")

A state that no machine has is an error, not a test that passes for ever.
"""

from __future__ import annotations

from difflib import get_close_matches
from os import PathLike
from typing import TYPE_CHECKING, Self

from attrs import frozen

from fsm import Record, Trace, TraceError, read_trace
from interlock.counted import counted
from interlock.errors import RunNotFound, UsageError
from phases.world.states import ENDINGS, State

if TYPE_CHECKING:
    from interlock.api.result import Result
    from interlock.testing.play import Played


@frozen
class Way:
    """The way of one run; each assertion returns it, so that several can follow each other."""

    trace: Trace

    @classmethod
    def of(cls, run: Result | Played | Trace | str | PathLike[str]) -> Self:
        """Of a result, of a played run, or of a trace or its file. Raises RunNotFound where that
        cannot be read, and UsageError."""
        trace = getattr(run, "trace", run)
        if isinstance(trace, Trace):
            return cls(trace)
        if not isinstance(trace, str | PathLike):
            raise UsageError(f"Way.of: {trace!r} is no result, no trace, nor the path of one")
        try:
            return cls(read_trace(trace))
        except (OSError, TraceError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            raise RunNotFound(str(trace), f"its trace cannot be read: {why}") from None

    @property
    def states(self) -> tuple[str, ...]:
        """Every state that was visited, in order."""
        return tuple(self.trace.path)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the run went on, each time it did: `next_turn`, `reactive_compact_retry`, …"""
        return self.trace.reasons

    def took(
        self,
        source: str,
        destination: str,
        *,
        because: str | None = None,
        times: int | None = None,
    ) -> Self:
        """It took an edge from `source` to `destination`: `because` is a guard that held on it,
        or its reason; `times` how often, where that matters."""
        found = self._edges(source, destination, because)
        if not found if times is None else len(found) != times:
            often = "" if times is None else f" {counted(times, 'time')}, but {len(found)}"
            self._fail(f"never took {_edge(source, destination, because)}{often}")
        return self

    def never_took(self, source: str, destination: str, *, because: str | None = None) -> Self:
        if self._edges(source, destination, because):
            self._fail(f"took {_edge(source, destination, because)}")
        return self

    def reached(self, state: str) -> Self:
        if _known(state) not in self.states:
            self._fail(f"never reached {state}")
        return self

    def never(self, *states: str) -> Self:
        """It was in none of these states."""
        for state in states:
            if _known(state) in self.states:
                self._fail(f"reached {state}")
        return self

    def went_on(self, *reasons: str) -> Self:
        """It went on for these reasons, in this order, and for no others."""
        if self.reasons != reasons:
            self._fail(f"went on for {self.reasons}, not for {reasons}")
        return self

    def ended(self, reason: str) -> Self:
        """It came to this ending."""
        if reason not in ENDINGS:
            raise ValueError(f"no ending {reason!r}; {_meant(reason, tuple(ENDINGS))}")
        if self.trace.ending != reason:
            self._fail(f"ended in {self.trace.ending}, not in {reason}")
        return self

    def explain(self, step: int | None = None) -> str:
        """Why it went this way: the run as a story, or one step with every edge that was not
        taken, and why. Raises UsageError for a step that is not there."""
        from fsm.explain import explain, render
        from fsm.narrate import narrate
        from interlock.machines import MACHINES

        machine = MACHINES[self.trace.header.machine]
        if step is None:
            return "\n\n".join(narrate(machine, self.trace))
        for record in self.trace:
            if record.sequence == step:
                return render(explain(machine, record))
        raise UsageError(f"the run has no step {step}; it has {counted(len(self.trace), 'step')}")

    def __str__(self) -> str:
        return "\n".join(f"  {_line(record)}" for record in self.trace)

    def _edges(self, source: str, destination: str, because: str | None) -> list[Record]:
        _known(source), _known(destination)
        return [
            record
            for record in self.trace
            if (record.source, record.destination) == (source, destination)
            and (because is None or because in (*record.guards, record.reason))
        ]

    def _fail(self, words: str) -> None:
        __tracebackhide__ = True
        raise AssertionError(f"the run {words}. Its way:\n{self}")


def _known(state: str) -> str:
    if state not in set(State):
        raise ValueError(f"no state {state!r}; {_meant(state, tuple(State))}")
    return state


def _meant(name: str, known: tuple[str, ...]) -> str:
    near = get_close_matches(name, known, n=1)
    return f"did you mean {str(near[0])!r}?" if near else f"there are {', '.join(known)}"


def _edge(source: str, destination: str, because: str | None) -> str:
    return f"{source} -> {destination}" + (f" because {because}" if because else "")


def _line(record: Record) -> str:
    why = ", ".join((*record.guards, *([record.reason] if record.reason else ())))
    return f"{record.source} -> {record.destination}" + (f"  ({why})" if why else "")
