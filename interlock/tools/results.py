"""What becomes of what a tool said: one cap for all, and errors that the model can read.

Every result passes here, whichever tool it comes from.
"""

from __future__ import annotations

import re
from pathlib import Path

from interlock.quiet import Quiet
from interlock.tools.contained import Escaped
from interlock.tools.excerpt import shortened
from interlock.tools.paths import BadPath, PathMoved
from interlock.tools.schema import BadInput
from interlock.tools.tool import Output, ToolError
from phases.world.messages import Media, Text, ToolResult, ToolUse

_log = Quiet(__name__)
_ROOM_FOR_NOTE = 400  # characters of the note that says what was left out
_SURROGATES = re.compile("[\ud800-\udfff]")


def capped(use: ToolUse, output: Output, *, cap: int, spill: Path) -> ToolResult:
    """The result: at most `cap` characters of text; what is over it is in a file that is named."""
    parts = (Text(output.content),) if isinstance(output.content, str) else output.content
    left = cap
    content: list[Text | Media] = []
    for part in parts:
        if isinstance(part, Text):
            text = _SURROGATES.sub("\ufffd", part.text)
            if len(text) > left:
                save_as = spill / f"{file_name(use.id)}-{len(content)}.txt"
                text = shortened(text, max(left - _ROOM_FOR_NOTE, left // 2), save_as)
            left = max(0, left - len(text))
            part = Text(text)
        content.append(part)
    kept = tuple(part for part in content if not isinstance(part, Text) or part.text)
    return ToolResult(
        tool_use_id=use.id, content=kept, is_error=output.is_error, loads=output.loads
    )


def failure(name: str, problem: Exception) -> Output:
    """An error the model can read. A fault of a tool or a hook must not end the run, nor be
    hidden from whoever maintains it."""
    while isinstance(problem, ExceptionGroup) and len(problem.exceptions) == 1:
        problem = problem.exceptions[0]
    if isinstance(problem, ToolError | BadPath | PathMoved | BadInput):
        return Output(str(problem), is_error=True)
    said = str(problem)
    if isinstance(problem, OSError) and said:
        return Output(f"{name} failed: {said}.", is_error=True)
    _log.warning("tool failed", tool=name, exc_info=problem)
    if isinstance(problem, Escaped):
        return Output(f"{name} failed: {said}.", is_error=True)
    kind = type(problem).__name__
    return Output(
        f"{name} failed: {kind}: {said}" if said else f"{name} failed: {kind}.", is_error=True
    )


def file_name(call_id: str) -> str:
    """The id as a part of a file's name: a model, or a proxy, chose it."""
    return re.sub(r"[^\w-]", "_", call_id)[:80] or "call"
