"""Station 6: run the calls of the reply. What may start early was started by `api_call`."""

from __future__ import annotations

from typing import Protocol

from attrs import evolve

from phases.world.loop import Loop
from phases.world.outcomes import ToolsRan
from phases.world.ports import Executor, History, Interrupt, ToolSummaries


class ToolsPorts(Protocol):
    @property
    def interrupt(self) -> Interrupt: ...
    @property
    def executor(self) -> Executor: ...
    @property
    def history(self) -> History: ...
    @property
    def summaries(self) -> ToolSummaries: ...


async def tools(loop: Loop, ports: ToolsPorts) -> ToolsRan:
    """Give every call of the reply its result, in the order of the calls."""
    reply = loop.now.reply
    if reply is None:
        raise RuntimeError("the table led to tools without a reply")
    # On disk before anything with effects starts: a crash then finds the call it belongs to.
    await ports.history.record((*loop.now.view, reply.message))
    ran = await ports.executor.run(reply, loop.state.tool_use_context)
    aborted = ports.interrupt.requested
    summary_job = None
    if not aborted and ran.context.agent_id is None:
        summary_job = ports.summaries.start(
            evolve(loop, now=evolve(loop.now, results=ran.results)), ran.results
        )
    return ToolsRan(
        results=ran.results,
        context=ran.context,
        hook_stopped=ran.hook_stopped,
        summary_job=summary_job,
        aborted=aborted,
    )
