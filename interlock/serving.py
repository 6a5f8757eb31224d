"""Our own tools as an MCP server on stdio: for other programs, behind permissions.

Nobody can be asked here, so what no rule and no mode allows is denied, in words. Calls run by the
executor that a session has, each in a round of its own, so order, limits and the cap are the same.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
from attrs import define

from interlock import __version__, confined
from interlock.configured import Configured
from interlock.errors import UsageError
from interlock.inbox import Mail, Waiting
from interlock.interrupt import InterruptSignal
from interlock.offered import Workshop
from interlock.permissions import Gate, NobodyAsks
from interlock.permissions.explain import judge_of
from interlock.planning import Planning
from interlock.sandbox import opened
from interlock.tools import FileReads, TodoList, Tool, ToolExecutor, ToolSession
from interlock.world import RandomIds, RealClock
from phases.world.loop import Reply, ToolUseContext
from phases.world.messages import Kind, Media, Message, ToolResult, ToolUse

if TYPE_CHECKING:
    from mcp_types import CallToolRequestParams, CallToolResult, ListToolsResult

# What is about a conversation, which is not ours here.
_NOT_OFFERED = frozenset(
    {"AskUserQuestion", "EnterPlanMode", "ExitPlanMode", "Skill", "Sleep", "TodoWrite"}
)


def serve(found: Configured) -> int:
    """Serve until standard input closes; the exit code. Raises InterlockError."""
    try:
        import mcp  # noqa: F401
    except ImportError as error:
        raise UsageError(
            "this needs the package mcp: pip install 'interlock[mcp]' brings it"
        ) from error
    anyio.run(_serve, found)
    return 0


async def _serve(found: Configured) -> None:
    from mcp.server import Server
    from mcp.server.stdio import stdio_server

    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="interlock-serve-")))
        desk = await _desk(found, folder, stack)
        server: Server[Any] = Server(
            "interlock",
            version=__version__,
            on_list_tools=desk.list_tools,
            on_call_tool=desk.call_tool,
        )
        incoming, outgoing = await stack.enter_async_context(stdio_server())
        await server.run(incoming, outgoing, server.create_initialization_options())


async def _desk(found: Configured, folder: Path, stack: AsyncExitStack) -> Desk:
    options, settings = found.options, found.settings
    cwd, ids = options.cwd.resolve(), RandomIds()
    gate = Gate(judge_of(options), NobodyAsks())
    policy = confined.policy_of(options, cwd, gate, settings.home)
    box = await stack.enter_async_context(opened(confined.mode_of(options), policy, taken=folder))
    workshop = Workshop(
        options=options,
        settings=settings,
        mail=Mail(Waiting(ids)),
        clock=RealClock(),
        todos=TodoList(),
        plan=Planning(gate, alone=True),
        person=None,
        sandbox=box,
    )
    tools = {name: tool for name, tool in workshop.tools(()).items() if name not in _NOT_OFFERED}
    for tool in tools.values():
        stack.callback(tool.close)
    tasks = await stack.enter_async_context(anyio.create_task_group())
    return Desk(
        tools=tools,
        gate=gate,
        found=found,
        session=ToolSession(root=cwd, spill=folder, reads=FileReads()),
        tasks=tasks,
        cwd=str(cwd),
    )


@define(kw_only=True)
class Desk:
    """Where calls come in."""

    tools: Mapping[str, Tool]
    gate: Gate
    found: Configured
    session: ToolSession
    tasks: anyio.abc.TaskGroup
    cwd: str

    async def list_tools(self, context: object, params: object) -> ListToolsResult:
        from mcp_types import ListToolsResult
        from mcp_types import Tool as Listed

        listed = [
            Listed(name=one.name, description=one.description, input_schema=dict(one.input_schema))
            for one in self.tools.values()
        ]
        return ListToolsResult(tools=listed)

    async def call_tool(self, context: object, params: CallToolRequestParams) -> CallToolResult:
        from mcp_types import CallToolResult

        result = await self._ran(params.name, params.arguments or {})
        content = [_content(part) for part in result.content]
        return CallToolResult.model_validate({"content": content, "is_error": result.is_error})

    async def _ran(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        ids = RandomIds()
        use = ToolUse(ids.new().replace("-", ""), name, arguments)
        said = Message(id=ids.new(), role="assistant", kind=Kind.REPLY, content=(use,))
        reply = Reply(message=said, stop_reason="tool_use", calls=(use.id,), cut_calls=())
        context = ToolUseContext(
            model="",
            permission_mode=self.gate.mode.value,
            cwd=self.cwd,
            tools=tuple(self.tools),
            chain_id=ids.new(),
            depth=0,
            agent_id=None,
        )
        executor = ToolExecutor(
            tools=self.tools,
            permissions=self.gate,
            interrupt=InterruptSignal(),
            show=_unseen,
            limits=self.found.settings.limits,
            tasks=self.tasks,
            ids=ids,
            record=_unwritten,
            session=self.session,
        )
        executor.begin(context)
        ran = await executor.run(reply, context)
        self.cwd = ran.context.cwd
        (result,) = (block for one in ran.results for block in one.content)
        assert isinstance(result, ToolResult)
        return result


def _content(part: object) -> dict[str, Any]:
    if isinstance(part, Media):
        if part.kind == "image":
            return {"type": "image", "data": part.data, "mimeType": part.media_type}
        resource = {"uri": "file:///document", "mimeType": part.media_type, "blob": part.data}
        return {"type": "resource", "resource": resource}
    return {"type": "text", "text": getattr(part, "text", "")}


def _unseen(update: object) -> None:
    """Nobody watches."""


async def _unwritten(results: tuple[Message, ...]) -> None:
    """There is no transcript."""
