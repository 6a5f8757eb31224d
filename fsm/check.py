"""The model check: every law, over everything a machine can do with its specimens.

    law 1   it ends: a measure falls wherever the machine goes round
    law 2   every outcome has an edge, and no guard or reducer raises
    law 3   nothing is dead: every edge taken, every guard True and False, every state left
    others  the caller's, as predicates over one step

Explored are small limits, for they show all that a reducer can do to a counter; the bounds are
computed for the real ones (see `bounds`). A law that is broken names its edge, and the shortest
path that leads there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

from attrs import Factory, define, evolve, frozen

from fsm.bounds import Bounds, Measure, Observed, bounds, nothing, observe
from fsm.declare import Edge, Machine
from fsm.explore import Explored, Specimens, explore, never
from fsm.laws import Finding, Law, law_1, law_2, law_3
from fsm.run import Step

__all__ = [
    "Bounds",
    "Counts",
    "Finding",
    "Law",
    "Measure",
    "Verdict",
    "bounds",
    "check",
    "render",
]

L = TypeVar("L")


@frozen
class Counts:
    """How much was looked at; `seconds` is for a caller that has a clock."""

    places: int
    steps: int
    seconds: float | None = None


@frozen
class Verdict(Generic[L]):
    """What the check has found. `bounds` is None if law 1 does not hold, or no limits were given.

    `observed` gives the bounds for other limits, or more turns, without checking again.
    """

    machine: str
    findings: tuple[Finding, ...]
    observed: Observed[L] | None
    bounds: Bounds | None
    counts: Counts

    @property
    def ok(self) -> bool:
        return not self.findings

    def timed(self, seconds: float) -> Verdict[L]:
        """The same verdict, with the time it took."""
        return evolve(self, counts=evolve(self.counts, seconds=seconds))


@define
class _Watched(Generic[L]):
    """The laws of the caller, and the first step over each edge that broke one."""

    laws: tuple[Law[L], ...]
    broken: dict[tuple[str, int], int] = Factory(dict)

    def see(self, arrow: int, step: Step[L]) -> None:
        for law in self.laws:
            if not law.holds(step):
                self.broken.setdefault((law.name, step.edge.index), arrow)

    def findings(self, found: Explored[L]) -> Iterator[Finding]:
        texts = {law.name: law.text for law in self.laws}
        for (name, _), arrow in self.broken.items():
            yield Finding(name, found.arrows[arrow].edge, texts[name], found.path(arrow))


def check(
    machine: Machine[L],
    *,
    starts: Iterable[L],
    specimens: Specimens,
    normal: Callable[[L], L],
    limit: int = 200_000,
    outer: Measure[L] | None = None,
    inner: Measure[L] | None = None,
    turn_over: Callable[[Edge], bool] = never,
    laws: Iterable[Law[L]] = (),
    full: L | None = None,
    turns: int = 1,
) -> Verdict[L]:
    """Check `machine` from `starts`: fresh loops, nothing spent, with small limits.

    Edges for which `turn_over` holds may go back to the start (or elsewhere) as often as they
    like; everything between two of them is a turn. `full` is a fresh loop at the limits in force.
    `limit` is how many places may be explored; for the other arguments see `explore`.
    """
    watched = _Watched(tuple(laws))
    outer, inner = outer or nothing("outer"), inner or nothing("inner")
    found = explore(
        machine,
        starts,
        specimens,
        normal,
        limit,
        turn_over=turn_over,
        watch=watched.see,
        lost=lambda loop: min((*outer.of(loop), *inner.of(loop)), default=0) < 0,
    )
    findings = list(law_1(found, outer, inner))
    sound = not findings and not found.cut
    findings += [*law_2(found), *law_3(found), *watched.findings(found)]
    if found.cut:
        text = f"the search was ended at {limit} places: nothing is proven"
        findings.append(Finding("search", None, text))
    observed = observe(found, outer, inner) if sound else None
    return Verdict(
        machine.name,
        tuple(findings),
        observed,
        bounds(observed, full, turns) if observed and full is not None else None,
        Counts(len(found.places), len(found.arrows)),
    )


def render(verdict: Verdict[Any]) -> str:
    """The verdict in words: counts, bounds, then each finding with the path that shows it."""
    counts = verdict.counts
    took = f" in {counts.seconds:.2f} s" if counts.seconds is not None else ""
    state = "all laws hold" if verdict.ok else f"{len(verdict.findings)} findings"
    lines = [f"{verdict.machine}: {state} ({counts.places} places, {counts.steps} steps{took})"]
    if verdict.bounds is not None:
        lines += _told(verdict.bounds)
    for finding in verdict.findings:
        lines.append(f"{finding.law}: {finding.edge or verdict.machine}: {finding.text}")
        lines += [f"    {n}. {_step(step)}" for n, step in enumerate(finding.path, start=1)]
    return "\n".join(lines) + "\n"


def _told(most: Bounds) -> Iterator[str]:
    yield f"  in {most.turns} turn{'s' if most.turns > 1 else ''} at most"
    rows = [(f"{most.iterations}", "iterations"), (f"{most.edges}", "edges")]
    if most.visits:
        rows.insert(1, (f"{most.visits[1]}", f"times {most.visits[0]}"))
    rows += [(f"{times}", name) for name, times in most.times]
    width = max(len(count) for count, _ in rows)
    for count, name in rows:
        yield f"    {count:>{width}} {name}"


def _step(step: Step[Any]) -> str:
    edge, values = step.edge, ", ".join(f"{t.guard} {t.value}" for t in step.tried)
    reason = f" / {edge.reason}" if edge.reason else ""
    return f"{edge.source} --{edge.outcome.__name__}--> {edge.destination}{reason} [{values}]"
