"""What a trace is made of: a header, then one record for each edge a machine took, and why.

A record is made from a `Step`; what only the caller knows (the outcome as data, what changed, the
time) is given as plain JSON. So this file needs no knowledge of loops, and a trace outlives the
classes that made it. Read `trace` next: it puts them into a file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

import orjson
from attrs import frozen

from fsm.declare import Machine, name_of
from fsm.run import Step

FORMAT = 1  # of the file; a reader that does not know the number refuses the file


@frozen(kw_only=True)
class Header:
    """What a trace begins with: which machine, which table, and the loop it started from."""

    machine: str
    table: str  # digest of the table, see `digest`
    initial: str
    endings: tuple[str, ...]
    chain_id: str
    depth: int  # 0 for the user's own run, 1 for a run that this one started
    start: Any  # JSON, the caller's initial loop
    format: int = FORMAT
    made_up: bool = False  # its line cannot be read: this is what the records tell of it


@frozen
class Looked:
    """A guard that was looked at for the edge with this index, and its value."""

    edge: int
    guard: str
    value: bool


@frozen(kw_only=True)
class Record:
    """One edge taken. `payload` and `changed` are JSON, made by the caller."""

    sequence: int
    time: float  # unix seconds
    machine: str
    source: str
    destination: str
    outcome: str
    payload: Any
    tried: tuple[Looked, ...]
    edge: int
    reason: str | None
    changed: Mapping[str, Any]
    chain_id: str
    depth: int

    @property
    def guards(self) -> tuple[str, ...]:
        """The guards of the edge that was taken; each of them held."""
        return tuple(each.guard for each in self.tried if each.edge == self.edge)


@frozen
class Trace:
    """The records of one run in order; `damage` says what was wrong with the file, line by line.

    `torn`: its end was cut off by a crash. What had not been written whole had not happened, so
    that costs nothing.
    """

    header: Header
    records: tuple[Record, ...]
    damage: tuple[str, ...] = ()
    torn: bool = False

    @property
    def lossy(self) -> bool:
        """Whether something that was written whole cannot be read any more."""
        return len(self.damage) > self.torn

    @property
    def known(self) -> tuple[Record, ...]:
        """The records up to the first that is missing: what can be decided once more."""
        if self.header.made_up:
            return ()
        first = next((at for at, one in enumerate(self.records) if one.sequence != at), None)
        return self.records[:first]

    @property
    def steps(self) -> int:
        """How many steps the run took, those that cannot be read included."""
        return self.records[-1].sequence + 1 if self.records else 0

    def __len__(self) -> int:
        return len(self.records)

    def __iter__(self) -> Iterator[Record]:
        return iter(self.records)

    def __getitem__(self, position: int) -> Record:
        return self.records[position]

    @property
    def path(self) -> list[str]:
        """Every state that was visited, from the first to the last."""
        first = self.records[0].source if self.records else self.header.initial
        return [first, *(record.destination for record in self.records)]

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the machine went back to its start, each time it did."""
        return tuple(
            record.reason
            for record in self.records
            if record.destination == self.header.initial and record.reason is not None
        )

    @property
    def ending(self) -> str | None:
        """The ending the run came to, or None if it is not over."""
        last = self.path[-1]
        return last if last in self.header.endings else None

    def took(self, source: str, destination: str, reason: str | None = None) -> bool:
        """Whether a record goes from `source` to `destination`, and for `reason` if given."""
        return any(
            (record.source, record.destination) == (source, destination)
            and reason in (None, record.reason)
            for record in self.records
        )


def digest(machine: Machine[Any]) -> str:
    """A short hash of the table by names: equal for equal tables, in every process."""
    rows = [
        [
            edge.source.value,
            edge.outcome.__name__,
            edge.guard_names,
            edge.destination.value,
            name_of(edge.reducer),
            edge.reason,
        ]
        for edge in machine.edges
    ]
    whole = [machine.name, machine.initial.value, sorted(machine.endings), rows]
    return hashlib.sha256(orjson.dumps(whole)).hexdigest()[:12]


def header_of(machine: Machine[Any], *, chain_id: str, depth: int, start: object) -> Header:
    """The header of a trace that `machine` is about to make."""
    return Header(
        machine=machine.name,
        table=digest(machine),
        initial=machine.initial.value,
        endings=tuple(sorted(ending.value for ending in machine.endings)),
        chain_id=chain_id,
        depth=depth,
        start=start,
    )


def record_of(
    step: Step[Any],
    *,
    sequence: int,
    time: float,
    payload: object,
    changed: Mapping[str, Any],
    chain_id: str,
    depth: int,
) -> Record:
    """The record of `step`. Sequences of one trace count up by one."""
    return Record(
        sequence=sequence,
        time=time,
        machine=step.machine.name,
        source=step.edge.source.value,
        destination=step.edge.destination.value,
        outcome=step.edge.outcome.__name__,
        payload=payload,
        tried=tuple(Looked(each.edge, each.guard, each.value) for each in step.tried),
        edge=step.edge.index,
        reason=step.edge.reason,
        changed=changed,
        chain_id=chain_id,
        depth=depth,
    )
