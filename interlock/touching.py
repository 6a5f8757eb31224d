"""Which files the calls of a turn have worked with: those they name, those a search has found.

A call says what it touches before it runs (`Tool.touches`); a search says it in its result.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path

from interlock.tools import Tool
from phases.world.loop import Loop
from phases.world.messages import ToolResult, ToolUse

_SEARCHES = frozenset({"Glob", "Grep"})
_MOST_HITS = 500  # lines of a result that are looked at


def touched(loop: Loop, tools: Mapping[str, Tool]) -> tuple[Path, ...]:
    """The files and folders of this turn's calls that did not fail, and the folder commands have
    moved to."""
    reply = loop.now.reply
    if reply is None:
        return ()
    cwd = Path(loop.state.tool_use_context.cwd)
    results = {
        block.tool_use_id: block
        for message in loop.now.results
        for block in message.content
        if isinstance(block, ToolResult) and not block.is_error
    }
    found = [
        path
        for call in reply.message.calls
        if call.id in results
        for path in _of_call(call, results[call.id], tools.get(call.name), cwd)
    ]
    after = loop.now.context
    if after is not None and after.cwd != str(cwd):
        found.append(Path(after.cwd))
    return tuple(dict.fromkeys(found))


def _of_call(call: ToolUse, result: ToolResult, tool: Tool | None, cwd: Path) -> Iterator[Path]:
    if tool is None or call.problem is not None:
        return
    try:
        touches = tool.touches(call.input, cwd)
    except Exception:  # a tool of somebody else; hooks may have changed what it ran with
        return
    if call.name in _SEARCHES:
        yield from _hits(result.text, cwd)
    else:
        yield from touches.reads
        yield from touches.writes


def _hits(text: str, cwd: Path) -> Iterator[Path]:
    """The files that a search names: a line is a path, or begins with one and a colon."""
    names = dict.fromkeys(name for line in text.splitlines() for name in _names(line))
    for name in islice(names, _MOST_HITS):
        path = cwd / name
        try:
            if path.is_file():
                yield path
        except (OSError, ValueError):
            continue


def _names(line: str) -> Iterator[str]:
    head, colon, _ = line.partition(":")
    if line and len(line) < 1000:
        yield line
    if colon and head and len(head) < 1000:
        yield head
