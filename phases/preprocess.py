"""Station 1: make the view that will be sent, and weigh it.

The levels of the context pipeline hang here; a level that is not configured does nothing, and
with none the view is the history itself.
"""

from __future__ import annotations

from typing import Protocol

from phases.world.loop import Loop
from phases.world.outcomes import Prepared
from phases.world.ports import (
    Collapse,
    History,
    Interrupt,
    Piped,
    Pipeline,
    ToolSummaries,
)
from phases.world.size import tokens_of
from phases.world.updates import Notice, RequestStarted, Show


class PreprocessPorts(Protocol):
    @property
    def interrupt(self) -> Interrupt: ...
    @property
    def history(self) -> History: ...
    @property
    def pipeline(self) -> Pipeline | None: ...
    @property
    def collapse(self) -> Collapse | None: ...
    @property
    def summaries(self) -> ToolSummaries: ...
    @property
    def show(self) -> Show: ...


async def preprocess(loop: Loop, ports: PreprocessPorts) -> Prepared:
    """Write down what is new in the history, then say what will be sent and how large it is."""
    state = loop.state
    # First: what the last iteration said and was told is on disk before the model is asked.
    await ports.history.record(state.messages)
    ports.show(RequestStarted(state.tool_use_context.model, state.turn_count))
    if state.pending_tool_use_summary is not None and not ports.interrupt.requested:
        with ports.interrupt.scope():
            caption = await ports.summaries.collect(state.pending_tool_use_summary)
            if caption is not None:
                ports.show(Notice("info", caption))
    aborted = Prepared(
        view=state.messages, size=0, tracking=state.auto_compact_tracking, aborted=True
    )
    prepared = aborted
    with ports.interrupt.scope():
        prepared = await _prepared(loop, ports)
    return aborted if ports.interrupt.requested else prepared


async def _prepared(loop: Loop, ports: PreprocessPorts) -> Prepared:
    state = loop.state
    if ports.pipeline is None:
        piped = Piped(
            view=state.messages,
            size=tokens_of(state.messages, fixed=loop.run.fixed_tokens),
            tracking=state.auto_compact_tracking,
        )
    else:
        piped = await ports.pipeline.prepare(loop)
    return Prepared(
        view=piped.view,
        size=piped.size,
        tracking=piped.tracking,
        staged=ports.collapse.staged(piped.view) if ports.collapse else 0,
        freed=piped.freed,
        heaviest=piped.heaviest,
        cost=piped.cost,
        tokens=piped.tokens,
    )
