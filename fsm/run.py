"""Take one step: state, loop and outcome in; edge, next loop and every guard's value out.

Twice, from the same table. `decide` is the compiled form: a pure function, for bulk work
(check, replay). `LiveMachine` runs a real `transitions.Machine`, for running agents. A property
test holds the two together. Neither does any work of its own: what a state *does* is the
caller's.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any, Generic, TypeVar

import transitions
from attrs import field, frozen

from fsm.declare import Edge, Guard, Machine, name_of
from fsm.errors import UndeclaredOutcome

L = TypeVar("L")


@frozen
class Tried:
    """A guard that was looked at on the way, for the edge `edge`, and what it said."""

    edge: int
    guard: str
    value: bool


@frozen
class Step(Generic[L]):
    """One decision, whole: what was known, what was taken, and what came of it."""

    edge: Edge
    tried: tuple[Tried, ...]
    outcome: Any
    before: L
    after: L
    machine: Machine[L] = field(repr=False)


def decide(machine: Machine[L], state: StrEnum, loop: L, outcome: object) -> Step[L]:
    """The step that `outcome` leads to. Pure. Raises UndeclaredOutcome."""
    edges = machine.rows.get((state, type(outcome)))
    if edges is None:
        raise UndeclaredOutcome(machine.name, state.value, type(outcome).__name__)
    tried: list[Tried] = []
    for edge in edges:
        for guard in edge.guards:
            value = bool(guard(loop, outcome))
            tried.append(Tried(edge.index, name_of(guard), value))
            if not value:
                break
        else:
            after = edge.reducer(loop, outcome)
            return Step(edge, tuple(tried), outcome, loop, after, machine)
    # Only a table made by `with_edges`, which nobody has checked, gets here.
    raise UndeclaredOutcome(machine.name, state.value, type(outcome).__name__)


@frozen
class _Question(Generic[L]):
    """What one trigger carries through `transitions`, and the notes its conditions leave."""

    loop: L
    outcome: object
    tried: list[Tried] = field(factory=list)
    taken: list[tuple[Edge, L]] = field(factory=list)


class _Model:
    """What `transitions` moves; it adds `state` and `trigger` at run time."""

    state: str
    trigger: Callable[..., bool]


class LiveMachine(Generic[L]):
    """A flat, synchronous `transitions.Machine` made from the table.

    No callbacks but conditions: an exception in one leaves the machine where it was, one in
    `on_enter` or `after` would not. The reducer runs inside the last condition for that reason.
    """

    def __init__(self, machine: Machine[L], state: StrEnum | None = None) -> None:
        self.machine = machine
        self._states = {each.value: each for each in machine.states}
        self._model = _Model()
        self._transitions = transitions.Machine(
            model=self._model,
            states=list(self._states),
            initial=(state or machine.initial).value,
            auto_transitions=False,
            send_event=True,
        )
        for edge in machine.edges:
            self._transitions.add_transition(
                trigger=edge.outcome.__name__,
                source=edge.source.value,
                dest=edge.destination.value,
                conditions=[*(_noting(edge, g) for g in edge.guards), _taking(edge)],
            )

    @property
    def state(self) -> StrEnum:
        return self._states[self._model.state]

    @property
    def ended(self) -> bool:
        return self.state in self.machine.endings

    def tell(self, loop: L, outcome: object) -> Step[L]:
        """Move by one edge. Raises UndeclaredOutcome, and then nothing has moved."""
        source, name = self.state, type(outcome).__name__
        question = _Question(loop, outcome)
        if (source, type(outcome)) not in self.machine.rows:
            raise UndeclaredOutcome(self.machine.name, source.value, name)
        try:
            moved = self._model.trigger(name, question=question)
        except transitions.MachineError as error:
            raise UndeclaredOutcome(self.machine.name, source.value, name) from error
        if not moved:
            raise UndeclaredOutcome(self.machine.name, source.value, name)
        edge, after = question.taken[0]
        return Step(edge, tuple(question.tried), outcome, loop, after, self.machine)


def _noting(edge: Edge, guard: Guard) -> Callable[[transitions.EventData], bool]:
    name = name_of(guard)

    def condition(event: transitions.EventData) -> bool:
        question: _Question[Any] = event.kwargs["question"]
        # As a bool: `transitions` compares it with True, and 2 would count as a refusal.
        value = bool(guard(question.loop, question.outcome))
        question.tried.append(Tried(edge.index, name, value))
        return value

    return condition


def _taking(edge: Edge) -> Callable[[transitions.EventData], bool]:
    def take(event: transitions.EventData) -> bool:
        question: _Question[Any] = event.kwargs["question"]
        question.taken.append((edge, edge.reducer(question.loop, question.outcome)))
        return True

    return take
