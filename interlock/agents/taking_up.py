"""Children of a session that a killed process has left: what became of each, told once.

One that had ended has its result on disk; of one that had begun, only that is known. What runs
in the background is told by a note in the queue, all else by the result of its call.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from interlock.agents.kept import Kept, kept
from interlock.home import SessionPaths
from interlock.tools.excerpt import shortened
from interlock.worktrees import all_of, swept, tell, told
from phases.world.messages import Kind, Message, Text, ToolResult

_BEGUN = (
    "No result: the program was ended while the agent {id} worked on this. It was not started"
    " again. What it has changed by then is not known: look, before you repeat it. Its steps are"
    " in {transcript}."
)
_ENDED = "The program was ended before you were told what became of this agent. "


def results_of(paths: SessionPaths, cap: int) -> dict[str, ToolResult]:
    """What is known of the calls that started an agent, by their ids."""
    return {
        one.tool_use_id: _result(one, cap, paths)
        for one in kept(paths.agents)
        if one.parent_agent_id is None and not one.background
    }


def untold(paths: SessionPaths, history: Sequence[Message], cap: int) -> tuple[str, ...]:
    """A note for each background agent of the main one whose end the history does not tell."""
    notes = []
    for one in kept(paths.agents):
        if one.parent_agent_id is not None or not one.background:
            continue
        if _is_told(one, history):
            continue
        said = _shown(one, cap, paths) if one.result else _begun(one)
        notes.append(f"The background agent {one.agent_id} ({one.description}): {said}")
    return tuple(notes)


async def left_by_agents(home: Path, session_id: str) -> tuple[str, ...]:
    """What a killed process of this session has left in worktrees, told once. Those in which
    nothing is go; other sessions' are not looked at."""
    left = [one for one in all_of(home) if one.session_id == session_id and not one.told]
    notes = []
    async for became in swept(left):
        if not became.gone and became.tree.record.exists():
            tell(became.tree)
            about = f"the agent {became.tree.agent_id} ({became.tree.description})"
            words = f"With the program, or by the user, {about} was ended at its work."
            notes.append(f"{words} {told(became)}")
    return tuple(notes)


def _is_told(one: Kept, history: Sequence[Message]) -> bool:
    """Whether a note, or an answer of TaskOutput or TaskStop, has named its end. Its start is
    told by the result of the call that started it, and by no other."""
    marks = (f"(agent {one.agent_id}, ", f"The background agent {one.agent_id} ")
    return any(
        mark in said for message in history for said in _told_by(message, one) for mark in marks
    )


def _told_by(message: Message, one: Kept) -> Iterator[str]:
    for block in message.content:
        if isinstance(block, ToolResult):
            if block.tool_use_id != one.tool_use_id:
                yield block.text
        elif isinstance(block, Text) and message.kind is Kind.NOTE:
            yield block.text


def _result(one: Kept, cap: int, paths: SessionPaths) -> ToolResult:
    if one.result is None:
        return ToolResult(one.tool_use_id, (Text(_begun(one)),), is_error=True)
    text = _shown(one, cap, paths)
    return ToolResult(one.tool_use_id, (Text(text),), is_error=one.is_error)


def _begun(one: Kept) -> str:
    return _BEGUN.format(id=one.agent_id, transcript=one.transcript)


def _shown(one: Kept, cap: int, paths: SessionPaths) -> str:
    save_as: Path = paths.agent(one.agent_id).tool_results / "result.txt"
    return _ENDED + shortened(one.result or "", cap - len(_ENDED), save_as)
