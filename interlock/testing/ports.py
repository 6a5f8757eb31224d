"""Ports that follow a script: what the world answers, decided by the test.

Each implements a port of `phases/world/ports.py` honestly: the executor answers every call, the
history writes and shows in one act. None knows the table.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from uuid import UUID

import anyio
from attrs import define, evolve, field, frozen

from interlock.interrupt import InterruptSignal
from phases.world.failures import Failure, FailureKind, RefusedBlock
from phases.world.loop import Loop, Reply, ToolUseContext
from phases.world.messages import Kind, Message, Origin, Text, ToolResult, ToolUse
from phases.world.ports import (
    CallFinished,
    Caption,
    Failed,
    ModelEvent,
    Ran,
    Replied,
    Request,
    Spoken,
    TextDelta,
)
from phases.world.updates import Recorded, Show
from phases.world.usage import Usage

CHAIN = "00000000-0000-4000-8000-00000000c4a1"


@define
class SequentialIds:
    """UUIDs that count up, so that runs can be compared whole."""

    _count: int = 0

    def new(self) -> str:
        self._count += 1
        return str(UUID(int=(4 << 76) | (8 << 60) | self._count))


@define
class FakeClock:
    """Time that passes only where somebody sleeps; `slept` tells how long each sleep was."""

    now: float = 1_000_000.0
    share: float = 0.0  # what `jitter` returns
    slept: list[float] = field(factory=list)
    on_sleep: Callable[[], None] | None = None

    def time(self) -> float:
        return self.now

    def jitter(self) -> float:
        return self.share

    async def sleep(self, seconds: float) -> None:
        if self.on_sleep is not None:
            self.on_sleep()
        await anyio.lowlevel.checkpoint()  # where an interrupt breaks the wait
        self.slept.append(seconds)
        self.now += seconds


# --- the model -------------------------------------------------------------------------------


@frozen(kw_only=True)
class Answer:
    """What the model does when it is asked once."""

    text: str = ""
    calls: tuple[ToolUse, ...] = ()
    cut_calls: tuple[ToolUse, ...] = ()
    stop_reason: str | None = "end_turn"
    failure: Failure | None = None
    usage: Usage = field(factory=lambda: Usage(input_tokens=10, output_tokens=5))
    cost: float | None = 0.01
    during: Callable[[], None] | None = None  # called in mid-stream: to interrupt, say


def says(text: str, *, stop_reason: str | None = "end_turn", tokens: int = 5) -> Answer:
    """An answer of text alone."""
    return Answer(text=text, stop_reason=stop_reason, usage=Usage(output_tokens=tokens))


def call(*calls: ToolUse, text: str = "") -> Answer:
    """An answer that asks for tools."""
    return Answer(text=text, calls=calls, stop_reason="tool_use")


def fails(
    kind: FailureKind,
    *,
    retry_after: float | None = None,
    refused: tuple[RefusedBlock, ...] = (),
) -> Answer:
    """No reply, for this reason."""
    failure = Failure(
        kind=kind,
        message=f"scripted: {kind.value}",
        retry_after=retry_after,
        refused=refused[0] if refused else None,
        beside=refused[1:],
    )
    return Answer(failure=failure, usage=Usage(), cost=0.0)


@define
class ScriptedModel:
    """Answers in order; keeps what it was asked. One request too many is an error."""

    answers: list[Answer]
    ids: SequentialIds
    requests: list[Request] = field(factory=list)

    async def ask(self, request: Request) -> AsyncGenerator[ModelEvent, None]:
        self.requests.append(request)
        if not self.answers:
            raise AssertionError(f"request {len(self.requests)} was not expected")
        answer = self.answers.pop(0)
        await anyio.lowlevel.checkpoint()
        if answer.text:
            yield TextDelta(answer.text)
        for each in answer.calls:
            yield CallFinished(each)
        if answer.during is not None:
            answer.during()
            await anyio.lowlevel.checkpoint()
        if answer.failure is not None:
            yield Failed(failure=answer.failure, usage=answer.usage, cost=answer.cost)
        else:
            reply = self._reply(answer, request.model)
            yield Replied(reply=reply, usage=answer.usage, cost=answer.cost)

    def _reply(self, answer: Answer, model: str) -> Reply:
        number = len(self.requests)
        text = (Text(answer.text),) if answer.text else ()
        message = Message(
            id=self.ids.new(),
            role="assistant",
            kind=Kind.REPLY,
            content=(*text, *answer.calls, *answer.cut_calls),
            origin=Origin(
                api_id=f"msg_{number}",
                model=model,
                stop_reason=answer.stop_reason,
                usage=answer.usage,
            ),
        )
        return Reply(
            message=message,
            stop_reason=answer.stop_reason,
            calls=tuple(each.id for each in answer.calls),
            cut_calls=tuple(each.id for each in answer.cut_calls),
        )


# --- tools -----------------------------------------------------------------------------------


@define
class ScriptedExecutor:
    """Answers each call with its name, or as `answers` says; `started` is what really ran."""

    ids: SequentialIds
    interrupt: InterruptSignal
    during: Callable[[ToolUse], None] | None = None
    hook_stopped: str | None = None
    started: list[str] = field(factory=list)
    offered: list[str] = field(factory=list)

    def begin(self, context: ToolUseContext) -> None:
        self.offered.clear()

    def offer(self, call: ToolUse) -> None:
        self.offered.append(call.id)

    async def run(self, reply: Reply, context: ToolUseContext) -> Ran:
        results = tuple(self._result(each, reply) for each in reply.message.calls)
        await anyio.lowlevel.checkpoint()
        return Ran(results=results, context=context, hook_stopped=self.hook_stopped)

    def drop(self) -> tuple[Message, ...]:
        return ()

    def _result(self, call: ToolUse, reply: Reply) -> Message:
        if call.id in reply.cut_calls:
            words, failed = "not run: cut", True
        elif self.interrupt.requested:
            words, failed = "not run: interrupted", True
        else:
            self.started.append(call.id)
            if self.during is not None:
                self.during(call)
            words, failed = f"{call.name} ran", False
        return Message(
            id=self.ids.new(),
            role="user",
            kind=Kind.RESULT,
            content=(ToolResult(call.id, (Text(words),), is_error=failed),),
            source=reply.message.id,
        )


# --- the rest --------------------------------------------------------------------------------


@define
class MemoryHistory:
    """A transcript in memory."""

    show: Show
    written: list[Message] = field(factory=list)
    mended: list[str] = field(factory=list)

    async def record(self, messages: tuple[Message, ...]) -> None:
        known = {message.id for message in self.written}
        for message in messages:
            if message.id not in known:
                self.written.append(message)
                self.show(Recorded(message))

    async def record_mended(self, messages: tuple[Message, ...]) -> None:
        known = {message.id for message in self.written}
        for message in messages:
            if message.replaces is not None and message.id not in known:
                self.written.append(message)
                self.mended.append(message.replaces)


@define
class CollapseStore:
    """`pending` counts how many collapses each look finds; a drain commits what is staged."""

    pending: list[int]
    committed: list[int] = field(factory=list)

    def staged(self, view: tuple[Message, ...]) -> int:
        return self.pending[0] if self.pending else 0

    async def drain(self, view: tuple[Message, ...]) -> tuple[tuple[Message, ...], int]:
        count = self.pending.pop(0)
        # What is committed may be less than what was staged: a collapse can turn out void.
        done = self.committed.pop(0) if self.committed else count
        return view[-1:] if done else view, done


@define
class Hooks:
    """Stop hooks that say `spoken`, one entry each time they are asked, then nothing."""

    spoken: list[Spoken]
    seen_active: list[bool] = field(factory=list)
    failures: list[str] = field(factory=list)
    during: Callable[[], None] | None = None

    async def stop(self, loop: Loop) -> Spoken:
        self.seen_active.append(loop.state.stop_hook_active)
        if self.during is not None:
            self.during()
        await anyio.lowlevel.checkpoint()
        return self.spoken.pop(0) if self.spoken else Spoken()

    def stop_failed(self, loop: Loop, failure: Failure) -> None:
        self.failures.append(failure.message)


@define
class Queue:
    """Attachments: one batch each time they are gathered."""

    batches: list[tuple[Message, ...]]
    during: Callable[[], None] | None = None

    async def gather(self, loop: Loop) -> tuple[Message, ...]:
        if self.during is not None:
            self.during()
        return self.batches.pop(0) if self.batches else ()


@define
class Captions:
    """Tool-use summaries; with `texts` empty they are off. None: that one could not be made."""

    texts: list[str | None]
    during: Callable[[], None] | None = None
    cost: float | None = 0.0  # of each
    tokens: int = 0

    def start(self, loop: Loop, results: tuple[Message, ...]) -> str | None:
        return f"job {loop.state.turn_count}" if self.texts else None

    async def collect(self, job: str | None) -> Caption:
        if job is None:
            return Caption()
        if self.during is not None:
            self.during()
        await anyio.lowlevel.checkpoint()
        return Caption(text=self.texts.pop(0), cost=self.cost, tokens=self.tokens)


def prompt(text: str, ids: SequentialIds) -> Message:
    """What the user typed."""
    return Message(id=ids.new(), role="user", kind=Kind.PROMPT, content=(Text(text),))


def tool(name: str, number: int = 1) -> ToolUse:
    """A call of the tool `name`."""
    return ToolUse(f"toolu_{name}_{number}", name, {})


def cut(answer: Answer, *calls: ToolUse) -> Answer:
    """The same answer, cut by the output cap in the middle of `calls`."""
    return evolve(answer, cut_calls=calls, stop_reason="max_tokens")


def texts(messages: Iterable[Message]) -> Sequence[str]:
    """What each message says, results included: for assertions."""
    return [
        message.text
        or "".join(block.text for block in message.content if isinstance(block, ToolResult))
        for message in messages
    ]
