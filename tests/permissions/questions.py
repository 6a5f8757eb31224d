"""Questions as the executor would put them."""

from __future__ import annotations

import os
from pathlib import Path

from interlock.options import PermissionMode
from interlock.permissions import Decision, Judge, Question, Rules


def bash(line: str, cwd: Path = Path("/")) -> Question:
    return Question(
        tool="Bash",
        tool_use_id="t",
        arguments={"command": line},
        effects=True,
        cwd=cwd,
        command=line,
    )


def about(tool: str, written: str, cwd: Path) -> Question:
    """A question about one path, resolved as tools do it."""
    path = Path(os.path.realpath(cwd / written))
    writes = tool in ("Edit", "Write")
    return Question(
        tool=tool,
        tool_use_id="t",
        arguments={"file_path": written},
        effects=writes,
        cwd=cwd,
        reads=() if writes else (path,),
        writes=(path,) if writes else (),
        named=(Path(os.path.normpath(cwd / written)),),
    )


def judged(
    question: Question,
    folder: Path = Path("/"),
    *,
    allow: tuple[str, ...] = (),
    deny: tuple[str, ...] = (),
    ask: tuple[str, ...] = (),
    mode: PermissionMode = PermissionMode.DEFAULT,
) -> Decision:
    return Judge.of(folder, Rules.parse(allow, deny, ask), mode).decide(question)


def call(tool: str, effects: bool = True, **arguments: str) -> Question:
    """A question about a tool that names no file."""
    return Question(
        tool=tool, tool_use_id="t", arguments=arguments, effects=effects, cwd=Path("/")
    )
