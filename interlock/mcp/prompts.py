"""Prompts of servers as slash commands.

A provider, not a registry: whoever reads slash commands asks it what there is and what one says.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from attrs import frozen

from interlock.mcp.names import slash_command
from interlock.mcp.results import Part, Rendering
from interlock.tools import ToolContext, ToolError
from phases.world.messages import Text

if TYPE_CHECKING:
    from interlock.mcp.remote import RemotePrompt
    from interlock.mcp.server import Server


@frozen(kw_only=True)
class PromptCommand:
    """A slash command: its name without the slash, and what it wants behind it."""

    name: str
    description: str
    hint: str  # "<path> [style]"
    server: Server
    prompt: RemotePrompt

    async def text(self, given: str, context: ToolContext) -> tuple[Part, ...]:
        """What the command says to the model. Raises ToolError, in words for a person."""
        found = await self.server.prompt(self.prompt.name, self._arguments(given))
        rendering = Rendering(self.name, context)
        parts: list[Part] = []
        for message in found.messages:
            said = await rendering.content([message.content])
            if message.role == "assistant":
                said = [Text(f"(You said before: {part.text})") if isinstance(part, Text) else part
                        for part in said]  # fmt: skip
            parts += said
        return tuple(parts)

    def _arguments(self, given: str) -> Mapping[str, str]:
        names = self.prompt.arguments
        if len(names) == 1:
            words = [given.strip()] if given.strip() else []
        else:
            try:
                words = shlex.split(given)
            except ValueError:
                words = given.split()
        if len(words) > len(names) > 0:  # the last one takes the rest
            words = [*words[: len(names) - 1], " ".join(words[len(names) - 1 :])]
        found = dict(zip(names, words, strict=False))
        missing = [name for name in names if name in self.prompt.required and name not in found]
        if missing:
            raise ToolError(f"/{self.name} wants {self.hint}: {', '.join(missing)} is missing.")
        return found


def commands(servers: Iterable[Server]) -> Sequence[PromptCommand]:
    """The commands that these servers have now."""
    return [
        PromptCommand(
            name=slash_command(server.name, prompt.name),
            description=prompt.description,
            hint=" ".join(
                f"<{name}>" if name in prompt.required else f"[{name}]"
                for name in prompt.arguments
            ),
            server=server,
            prompt=prompt,
        )
        for server in servers
        for prompt in server.stock.prompts
    ]
