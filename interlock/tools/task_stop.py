"""TaskStop: end what runs in the background, with everything it has started.

Here it knows commands; `interlock/agents` widens it to agents.
"""

from __future__ import annotations

from types import MappingProxyType

from interlock.tools.background import Background
from interlock.tools.tool import Arguments, Output, Tool, ToolContext


class TaskStop(Tool):
    name = "TaskStop"
    also = ("KillShell", "KillBash")
    also_arguments = MappingProxyType({"shell_id": "task_id", "bash_id": "task_id"})
    description = (
        "Ends a command or an agent in the background, with everything it has started. A command"
        " is asked first (TERM), then killed; TaskOutput still shows what it had printed."
    )
    input_schema = {  # noqa: RUF012 (never changed)
        "type": "object",
        "properties": {
            "task_id": {
                "type": "string",
                "description": "The id that Bash or Agent gave, such as bash_1.",
            },
        },
        "required": ["task_id"],
        "additionalProperties": False,
    }

    def __init__(self, background: Background) -> None:
        self._background = background

    def effects(self, arguments: Arguments) -> bool:
        # It ends only what this agent was permitted to start, so nobody is asked again.
        return False

    async def run(self, arguments: Arguments, context: ToolContext) -> Output:
        one = self._background.find(arguments["task_id"])
        if one.is_over:
            return Output(f"{one.id} {one.status()}: there is nothing to end.")
        await self._background.end(one)
        return Output(f"{one.id} {one.status()}.")
