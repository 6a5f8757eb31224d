"""A run with the agents it started, at every depth: one line each, under the one that asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from fsm import FsmError, Trace, read_trace
from interlock.agents.kept import Kept, kept
from interlock.cli.story import ending_of
from interlock.counted import counted
from interlock.sessions.runs import RunFile

_SHOWN = 60  # characters of a description


def tree_of(found: RunFile) -> str:
    """The tree below a run, which may itself be a sub-agent's."""
    trace = read_trace(found.path)
    runs = found.path.parent
    top = None
    if runs.name == "agents":
        runs, top = runs.parent, found.run_id
    chain = trace.header.chain_id
    children = [one for one in kept(runs.parent / "subagents") if one.chain_id == chain]
    head = f"run {found.run_id}, depth {trace.header.depth}: {_told(trace)}"
    lines = [f"chain {chain}", head, *_below(top, children, runs / "agents", "")]
    return "\n".join(lines) + "\n"


def _below(
    parent: str | None, children: Sequence[Kept], traces: Path, indent: str
) -> Iterator[str]:
    mine = [one for one in children if one.parent_agent_id == parent]
    for number, one in enumerate(mine, 1):
        last = number == len(mine)
        yield f"{indent}{'└─' if last else '├─'} {_line(one, traces)}"
        yield from _below(one.agent_id, children, traces, f"{indent}{'   ' if last else '│  '}")


def _line(one: Kept, traces: Path) -> str:
    about = " ".join(one.description.split())[:_SHOWN]
    beside = ", in the background" if one.background else ""
    name = f"{one.agent_type} {one.agent_id} ({about}{beside})"
    try:
        trace = read_trace(traces / f"{one.agent_id}.trace.jsonl")
    except (FsmError, OSError):
        return f"{name}: it did not come to a first step"
    return f"{name}, depth {trace.header.depth}: {_told(trace)}"


def _told(trace: Trace) -> str:
    turns = sum(record.reason == "next_turn" for record in trace) + 1
    return f"{counted(turns, 'turn')}, {ending_of(trace)}"
