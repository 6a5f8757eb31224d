"""Run the shipped loop over scripted ports, and keep all that can be asserted about it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
from attrs import define, field, frozen

from fsm import Step, Trace, TraceWriter, header_of
from interlock import records
from interlock.context.summary import ModelSummariser
from interlock.drive import Finished, Ports, drive
from interlock.interrupt import InterruptSignal
from interlock.journal import Journal
from interlock.table import LOOP
from interlock.testing.ports import (
    CHAIN,
    Answer,
    Captions,
    CollapseStore,
    FakeClock,
    Hooks,
    MemoryHistory,
    Queue,
    ScriptedExecutor,
    ScriptedModel,
    SequentialIds,
    prompt,
)
from phases.world.limits import Limits
from phases.world.loop import Features, Loop, LoopState, Run, ToolUseContext
from phases.world.messages import Message, ToolUse
from phases.world.ports import Pipeline, Request
from phases.world.states import State
from phases.world.updates import Show, Update

# Told every step of every played run: for coverage of the machine.
observers: list[Callable[[Step[Loop]], None]] = []


@frozen(kw_only=True)
class Played:
    """One run over scripted ports."""

    finished: Finished
    trace: Trace
    steps: tuple[Step[Loop], ...]
    updates: tuple[Update, ...]
    requests: tuple[Request, ...]
    written: tuple[Message, ...]
    ports: Ports

    @property
    def visited(self) -> tuple[str, ...]:
        return tuple(self.trace.path)

    @property
    def reasons(self) -> tuple[str, ...]:
        return self.trace.reasons

    @property
    def ending(self) -> State:
        return self.finished.terminal.reason

    @property
    def error(self) -> str | None:
        return self.finished.terminal.error


@define(kw_only=True)
class Stage:
    """The settings of a played run; the defaults are a plain run without hooks or fallback."""

    models: tuple[str, ...] = ("model-a",)
    limits: Limits = field(factory=Limits)
    features: Features = field(factory=Features)
    max_turns: int | None = None
    budget_usd: float | None = None
    token_budget: int | None = None
    output_cap: int | None = None
    fixed_tokens: int = 100
    agent_id: str | None = None
    interrupt: InterruptSignal = field(factory=InterruptSignal)
    clock: FakeClock = field(factory=FakeClock)
    pipeline: Callable[[ScriptedModel, Show], Pipeline] | None = None  # made for the model
    collapse: CollapseStore | None = None
    stop_hooks: Hooks | None = None
    attachments: Queue | None = None
    captions: tuple[str, ...] = ()
    caption_during: Callable[[], None] | None = None
    tool_during: Callable[[ToolUse], None] | None = None
    hook_stopped: str | None = None
    earlier: tuple[Message, ...] = ()  # the history before this prompt
    alter: Callable[[dict[str, Any]], None] | None = None  # change the ports, to break one

    def loop(self, ids: SequentialIds) -> Loop:
        """The loop in which the run begins."""
        context = ToolUseContext(
            model=self.models[0],
            permission_mode="default",
            cwd="/",
            tools=(),
            chain_id=CHAIN,
            depth=0,
            agent_id=self.agent_id,
        )
        run = Run(
            chain_id=CHAIN,
            depth=0,
            models=self.models,
            max_turns=self.max_turns,
            budget_usd=self.budget_usd,
            token_budget=self.token_budget,
            output_cap=self.output_cap,
            fixed_tokens=self.fixed_tokens,
            features=self.features,
            limits=self.limits,
        )
        messages = (*self.earlier, prompt("do it", ids))
        return Loop(run=run, state=LoopState.first(messages, context))


def play(*answers: Answer, stage: Stage | None = None) -> Played:
    """Run one prompt; `answers` are what the model does, one each time it is asked."""
    return anyio.run(_play, list(answers), stage or Stage())


async def _play(answers: list[Answer], stage: Stage) -> Played:
    ids, updates, steps = SequentialIds(), list[Update](), list[Step[Loop]]()
    loop = stage.loop(ids)
    history = MemoryHistory(updates.append)
    model = ScriptedModel(answers, ids)
    parts: dict[str, Any] = {
        "model": model,
        "executor": ScriptedExecutor(
            ids, stage.interrupt, during=stage.tool_during, hook_stopped=stage.hook_stopped
        ),
        "history": history,
        "interrupt": stage.interrupt,
        "clock": stage.clock,
        "ids": ids,
        "show": updates.append,
        "summaries": Captions(list(stage.captions), stage.caption_during),
        "pipeline": None if stage.pipeline is None else stage.pipeline(model, updates.append),
        "collapse": stage.collapse,
        "summariser": ModelSummariser(model=model, ids=ids, clock=stage.clock),
        "stop_hooks": stage.stop_hooks,
        "attachments": stage.attachments,
    }
    if stage.alter is not None:
        stage.alter(parts)
    ports = Ports(**parts)
    header = header_of(LOOP, chain_id=CHAIN, depth=0, start=records.start(loop))
    writer = TraceWriter(header)
    journal = Journal(writer, stage.clock)

    def taken(step: Step[Loop]) -> None:
        steps.append(step)
        for observe in observers:
            observe(step)
        journal.taken(step)

    finished = await drive(loop, ports, taken)
    return Played(
        finished=finished,
        trace=writer.trace,
        steps=tuple(steps),
        updates=tuple(updates),
        requests=tuple(model.requests),
        written=tuple(history.written),
        ports=ports,
    )
