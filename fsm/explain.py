"""Why an edge was taken, and why each of the others was not.

`explain` compares a record with the table it was made by; `render` tells it as a short story for
a reviewer, who need not know the guards: their docstrings stand beside them. Only what the record
holds is told: nothing is decided anew (that is `replay`'s work). A whole run is told by `narrate`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from inspect import getdoc, getsource, signature
from textwrap import dedent
from typing import Any

from attrs import frozen

from fsm.declare import Edge, Machine, name_of
from fsm.errors import TraceError
from fsm.record import Looked, Record

_CODE = 200  # characters; a longer expression explains nothing at a glance
_NAMED = 4  # ids of what was added; more of them tell a reader nothing


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
        held = listed([each.guard for each in self.looked if each.value])
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
    """Some lines of plain text, the edge taken first; beside each guard, what it asks."""
    record, taken = explanation.record, explanation.taken
    because = f" ({record.reason})" if record.reason else ""
    went = f"{record.source}, told {record.outcome}, went to {record.destination}{because}"
    told: set[str] = set()
    lines = [f"#{record.sequence} {went}", f"    {_why(explanation)}", *_guards(taken, told)]
    if explanation.passed_over:
        lines.append("  before it stood")
        for each in explanation.passed_over:
            lines += [f"    {label(each.edge)}: {each.verdict}", *_guards(each, told)]
    if explanation.not_looked_at:
        lines.append("  after it stand, not looked at because an earlier edge was taken")
        lines.append(f"    {', '.join(label(each.edge) for each in explanation.not_looked_at)}")
    if record.changed:
        done = does(taken.edge)
        lines.append(f"  what changed ({done})" if done else "  what changed")
        lines += [f"    {name}: {change(value)}" for name, value in record.changed.items()]
    return "\n".join(lines) + "\n"


# --- in words --------------------------------------------------------------------------------


def label(edge: Edge) -> str:
    """Where an edge leads, and why, if the place alone does not say it."""
    reason = f" ({edge.reason})" if edge.reason not in (None, edge.destination.value) else ""
    return f"{edge.destination}{reason}"


def asks(edge: Edge, guard: str) -> str:
    """What a guard of `edge` asks: the beginning of its docstring, else what it returns."""
    found = next((each for each in edge.guards if name_of(each) == guard), None)
    return "" if found is None else _beginning(found) or _returned(found)


def does(edge: Edge) -> str:
    """What the reducer of an edge that is called by it does, likewise."""
    return _beginning(edge.reducer) if edge.reason == name_of(edge.reducer) else ""


def change(value: object) -> str:
    """What became of one field, in words."""
    match value:
        case {"count": int(count), "added": added, "removed": gone}:
            return _counted(count, added, gone)
        case {"count": int(count), "added": added}:
            return _counted(count, added, 0)
        case {"count": int(count)}:
            return _counted(count, (), 0)
        case [None, new]:
            return f"now {_brief(new)}"
        case [old, None]:
            return f"no longer {_brief(old)}"
        case [bool(), new]:
            return f"now {new}"
        case [old, new]:
            return f"{_brief(old)} -> {_brief(new)}"
    return _brief(value)


def listed(names: Sequence[str]) -> str:
    """Names with commas, and `and` before the last."""
    *first, last = names or [""]
    return f"{', '.join(first)} and {last}" if first else last


def _why(explanation: Explanation) -> str:
    taken = explanation.taken
    if taken.looked or not explanation.passed_over:
        return taken.verdict
    return "taken because no edge before it would have it"


def _guards(considered: Considered, told: set[str]) -> Iterator[str]:
    """Each guard's value, and, if that was not `told` yet, what it asks."""
    for each in considered.looked:
        question = "" if each.guard in told else asks(considered.edge, each.guard)
        told.add(each.guard)
        yield f"      {each.value!s:<5}  {each.guard}{f': {question}' if question else ''}"


def _beginning(function: Callable[..., Any]) -> str:
    return " ".join((getdoc(function) or "").partition("\n\n")[0].split())


def _returned(function: Callable[..., Any]) -> str:
    """The expression it returns, if that is all it does in the end; a guard is that short."""
    try:
        nodes = list(ast.walk(ast.parse(dedent(getsource(function)))))
    except (OSError, TypeError, SyntaxError):
        return ""  # no source at hand
    values = [node.value for node in nodes if isinstance(node, ast.Return) and node.value]
    code = ast.unparse(values[0]) if len(values) == 1 else ""
    code = code.replace(f"({', '.join(signature(function).parameters)})", "")
    return f"`{code}`" if 0 < len(code) <= _CODE else ""


def _counted(count: int, added: Sequence[object], gone: object) -> str:
    names = [str(each) for each in added[:_NAMED]] + ["…"] * (len(added) > _NAMED)
    parts = [f"{len(added)} added ({', '.join(names)})"] if added else []
    parts += [f"{gone} removed"] if gone else []
    return ", ".join([*parts, f"{count} in all" if count else "none left"])


def _brief(value: object) -> str:
    match value:
        case float():
            return f"{value:.6g}"
        case {**parts}:
            return ", ".join(f"{name} {_brief(part)}" for name, part in parts.items())
    return str(value)
