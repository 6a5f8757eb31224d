"""Station 1: make the view that will be sent, and weigh it.

The levels of the context pipeline hang here; a level that is not configured does nothing, and
with none the view is the history itself.
"""

from __future__ import annotations

from collections import Counter
from typing import Protocol

from attrs import evolve

from phases.world.loop import Loop
from phases.world.messages import Message
from phases.world.outcomes import Prepared
from phases.world.ports import (
    Caption,
    Collapse,
    History,
    Interrupt,
    Mended,
    Mender,
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
    def mender(self) -> Mender | None: ...
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
    # First: what the last iteration said and was told is on disk before the model is asked.
    loop = evolve(loop, state=evolve(loop.state, messages=await _written(loop, ports)))
    state = loop.state
    ports.show(RequestStarted(state.tool_use_context.model, state.turn_count))
    caption = Caption()
    with ports.interrupt.scope():
        # Asked each time: what a caption costs may be known an iteration after its text.
        caption = await ports.summaries.collect(state.pending_tool_use_summary)
    if caption.text is not None and not ports.interrupt.requested:
        ports.show(Notice("info", caption.text))
    aborted = Prepared(
        view=state.messages,
        size=0,
        tracking=state.auto_compact_tracking,
        cost=caption.cost,
        tokens=caption.tokens,
        aborted=True,
    )
    prepared = aborted
    with ports.interrupt.scope():
        prepared = await _prepared(loop, ports, caption)
    return aborted if ports.interrupt.requested else prepared


async def _written(loop: Loop, ports: PreprocessPorts) -> tuple[Message, ...]:
    """The history, mended where the model would refuse it, and written down."""
    messages, model = loop.state.messages, loop.state.tool_use_context.model
    if ports.mender is None:
        mended = Mended(messages=messages)
    else:
        mended = ports.mender.mend(messages, model=model)
    if not mended.mends:
        await ports.history.record(messages)
        return messages
    # Each message as it was, those that were missing among them; then what stands for which.
    # The other way round a mended one could hang beside the path that a reader follows.
    was = {message.id: message for message in messages}
    await ports.history.record(
        tuple(was.get(message.replaces or "", message) for message in mended.messages)
    )
    await ports.history.record_mended(mended.messages)
    counts = Counter(mend.what for mend in mended.mends)
    what = "; ".join(f"{each} ({n} times)" if n > 1 else each for each, n in counts.items())
    ports.show(Notice("warning", f"The history was mended before it was sent: {what}."))
    return mended.messages


async def _prepared(loop: Loop, ports: PreprocessPorts, caption: Caption) -> Prepared:
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
        cost=None if piped.cost is None or caption.cost is None else piped.cost + caption.cost,
        tokens=piped.tokens + caption.tokens,
    )
