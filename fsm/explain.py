"""Why an edge was taken, and why each of the others was not.

`explain` compares a record with the table it was made by; `render` tells it as a short story for
a reviewer. Only what the record holds is told: nothing is decided anew (that is `replay`'s work).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen

from fsm.declare import Edge, Machine
from fsm.errors import TraceError
from fsm.record import Looked, Record


@frozen
class Considered:
    """One edge of the source, and what was seen of it."""

    edge: Edge
    looked: tuple[Looked, ...]  # in order; empty if nobody looked, or if it has no guard
    taken: bool

    @property
    def refused_by(self) -> str | None:
        """The guard that was False; None if the edge was taken or never looked at."""
        return next((each.guard for each in self.looked if not each.value), None)

    @property
    def verdict(self) -> str:
        """One clause about this edge."""
        held = _listed([each.guard for each in self.looked if each.value])
        if self.taken:
            return f"taken because {held} held" if held else "taken: nothing stood before it"
        if self.refused_by is None:
            return "not looked at: an earlier edge was taken"
        although = f", although {held} held" if held else ""
        return f"passed over because guard {self.refused_by} was False{although}"


@frozen
class Explanation:
    """A record, and every edge that its source has for its outcome, in the order of the table."""

    record: Record
    considered: tuple[Considered, ...]

    @property
    def taken(self) -> Considered:
        return next(each for each in self.considered if each.taken)

    @property
    def passed_over(self) -> tuple[Considered, ...]:
        """The edges tried in vain before the one taken."""
        return tuple(each for each in self.considered if each.refused_by is not None)

    @property
    def not_looked_at(self) -> tuple[Considered, ...]:
        return tuple(
            each for each in self.considered if not each.taken and each.refused_by is None
        )


def explain(machine: Machine[Any], record: Record) -> Explanation:
    """The story of `record`. Raises TraceError if `machine` could not have made it."""
    where = f"record {record.sequence}"
    if record.machine != machine.name:
        raise TraceError(where, f"is of machine {record.machine}, not {machine.name}")
    considered = tuple(
        Considered(
            edge,
            tuple(each for each in record.tried if each.edge == edge.index),
            edge.index == record.edge,
        )
        for edge in machine.edges
        if (edge.source.value, edge.outcome.__name__) == (record.source, record.outcome)
    )
    taken = next((each for each in considered if each.taken), None)
    theirs = (record.destination, record.guards, record.reason)
    if taken is None or theirs != (
        taken.edge.destination.value,
        taken.edge.guard_names,
        taken.edge.reason,
    ):
        raise TraceError(where, f"was made by another table: edge {record.edge} is not its edge")
    return Explanation(record, considered)


def render(explanation: Explanation) -> str:
    """Some lines of plain text, the edge taken first."""
    record = explanation.record
    because = f" ({record.reason})" if record.reason else ""
    went = f"{record.source}, told {record.outcome}, went to {record.destination}{because}"
    lines = [f"#{record.sequence} {went}", f"    {_why(explanation)}"]
    for title, edges in (
        ("before it stood", explanation.passed_over),
        ("after it stand", explanation.not_looked_at),
    ):
        if edges:
            lines.append(f"  {title}")
            lines += [f"    {_label(each.edge)}: {each.verdict}" for each in edges]
    if record.changed:
        lines.append("  what changed")
        lines += [f"    {name}: {_change(value)}" for name, value in record.changed.items()]
    return "\n".join(lines) + "\n"


def _why(explanation: Explanation) -> str:
    taken = explanation.taken
    if taken.looked or not explanation.passed_over:
        return taken.verdict
    return "taken because no edge before it would have it"


def _label(edge: Edge) -> str:
    reason = f" ({edge.reason})" if edge.reason not in (None, edge.destination.value) else ""
    return f"{edge.destination}{reason}"


def _change(value: object) -> str:
    if isinstance(value, Mapping) and "count" in value:
        added = value.get("added") or ()
        what = f"{len(added)} added ({', '.join(map(str, added))}), " if added else ""
        return f"{what}{value['count']} in all"
    if isinstance(value, Sequence) and not isinstance(value, str) and len(value) == 2:
        return f"{value[0]} -> {value[1]}"
    return str(value)


def _listed(names: Sequence[str]) -> str:
    *first, last = names or [""]
    return f"{', '.join(first)} and {last}" if first else last
