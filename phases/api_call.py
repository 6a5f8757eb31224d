"""Station 3: ask the model, once. Trying again is an edge, never a loop in here."""

from __future__ import annotations

from contextlib import aclosing
from typing import Protocol

from phases.world.failures import FailureKind
from phases.world.loop import Loop
from phases.world.outcomes import Streamed
from phases.world.ports import (
    Begun,
    CallFinished,
    Executor,
    Failed,
    History,
    Interrupt,
    Model,
    ModelEvent,
    RawEvent,
    Replied,
    Request,
    TextDelta,
    ThinkingDelta,
)
from phases.world.taking_out import named
from phases.world.updates import (
    AttemptDropped,
    ModelSwitched,
    Notice,
    Show,
    StreamEvent,
    TextArrived,
    ThinkingArrived,
)


class ApiCallPorts(Protocol):
    @property
    def interrupt(self) -> Interrupt: ...
    @property
    def model(self) -> Model: ...
    @property
    def executor(self) -> Executor: ...
    @property
    def history(self) -> History: ...
    @property
    def show(self) -> Show: ...


async def api_call(loop: Loop, ports: ApiCallPorts) -> Streamed:
    """Make one request; report what came, including what must be kept from the caller for now."""
    if loop.spent.mends:
        await ports.history.record_mended(loop.now.view)
    refused = loop.now.withheld
    if refused is not None and refused.to_take_out:  # by the edge that led here
        text = f"Left out of the conversation: {named(refused.to_take_out)}; {refused.message}"
        ports.show(Notice("warning", text))
    context = loop.state.tool_use_context
    switched_from = _switched_from(loop)
    if switched_from is not None:
        ports.show(ModelSwitched(switched_from, context.model))
    ports.executor.begin(context)
    streamed = Streamed(aborted=True)
    with ports.interrupt.scope():
        async with aclosing(ports.model.ask(request_of(loop))) as events:
            async for event in events:
                streamed = _told(event, ports) or streamed
                if not streamed.aborted:
                    break
            else:
                raise RuntimeError("the model port ended without a reply and without a failure")
    if streamed.reply is None:
        ports.executor.drop()
        ports.show(AttemptDropped())
    return streamed


def request_of(loop: Loop) -> Request:
    """The request that this iteration makes."""
    run, state = loop.run, loop.state
    cap = run.output_cap or (
        run.limits.default_output_cap
        if run.features.output_cap
        else run.limits.escalated_output_cap
    )
    return Request(
        model=state.tool_use_context.model,
        messages=loop.now.view,
        max_tokens=state.max_output_tokens_override or cap,
    )


def _told(event: ModelEvent, ports: ApiCallPorts) -> Streamed | None:
    """Pass on what an event tells; what the call reports if it is the last one to come."""
    match event:
        case Begun():
            # The prompt is to be paid, also where an interrupt takes the answer.
            return Streamed(aborted=True, cost=event.cost, tokens=event.usage.output_tokens)
        case TextDelta(text):
            ports.show(TextArrived(text))
        case ThinkingDelta(text):
            ports.show(ThinkingArrived(text))
        case RawEvent(raw):
            ports.show(StreamEvent(raw))
        case CallFinished(call):
            ports.executor.offer(call)
        case Replied():
            return Streamed(reply=event.reply, cost=event.cost, tokens=event.usage.output_tokens)
        case Failed():
            return Streamed(
                failure=event.failure, cost=event.cost, tokens=event.usage.output_tokens
            )
    return None


def _switched_from(loop: Loop) -> str | None:
    """The model before this one, if the edge that led here was `model_fallback`."""
    failure, model = loop.now.withheld, loop.state.tool_use_context.model
    if failure is None or failure.kind is not FailureKind.OVERLOADED or loop.spent.attempts:
        return None
    position = loop.run.models.index(model)
    return loop.run.models[position - 1] if position else None
