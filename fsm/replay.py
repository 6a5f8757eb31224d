"""Take recorded decisions once more, offline, and say where they part from the record.

Over the same table everything must agree: edge, every guard's value, what changed. Over a changed
table (`what_if`) only the way through the states is compared, so it answers: which of these runs
would have gone elsewhere, and where. Needs neither clock nor world: outcomes are in the record.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from itertools import zip_longest
from typing import Any, Generic, Literal, TypeVar

from attrs import frozen

from fsm.declare import Machine
from fsm.errors import UndeclaredOutcome
from fsm.record import Record
from fsm.run import Step, decide

L = TypeVar("L")

Kind = Literal["source", "outcome", "edge", "guards", "changed", "broken"]
Changes = Callable[[Any, Any], Mapping[str, Any]]


@frozen(kw_only=True)
class Decision:
    """One decision by names, so that decisions of two tables can be compared."""

    source: str
    outcome: str
    guards: tuple[str, ...] = ()
    destination: str | None = None  # None if no decision came about
    reason: str | None = None
    tried: tuple[tuple[str, bool], ...] = ()
    changed: Mapping[str, Any] | None = None  # None if nobody compares it
    problem: str | None = None


@frozen
class Divergence:
    """The first step at which record and replay part.

    `kind` says in what: the state it starts from, an outcome that the table does not know, the
    edge, a guard's value, what changed, or a guard or reducer that raised.
    """

    sequence: int
    kind: Kind
    recorded: Decision
    recomputed: Decision

    @property
    def changed_minds(self) -> tuple[str, ...]:
        """The guards that were looked at both times and answered differently."""
        then, now = dict(self.recorded.tried), dict(self.recomputed.tried)
        return tuple(name for name in then if name in now and then[name] != now[name])


@frozen
class Replayed(Generic[L]):
    """How far a replay came: steps that agreed, where it stood then, and what stopped it."""

    divergence: Divergence | None
    steps: int
    state: StrEnum
    loop: L


def replay(
    machine: Machine[L],
    start_loop: L,
    steps: Iterable[tuple[Record, object]],
    *,
    changes: Changes | None = None,
    what_if: bool = False,
    start: StrEnum | None = None,
) -> Replayed[L]:
    """Decide `steps` (records with their outcomes) anew, up to the first divergence.

    `changes(before, after)` is what the recording side used to make `changed`. The first state
    is `start`, else the machine's initial one.
    """
    state, loop, agreed = start or machine.initial, start_loop, 0
    for record, outcome in steps:
        try:
            step = decide(machine, state, loop, outcome)
            if _agrees(record, step, changes, what_if):  # nearly always: nothing is to be told
                state, loop, agreed = step.edge.destination, step.after, agreed + 1
                continue
        except UndeclaredOutcome as error:
            now = Decision(source=state.value, outcome=error.outcome, problem=str(error))
        except Exception as error:  # a guard or reducer of the caller's: whatever it raises
            problem = f"{type(error).__name__}: {error}"
            name = type(outcome).__name__
            now = Decision(source=state.value, outcome=name, problem=problem)
        else:
            now = _recomputed(step, changes)
        then = _recorded(record, changes is not None)
        kind = _difference(then, now, what_if, known=(state, type(outcome)) in machine.rows)
        if kind is not None:
            return Replayed(Divergence(record.sequence, kind, then, now), agreed, state, loop)
        state, loop, agreed = step.edge.destination, step.after, agreed + 1
    return Replayed(None, agreed, state, loop)


def render(divergence: Divergence) -> str:
    """The two decisions side by side, and the guards that changed their mind."""
    rows = [("", "recorded", "now")]
    then, now = divergence.recorded, divergence.recomputed
    for title in ("source", "outcome", "destination", "reason", "guards"):
        rows.append((title, _cell(getattr(then, title)), _cell(getattr(now, title))))
    for position, (mine, yours) in enumerate(zip_longest(then.tried, now.tried)):
        rows.append(("" if position else "looked at", _looked(mine), _looked(yours)))
    for name in dict.fromkeys([*(then.changed or ()), *(now.changed or ())]):
        pair = [_cell((side.changed or {}).get(name)) for side in (then, now)]
        if pair[0] != pair[1]:
            rows.append((name, *pair))
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    lines = [f"step {divergence.sequence} parts from the record: {_SAID[divergence.kind]}"]
    for number, (first, second, third) in enumerate(rows):
        mark = "|" if number and second != third else " "
        row = f"  {first:<{widths[0]}}  {second:<{widths[1]}} {mark} {third}"
        lines.append(row.rstrip())
    values = dict(now.tried)
    for guard in divergence.changed_minds:
        lines.append(f"  guard {guard} changed its mind: {not values[guard]} -> {values[guard]}")
    if now.problem:
        lines.append(f"  {now.problem}")
    return "\n".join(lines) + "\n"


_SAID: dict[Kind, str] = {
    "source": "it starts from another state",
    "outcome": "the table does not know this outcome here",
    "edge": "it takes another edge",
    "guards": "it takes the same edge, but the guards looked at on the way differ",
    "changed": "it takes the same edge, but changes the loop differently",
    "broken": "a guard or reducer raised",
}


def _agrees(record: Record, step: Step[Any], changes: Changes | None, what_if: bool) -> bool:
    """Whether the two are the same beyond doubt, found out as cheaply as can be."""
    edge = step.edge
    if record.source != edge.source or record.destination != edge.destination:
        return False
    if record.reason != edge.reason or record.outcome != edge.outcome.__name__:
        return False
    if what_if:
        return True
    if len(record.tried) != len(step.tried) or record.guards != edge.guard_names:
        return False
    for mine, yours in zip(record.tried, step.tried, strict=True):
        if mine.guard != yours.guard or mine.value is not yours.value:
            return False
    return changes is None or record.changed == changes(step.before, step.after)


def _recorded(record: Record, with_changes: bool) -> Decision:
    return Decision(
        source=record.source,
        outcome=record.outcome,
        guards=record.guards,
        destination=record.destination,
        reason=record.reason,
        tried=tuple((each.guard, each.value) for each in record.tried),
        changed=_plain(record.changed) if with_changes else None,
    )


def _recomputed(step: Step[Any], changes: Changes | None) -> Decision:
    return Decision(
        source=step.edge.source.value,
        outcome=step.edge.outcome.__name__,
        guards=step.edge.guard_names,
        destination=step.edge.destination.value,
        reason=step.edge.reason,
        tried=tuple((each.guard, each.value) for each in step.tried),
        changed=_plain(changes(step.before, step.after)) if changes else None,
    )


def _difference(then: Decision, now: Decision, what_if: bool, known: bool) -> Kind | None:
    if then.source != now.source:
        return "source"
    if now.problem:
        return "broken" if known else "outcome"
    if then.outcome != now.outcome:
        return "outcome"
    if (then.destination, then.reason) != (now.destination, now.reason):
        return "edge"
    if what_if:
        return None
    if then.guards != now.guards:
        return "edge"
    if then.tried != now.tried:
        return "guards"
    return "changed" if then.changed != now.changed else None


def _plain(changed: Mapping[str, Any]) -> dict[str, Any]:
    # As a file would give it back: a recorded list is no other value than a recomputed tuple.
    return dict(json.loads(json.dumps(changed)))


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return (", ".join(value) or "otherwise") if isinstance(value, tuple) else str(value)


def _looked(pair: tuple[str, bool] | None) -> str:
    return f"{pair[0]} {pair[1]}" if pair else ""
