"""Which edges were taken, and which guards were seen True and False, over many runs.

Feed `saw` every step of a test run. Counts of several processes are joined by `dump`, `load` and
`merge`; where the dumps are kept is the caller's business. Everything is kept by name, so a dump
survives a table that was reordered. A guard counts anew on each edge it stands on: one that is
never False *there* could be left out there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import orjson
from attrs import frozen

from fsm.declare import Edge, Machine
from fsm.run import Step

Seen = tuple[str, str, bool]  # edge, guard, value


class Coverage:
    """What was seen so far, of any number of machines."""

    def __init__(self) -> None:
        self._edges: dict[str, Counter[str]] = {}
        self._guards: dict[str, Counter[Seen]] = {}
        self._names: dict[Machine[Any], tuple[str, ...]] = {}

    def saw(self, step: Step[Any]) -> None:
        """Count one step."""
        names = self._names.get(step.machine)
        if names is None:
            names = self._names[step.machine] = tuple(map(str, step.machine.edges))
        edges, guards = self._of(step.machine.name)
        edges[names[step.edge.index]] += 1
        for each in step.tried:
            guards[names[each.edge], each.guard, each.value] += 1

    def merge(self, other: Coverage) -> None:
        """Add what `other` has seen."""
        for name in other._edges:
            edges, guards = self._of(name)
            edges.update(other._edges[name])
            guards.update(other._guards[name])

    def dump(self) -> str:
        """All of it as one line of JSON."""
        value = {
            name: {
                "edges": self._edges[name],
                "guards": [[*seen, count] for seen, count in self._guards[name].items()],
            }
            for name in self._edges
        }
        return orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE).decode()

    @classmethod
    def load(cls, text: str) -> Coverage:
        """The sum of any number of dumps, a line each."""
        whole = cls()
        for line in text.splitlines():
            for name, value in orjson.loads(line).items():
                edges, guards = whole._of(name)
                edges.update(value["edges"])
                for edge, guard, held, count in value["guards"]:
                    guards[edge, guard, held] += count
        return whole

    def report(self, machine: Machine[Any]) -> CoverageReport:
        """What of `machine` was seen, and what is missing."""
        edges, guards = self._of(machine.name)
        return CoverageReport(
            machine.name,
            tuple(Taken(edge, edges[str(edge)]) for edge in machine.edges),
            tuple(
                Valued(
                    edge, guard, guards[str(edge), guard, True], guards[str(edge), guard, False]
                )
                for edge in machine.edges
                for guard in edge.guard_names
            ),
        )

    def _of(self, name: str) -> tuple[Counter[str], Counter[Seen]]:
        return self._edges.setdefault(name, Counter()), self._guards.setdefault(name, Counter())


@frozen
class Taken:
    """How often an edge was taken."""

    edge: Edge
    times: int


@frozen
class Valued:
    """How often a guard was True and False where it stands on `edge`."""

    edge: Edge
    guard: str
    true: int
    false: int


@frozen
class CoverageReport:
    """Coverage of one machine, row by row of its table."""

    machine: str
    edges: tuple[Taken, ...]
    guards: tuple[Valued, ...]

    @property
    def missing_edges(self) -> tuple[Edge, ...]:
        return tuple(each.edge for each in self.edges if not each.times)

    @property
    def missing_values(self) -> tuple[tuple[Edge, str, bool], ...]:
        """Each guard value that was never seen."""
        return tuple(
            (each.edge, each.guard, value)
            for each in self.guards
            for value, count in ((True, each.true), (False, each.false))
            if not count
        )

    @property
    def whole(self) -> bool:
        return not self.missing_edges and not self.missing_values


def render(report: CoverageReport) -> str:
    """Two counts, then a line for everything that is missing."""
    edges = _of(len(report.edges), report.missing_edges)
    values = _of(2 * len(report.guards), report.missing_values)
    lines = [f"{report.machine}: {edges} edges taken, {values} guard values seen"]
    lines += [f"  never taken: {edge}" for edge in report.missing_edges]
    lines += [
        f"  never {value}: {guard} of {edge}" for edge, guard, value in report.missing_values
    ]
    return "\n".join(lines) + "\n"


def _of(count: int, missing: Iterable[object]) -> str:
    return f"{count - len(tuple(missing))} of {count}"
