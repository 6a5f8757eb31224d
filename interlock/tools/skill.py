"""Skill: the instructions of a skill, as a result. What there is, the model is told elsewhere.

One that runs as an agent of its own is handed to whoever starts those; its report is the result.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from attrs import frozen

from interlock.tools.tool import Arguments, Output, Tool, ToolContext, ToolError


@frozen
class Apart:
    """A skill that runs as an agent of its own. What is None is as usual."""

    name: str
    agent: str | None = None
    model: str | None = None
    effort: str | None = None


class Instructions(Protocol):
    """Where the instructions come from."""

    def apart(self, name: str) -> Apart | None:
        """How a skill runs as an agent of its own; None for any other. Raises ToolError."""
        ...

    async def use(self, name: str, arguments: str, cwd: Path) -> str:
        """The text of a skill, filled in. Raises ToolError for one that cannot be used."""
        ...


class Elsewhere(Protocol):
    """Who starts agents."""

    async def __call__(self, apart: Apart, arguments: str, context: ToolContext) -> Output:
        """What came of it. Raises ToolError."""
        ...


class Skill(Tool):
    name = "Skill"
    description = (
        "Fetches the instructions of a skill: knowledge or a way to work that was written down for"
        " tasks like this one. Which skills there are, you are told in the conversation; when one"
        " fits the task, fetch it before you begin, and follow what it says. What its folder holds"
        " you can read. `/name` in the user's words means a skill or a command of that name; one"
        " that they have called themselves is in the conversation already."
    )
    input_schema = {  # noqa: RUF012 (never changed)
        "type": "object",
        "properties": {
            "skill": {"type": "string", "description": "The name, as it is listed."},
            "args": {"type": "string", "description": "What it is used for, if it asks for that."},
        },
        "required": ["skill"],
        "additionalProperties": False,
    }
    time_limit = None  # its commands have limits of their own

    def __init__(
        self, instructions: Instructions | None = None, elsewhere: Elsewhere | None = None
    ) -> None:
        self._instructions, self._elsewhere = instructions, elsewhere

    # It may run commands that the instructions hold, each by permission: so it has effects.

    async def run(self, arguments: Arguments, context: ToolContext) -> Output:
        if self._instructions is None:
            raise ToolError("There are no skills in this session.")
        name, given = arguments["skill"], arguments.get("args") or ""
        apart = self._instructions.apart(name)
        if apart is not None and self._elsewhere is not None:
            return await self._elsewhere(apart, given, context)
        return Output(await self._instructions.use(name, given, context.cwd))
