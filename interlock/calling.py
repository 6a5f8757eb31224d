"""Calls that no reply has made: those a text asks for that a person or the model has called up.

They go the way of all calls: hooks, permission, sandbox, cap. Only the loop does not see them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import anyio
from attrs import frozen

from interlock.hooks import Hook
from interlock.tools import Tool, ToolExecutor, ToolSession
from interlock.tools.seams import Permissions, ToolHooks
from phases.world.limits import Limits
from phases.world.loop import Reply, ToolUseContext
from phases.world.messages import Json, Kind, Message, ToolResult, ToolUse
from phases.world.ports import Ids, Interrupt
from phases.world.updates import Update

_DENIED = "Permission denied: "


@frozen(kw_only=True)
class Calling:
    """One agent's."""

    tools: Mapping[str, Tool]
    permissions: Permissions
    hooks: ToolHooks
    interrupt: Interrupt
    limits: Limits
    ids: Ids
    session: ToolSession
    mode: Callable[[], str]  # the permission mode, for hooks
    depth: int = 0  # of the agent that calls
    agent_id: str | None = None  # None: the main one
    # Told of hooks that run for this agent until its prompt is over.
    lend_hooks: Callable[[tuple[Hook, ...]], None]

    async def results(
        self, calls: Sequence[tuple[str, Mapping[str, Json]]], cwd: Path
    ) -> tuple[ToolResult, ...]:
        """What these calls (tool and arguments) said, in their order."""
        if not calls:
            return ()
        uses = tuple(
            ToolUse(id=f"text_{self.ids.new()}", name=name, input=arguments)
            for name, arguments in calls
        )
        said = Message(id=self.ids.new(), role="assistant", kind=Kind.REPLY, content=uses)
        called = tuple(use.id for use in uses)
        reply = Reply(message=said, stop_reason="tool_use", calls=called, cut_calls=())
        async with anyio.create_task_group() as tasks:
            executor = ToolExecutor(
                tools=self.tools,
                permissions=self.permissions,
                interrupt=self.interrupt,
                show=_nobody,
                limits=self.limits,
                tasks=tasks,
                ids=self.ids,
                record=_nowhere,
                session=self.session,
                hooks=self.hooks,
            )
            context = self._context(cwd)
            executor.begin(context)
            ran = await executor.run(reply, context)
            tasks.cancel_scope.cancel()
        found = {
            block.tool_use_id: block
            for message in ran.results
            for block in message.content
            if isinstance(block, ToolResult)
        }
        return tuple(found[id_] for id_ in called)

    def _context(self, cwd: Path) -> ToolUseContext:
        return ToolUseContext(
            model="",
            permission_mode=self.mode(),
            cwd=str(cwd),
            tools=tuple(self.tools),
            chain_id=self.ids.new(),
            depth=self.depth,
            agent_id=self.agent_id,
        )


def denial_of(result: ToolResult) -> str | None:
    """Why the call was not permitted; None where it was."""
    text = result.text
    denied = result.is_error and text.startswith(_DENIED)
    return text.removeprefix(_DENIED) if denied else None


def _nobody(update: Update) -> None:
    """The text shows what came of it."""


async def _nowhere(messages: tuple[Message, ...]) -> None:
    """The text that asked for it is what is written down."""
