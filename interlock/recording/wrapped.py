"""Each port with a wrapper around it that hands on what the port gives, and notes it.

What only tells (updates, stop-failure hooks) gives nothing back, so it is not on the tape.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractContextManager, aclosing
from typing import Any

from anyio import CancelScope
from attrs import evolve, frozen

from interlock.drive import Ports
from interlock.recording.tape import Tape
from phases.world.failures import Failure
from phases.world.loop import Loop, Reply, ToolUseContext
from phases.world.messages import Message, ToolUse
from phases.world.ports import (
    Attachments,
    Caption,
    Clock,
    Executor,
    History,
    Ids,
    Interrupt,
    Mended,
    Mender,
    Model,
    ModelEvent,
    Ran,
    Request,
    Spoken,
    StopHooks,
    TextDelta,
    ThinkingDelta,
    ToolSummaries,
)

# What stands behind these is noted where it asks the world itself (see `outer`).
RUN_AGAIN = ("pipeline", "collapse", "summariser")


def on_tape(tape: Tape, ports: Ports) -> Ports:
    """The ports of a run, each with its wrapper; which of them there are is noted first."""
    given: dict[str, Any] = {
        "model": _Model(tape, ports.model),
        "executor": _Executor(tape, ports.executor),
        "history": _History(tape, ports.history),
        "interrupt": _Interrupt(tape, ports.interrupt),
        "clock": _Clock(tape, ports.clock),
        "ids": _Ids(tape, ports.ids),
        "summaries": _Summaries(tape, ports.summaries),
    }
    for name, wrap in _WRAPPERS.items():
        if getattr(ports, name) is not None:
            given[name] = wrap(tape, getattr(ports, name))
    played = [name for name in _WRAPPERS if name in given]
    tape.gave("ports", {"played": played, "run": [*RUN_AGAIN]})
    return evolve(ports, **given)


def timed(tape: Tape, clock: Clock) -> Clock:
    return _Clock(tape, clock)


async def asked(tape: Tape, model: Model, request: Request) -> AsyncGenerator[ModelEvent, None]:
    """One request of the model, and all that comes of it."""
    tape.gave("model.ask", tape.pool.encoded(request))
    try:
        async with aclosing(model.ask(request)) as events:
            async for event in events:
                if isinstance(event, TextDelta | ThinkingDelta):  # as often as all else
                    tape.piece({"is": type(event).__name__, "text": event.text})
                else:
                    tape.gave("model.event", tape.pool.encoded(event))
                yield event
    except GeneratorExit:  # whoever asked has heard enough
        tape.gave("model.end")
        raise
    except BaseException as error:  # the tape says how it ended, cancelled or broken
        tape.raised("model.end", error)
        raise
    tape.gave("model.end")


@frozen
class _Model:
    tape: Tape
    model: Model

    def ask(self, request: Request) -> AsyncGenerator[ModelEvent, None]:
        return asked(self.tape, self.model, request)


@frozen
class _Executor:
    tape: Tape
    executor: Executor

    def begin(self, context: ToolUseContext) -> None:
        self.tape.at_once("executor.begin", lambda: self.executor.begin(context))

    def offer(self, call: ToolUse) -> None:
        self.tape.at_once("executor.offer", lambda: self.executor.offer(call))

    async def run(self, reply: Reply, context: ToolUseContext) -> Ran:
        return await self.tape.through("executor.run", self.executor.run(reply, context))

    def drop(self) -> tuple[Message, ...]:
        return self.tape.at_once("executor.drop", self.executor.drop)


@frozen
class _History:
    """Only what goes wrong is noted: the transcript is written for real when it is run again."""

    tape: Tape
    history: History

    async def record(self, messages: tuple[Message, ...]) -> None:
        await self._noted(self.history.record(messages))

    async def record_mended(self, messages: tuple[Message, ...]) -> None:
        await self._noted(self.history.record_mended(messages))

    async def _noted(self, work: Awaitable[None]) -> None:
        try:
            await work
        except BaseException as error:  # the tape says that it was cut, or broke
            self.tape.raised("history", error)
            raise


@frozen
class _Interrupt:
    tape: Tape
    interrupt: Interrupt

    @property
    def requested(self) -> bool:
        self.tape.look()
        return self.interrupt.requested

    def scope(self) -> AbstractContextManager[CancelScope]:
        self.tape.look()
        return self.interrupt.scope()


@frozen
class _Clock:
    tape: Tape
    real: Clock

    def time(self) -> float:
        return self.tape.at_once("clock.time", self.real.time)

    def jitter(self) -> float:
        return self.tape.at_once("clock.jitter", self.real.jitter)

    async def sleep(self, seconds: float) -> None:
        await self.tape.through("clock.sleep", self.real.sleep(seconds))


@frozen
class _Ids:
    tape: Tape
    ids: Ids

    def new(self) -> str:
        return self.tape.at_once("ids.new", self.ids.new)


@frozen
class _Summaries:
    tape: Tape
    summaries: ToolSummaries

    def start(self, loop: Loop, results: tuple[Message, ...]) -> str | None:
        return self.tape.at_once("summaries.start", lambda: self.summaries.start(loop, results))

    async def collect(self, job: str | None) -> Caption:
        return await self.tape.through("summaries.collect", self.summaries.collect(job))


@frozen
class _Mender:
    tape: Tape
    mender: Mender

    def mend(self, messages: tuple[Message, ...], *, model: str) -> Mended:
        mended = self.mender.mend(messages, model=model)
        same = None if mended.messages is messages and not mended.mends else mended
        self.tape.gave("mender.mend", self.tape.pool.encoded(same))
        return mended


@frozen
class _StopHooks:
    tape: Tape
    hooks: StopHooks

    async def stop(self, loop: Loop) -> Spoken:
        return await self.tape.through("stop_hooks.stop", self.hooks.stop(loop))

    def stop_failed(self, loop: Loop, failure: Failure) -> None:
        self.hooks.stop_failed(loop, failure)


@frozen
class _Attachments:
    tape: Tape
    attachments: Attachments

    async def gather(self, loop: Loop) -> tuple[Message, ...]:
        return await self.tape.through("attachments.gather", self.attachments.gather(loop))


_WRAPPERS: dict[str, Callable[[Tape, Any], Any]] = {
    "mender": _Mender,
    "stop_hooks": _StopHooks,
    "attachments": _Attachments,
}
