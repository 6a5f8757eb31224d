"""Tool calls in the trace of a run: written beside it, read back, decided again.

The calls of a run share one file, in the order in which things happened: each record names its
call, and the step of the loop under way. It holds what decisions read and nothing that was said,
as the run's own trace does (see `records`).
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import attrs
from attrs import define, field, frozen
from cattrs import Converter

from fsm import Record, Step, Trace, read_trace
from fsm.replay import Replayed, replay
from interlock.tools.lifecycle import TOOL_CALL, CallFacts, CallOutcome, CallState

Json = Any
T = TypeVar("T")

_RUN, _CALLS = ".trace.jsonl", ".calls.jsonl"
_OUTCOMES: dict[str, type[Any]] = {edge.outcome.__name__: edge.outcome for edge in TOOL_CALL.edges}
# A value that the next version no longer knows must not be ignored: the decision rests on it.
_converter = Converter(omit_if_default=True, forbid_extra_keys=True, detailed_validation=False)


def beside(trace: Path) -> Path:
    """Where the calls of the run with this trace are."""
    return trace.with_name(trace.name.removesuffix(_RUN) + _CALLS)


def payload(step: Step[CallFacts], under: int, *, first: bool) -> Json:
    """A step as JSON: what happened; which step of the loop it is `under`; the facts, once."""
    said: dict[str, Json] = {"call": step.before.id, "under": under}
    if first:
        said["facts"] = _converter.unstructure(step.before)
    return said | {"told": _converter.unstructure(step.outcome)}


def changes(before: CallFacts, after: CallFacts) -> dict[str, Json]:
    """What differs, by name: `[old, new]`."""
    if before is after:
        return {}
    pairs = {
        each.name: [getattr(before, each.name), getattr(after, each.name)]
        for each in attrs.fields(CallFacts)
    }
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


@define
class Life:
    """One call from its first record to its last."""

    facts: CallFacts  # as it began
    records: list[Record] = field(factory=list)

    @property
    def path(self) -> list[str]:
        """The states it was in; one that it stayed in stands once."""
        ways = [record for record in self.records if record.source != record.destination]
        return [self.records[0].source, *(record.destination for record in ways)]

    @property
    def state(self) -> CallState:
        return CallState(self.records[-1].destination)

    @property
    def over(self) -> bool:
        return self.state in TOOL_CALL.endings

    @property
    def under(self) -> int:
        """The step of the loop it ended in, or that was under way when the file ends."""
        return int(self.records[-1].payload["under"])

    @property
    def whole(self) -> bool:
        """Whether each record goes on where the one before it stopped: none is missing."""
        ways = [TOOL_CALL.initial.value, *(record.destination for record in self.records)]
        return all(one == record.source for one, record in zip(ways, self.records, strict=False))

    def told(self, outcome: type[T]) -> T | None:
        """The last outcome of this type it was told; None too where that cannot be read."""
        name = outcome.__name__
        said = [record for record in self.records if record.outcome == name]
        try:
            return _structured(said[-1].payload.get("told"), outcome) if said else None
        except ValueError:
            return None


@frozen
class Calls:
    """The calls of a run, in the order in which they came up."""

    trace: Trace | None = None  # None: no call was made, or an older version made the run
    lives: tuple[Life, ...] = ()
    damage: tuple[str, ...] = ()  # with the file, and line or record

    @property
    def lossy(self) -> bool:
        """Whether something that was written of calls cannot be read any more."""
        return self.trace is not None and len(self.damage) > self.trace.torn

    def under(self, step: int) -> tuple[Life, ...]:
        """Those that ended in this step of the loop."""
        return tuple(life for life in self.lives if life.over and life.under == step)

    @property
    def open(self) -> tuple[Life, ...]:
        """Those whose end nobody wrote down: the process was gone before."""
        return tuple(life for life in self.lives if not life.over)


def calls_of(run: Path) -> Calls:
    """The calls of the run with this trace, as far as they can be read.

    Raises TraceError for a file that is no trace, ValueError for that of another machine.
    """
    path = beside(run)
    if path == run or not path.is_file():
        return Calls()
    trace = read_trace(path)
    if trace.header.machine != TOOL_CALL.name:
        raise ValueError(f"{path}: a trace of {trace.header.machine}, not of {TOOL_CALL.name}")
    current: dict[str, Life] = {}
    lives: list[Life] = []
    damage: dict[str, None] = {}  # a call whose first record is lost is told once
    for record in trace:
        said = record.payload if isinstance(record.payload, Mapping) else {}
        name, facts = said.get("call"), said.get("facts")
        if not isinstance(name, str) or not isinstance(said.get("under"), int):
            damage[f"{path}: record {record.sequence} belongs to no call, left out"] = None
            continue
        if facts is not None:  # an id may come up again: after a reply that was dropped
            current.pop(name, None)
            with suppress(ValueError):
                current[name] = Life(_structured(facts, CallFacts))
                lives.append(current[name])
        if name in current:
            current[name].records.append(record)
        else:
            damage[f"{path}: how call {name} began cannot be read: it is left out"] = None
    return Calls(trace, tuple(lives), (*trace.damage, *damage))


def again(life: Life, *, what_if: bool = False) -> Replayed[CallFacts]:
    """Take the decisions about a call once more. Raises ValueError."""
    steps = outcomes_of(life)
    compared = None if what_if else changes
    return replay(TOOL_CALL, life.facts, steps, changes=compared, what_if=what_if)


def outcomes_of(life: Life) -> list[tuple[Record, CallOutcome]]:
    """Its records with what the call was told. Raises ValueError."""
    return [(record, _outcome(record)) for record in life.records]


def _outcome(record: Record) -> CallOutcome:
    kind = _OUTCOMES.get(record.outcome)
    if kind is None:
        raise ValueError(f"no outcome of a call is named {record.outcome}")
    told: CallOutcome = _structured(record.payload.get("told"), kind)
    return told


def _structured(said: Json, kind: type[T]) -> T:
    if not isinstance(said, dict):
        raise ValueError(f"no {kind.__name__} of this version: it is no JSON object")
    try:
        return _converter.structure(said, kind)
    except Exception as error:  # cattrs raises whatever the first wrong value leads to
        raise ValueError(f"no {kind.__name__} of this version: {error!r}") from error
