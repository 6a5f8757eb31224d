"""Draw a machine: as a Mermaid state diagram, and as a table in Markdown.

Both are made from the table and nothing else, so they cannot lie; a project commits them and
compares them with fresh ones. The full diagram has one arrow per edge. The compact one is for a
first page: one arrow per pair of states, general rows in a note.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any

from fsm.declare import Edge, Machine, composite_of

# Words that Mermaid's state diagrams read as commands where an id is expected.
_RESERVED = {"accdescr", "acctitle", "as", "class", "classdef", "click", "default", "direction"}
_RESERVED |= {"end", "fork", "hide", "href", "join", "note", "scale", "state", "style", "title"}
_RESERVED |= {"choice"}

Arrow = tuple[Edge, str]


def mermaid(machine: Machine[Any], *, compact: bool = False) -> str:
    """A `stateDiagram-v2` with one arrow per edge; `compact` merges those of a pair of states."""
    ids = _ids(machine)
    arrows = (
        _compact(machine) if compact else [(edge, _label(machine, edge)) for edge in machine.edges]
    )
    lines = [f"[*] --> {ids[machine.initial]}"]
    lines += [
        f'state "{_escaped(state.value)}" as {ids[state]}'
        for state in machine.states
        if composite_of(state) is None and ids[state] != state.value
    ]
    for composite in dict.fromkeys(filter(None, map(composite_of, machine.states))):
        lines += _nested(machine, composite, arrows, ids)
    lines += [_arrow(*arrow, ids) for arrow in arrows if _home(arrow[0]) is None]
    lines += [f"{ids[state]} --> [*]" for state in machine.states if state in machine.endings]
    if compact:
        lines += [
            f"note right of {ids[destination]} : from {len(edges)} states, told {outcome}"
            for (outcome, destination), edges in _general(machine).items()
        ]
    return "\n    ".join(["stateDiagram-v2", *lines]) + "\n"


def markdown(machine: Machine[Any]) -> str:
    """The table for reading: `from | guards | to | reason`, in the order in which it is tried.

    A general row stands once, at the top. An ending's reason is the ending's name and not
    repeated.
    """
    rows = [("from", "guards", "to", "reason"), ("---",) * 4]
    kept = [edge for edge in machine.edges if edge.general and edge.guards]
    for told, names in dict.fromkeys((e.outcome.__name__, e.guard_names) for e in kept):
        asked = f"told `{told}`: {', '.join(f'`{name}`' for name in names)}"
        rows.append(("every state whose first row asks this", asked, "where that row goes", ""))
    for (outcome, destination), edges in _general(machine).items():
        where = _everywhere(machine, edges)
        rows.append((where, f"told `{outcome}`", f"`{destination}`", _why(machine, edges[0])))
    for state in machine.states:
        own = [edge for edge in machine.edges if edge.source == state and not edge.general]
        for edge in own:
            told = f"told `{edge.outcome.__name__}`: " if len({e.outcome for e in own}) > 1 else ""
            guards = ", ".join(f"`{name}`" for name in edge.guard_names) or "otherwise"
            to = f"`{edge.destination}`"
            rows.append((f"`{state}`", told + guards, to, _why(machine, edge)))
    return "".join(f"| {' | '.join(row)} |\n".replace("|  |", "| |") for row in rows)


def _why(machine: Machine[Any], edge: Edge) -> str:
    if edge.destination in machine.endings:
        return "ending"
    return f"`{edge.reason}`" if edge.reason else ""


def _nested(
    machine: Machine[Any], composite: str, arrows: Iterable[Arrow], ids: Mapping[StrEnum, str]
) -> list[str]:
    lines = [f"state {_composite_id(composite)} {{"]
    for state in machine.states:
        if composite_of(state) == composite:
            name = state.value.rpartition(".")[2]
            lines.append(f'    state "{_escaped(name)}" as {ids[state]}')
    lines += [f"    {_arrow(*arrow, ids)}" for arrow in arrows if _home(arrow[0]) == composite]
    return [*lines, "}"]


def _home(edge: Edge) -> str | None:
    # An arrow between parts of one composite state is drawn inside it: so layouts keep it whole.
    composite = composite_of(edge.source)
    return composite if composite == composite_of(edge.destination) else None


def _arrow(edge: Edge, label: str, ids: Mapping[StrEnum, str]) -> str:
    tail = f" : {_escaped(label)}" if label else ""
    return f"{ids[edge.source]} --> {ids[edge.destination]}{tail}"


def _everywhere(machine: Machine[Any], edges: Iterable[Edge]) -> str:
    sources = [edge.source for edge in edges]
    if {edge.source for edge in machine.edges} == set(sources):
        return "every state"
    return ", ".join(f"`{source}`" for source in sources)


def _label(machine: Machine[Any], edge: Edge) -> str:
    several = len(machine.outcomes_of(edge.source)) > 1
    guards = f"[{', '.join(edge.guard_names)}]" if edge.guards else ""
    told = edge.outcome.__name__ if several or not guards else ""
    # Into an ending the reason is the ending's own name, which the arrow points at already.
    reason = "" if edge.reason in (None, edge.destination.value) else f"/ {edge.reason}"
    return " ".join(part for part in (told, guards, reason) if part)


def _compact(machine: Machine[Any]) -> list[Arrow]:
    merged: dict[tuple[StrEnum, StrEnum], list[Edge]] = {}
    for edge in machine.edges:
        if edge.guards or not edge.general:
            merged.setdefault((edge.source, edge.destination), []).append(edge)
    return [
        (edges[0], " or ".join(dict.fromkeys(_short(edge, len(edges) > 1) for edge in edges)))
        for edges in merged.values()
    ]


def _short(edge: Edge, beside_others: bool) -> str:
    # The reason says more than the guards, but an ending's is what the arrow points at.
    if edge.reason not in (None, edge.destination.value):
        return str(edge.reason)
    return " and ".join(edge.guard_names) or ("otherwise" if beside_others else "")


def _general(machine: Machine[Any]) -> dict[tuple[str, StrEnum], list[Edge]]:
    found: dict[tuple[str, StrEnum], list[Edge]] = {}
    for edge in machine.edges:
        if edge.general and not edge.guards:
            found.setdefault((edge.outcome.__name__, edge.destination), []).append(edge)
    return found


def _ids(machine: Machine[Any]) -> dict[StrEnum, str]:
    taken = {_composite_id(each) for each in map(composite_of, machine.states) if each}
    ids: dict[StrEnum, str] = {}
    for state in machine.states:
        wanted = re.sub(r"\W", "_", state.value)
        while wanted in taken or wanted in _RESERVED:
            wanted += "_"
        taken.add(wanted)
        ids[state] = wanted
    return ids


def _composite_id(composite: str) -> str:
    return f"{composite}_" if composite in _RESERVED else composite


def _escaped(text: str) -> str:
    """`text` with all that Mermaid could take for syntax as numbered entities."""
    return re.sub(r'[#;:"<>{}\n]', lambda found: f"#{ord(found.group())};", text)
