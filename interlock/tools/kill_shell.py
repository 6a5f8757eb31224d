"""KillShell: end a command in the background with everything it has started."""

from __future__ import annotations

from interlock.tools.background import Background
from interlock.tools.tool import Arguments, Output, Tool, ToolContext


class KillShell(Tool):
    name = "KillShell"
    description = (
        "Ends a background command with everything it has started: asks first (TERM), then kills."
        " BashOutput still shows what it had printed."
    )
    input_schema = {  # noqa: RUF012 (never changed)
        "type": "object",
        "properties": {
            "shell_id": {"type": "string", "description": "The id Bash gave, such as bash_1."},
        },
        "required": ["shell_id"],
        "additionalProperties": False,
    }

    def __init__(self, background: Background) -> None:
        self._background = background

    def effects(self, arguments: Arguments) -> bool:
        # It ends only what this session was permitted to start, so nobody is asked again.
        return False

    async def run(self, arguments: Arguments, context: ToolContext) -> Output:
        one = self._background.find(arguments["shell_id"])
        if one.is_over:
            return Output(f"{one.id} {one.status()}: there is nothing to end.")
        await self._background.end(one)
        return Output(f"{one.id} {one.status()}.")
