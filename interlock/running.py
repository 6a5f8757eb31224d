"""How one run is made, for the main agent and for its children alike.

A session's agents have much in common (`Shared`); the rest each has for itself (`Worker`): what
it may do, its tools with their state, its transcript, its window, its books. Knows neither how
these are made (`assembly`, `agents`) nor what a prompt is before it is a loop.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import anyio
from anyio.abc import TaskGroup
from attrs import define, evolve, field, frozen

from fsm import Step
from interlock.calling import Calling
from interlock.cooldown import CoolDown
from interlock.drive import Finished, Ports, drive
from interlock.endings import Ending, ruled
from interlock.front import Front
from interlock.hooks import HookedStop, HookedTools, SessionHooks
from interlock.inbox import Captions, Inbox, Prefetch, PrefetchSource, Waiting
from interlock.interrupt import InterruptSignal
from interlock.journal import CallJournal, Journal, opened_trace
from interlock.knowledge import Knowledge
from interlock.ledger import Aside, Ledger
from interlock.model import Mender
from interlock.offer import Offer
from interlock.options import Options
from interlock.permissions import ChildGate, Gate
from interlock.recording import Recorder, Recordings
from interlock.sandbox import Sandbox
from interlock.sessions import Transcript
from interlock.settings import Settings
from interlock.tools import TodoList, Tool, ToolExecutor, ToolSession
from interlock.tools.calls import Taken
from interlock.window import Window, limits_for
from interlock.world import NoCaptions, RandomIds
from phases.world.limits import Limits
from phases.world.loop import (
    NEVER_COMPACTED,
    AutoCompactTracking,
    Loop,
    LoopState,
    Run,
    ToolUseContext,
)
from phases.world.messages import Message
from phases.world.ports import Caption, Clock, ToolSummaries
from phases.world.updates import Show

Closed = Callable[[Finished], None]


@frozen(kw_only=True)
class Shared:
    """What all agents of a session have in common."""

    options: Options
    settings: Settings
    hooks: SessionHooks
    waiting: Waiting  # the queue of messages; each agent takes what is addressed to it
    cooldown: CoolDown
    ids: RandomIds
    clock: Clock
    endings: Sequence[Ending] = ()  # the caller's own, of the main agent's runs


@frozen(kw_only=True)
class Identity:
    """Which agent of the session it is. The main one has no id."""

    agent_id: str | None = None
    agent_type: str | None = None
    depth: int = 0  # below the main agent


@frozen(kw_only=True)
class Ground:
    """A folder of its own that an agent works in, and whoever it starts, in place of the
    session's: a copy of the tree `top`, whose notes and skills it reads, and a sandbox for it."""

    root: Path
    tree: Path
    top: Path
    told: str  # what the agent has to know of it
    sandbox: Sandbox | None


@frozen(kw_only=True)
class Bounds:
    """How far one run may go."""

    max_turns: int | None = None
    budget_usd: float | None = None
    token_budget: int | None = None  # output tokens it should use


@define
class Standing:
    """Where the run under way stands: the loop as the last step left it; None between runs."""

    loop: Loop | None = None
    aside: Aside | None = None  # what other agents have spent, and the run was not told yet

    @property
    def budget_left(self) -> float | None:
        """USD that this run and all below it may still spend; None: any."""
        loop = self.loop
        if loop is None or loop.run.budget_usd is None:
            return None
        unheard = self.aside.spent.cost if self.aside is not None else 0.0
        return max(0.0, loop.run.budget_usd - (loop.spent.cost or 0.0) - (unheard or 0.0))


def _nothing() -> None:
    """Nobody keeps anything beside the transcript."""


@define(kw_only=True)
class Worker:
    """One agent's own parts."""

    shared: Shared
    who: Identity = field(factory=Identity)
    ledger: Ledger
    gate: Gate | ChildGate
    tools: Mapping[str, Tool]
    transcript: Transcript
    recordings: Recordings  # and what keeps its window
    tool_session: ToolSession
    todos: TodoList
    interrupt: InterruptSignal
    front: Front
    offer: Offer
    knowledge: Knowledge
    ground: Ground | None = None  # None: the session's
    results_kept: Callable[[], None] = _nothing  # called when results were written down
    standing: Standing = field(factory=Standing)
    mender: Mender = field(factory=Mender)

    @property
    def window(self) -> Window:
        return self.recordings.window

    @property
    def fixed_tokens(self) -> int:
        """What stands before the conversation in every request."""
        return self.front.tokens + self.offer.size

    @property
    def calling(self) -> Calling:
        """How texts of skills and prompts call tools: as this agent, with its rights."""
        shared = self.shared
        return Calling(
            tools=self.tools,
            permissions=self.gate,
            hooks=HookedTools(shared.hooks, self.who.agent_type),
            interrupt=self.interrupt,
            limits=shared.settings.limits,
            ids=shared.ids,
            session=self.tool_session,
            mode=lambda: self.gate.mode.value,
            depth=self.who.depth,
            agent_id=self.who.agent_id,
            lend_hooks=lambda hooks: shared.hooks.lend(hooks, self.who.agent_id),
        )

    def limits(self, models: tuple[str, ...]) -> Limits:
        return limits_for(models, self.shared.settings)

    def loop(
        self,
        messages: tuple[Message, ...],
        *,
        models: tuple[str, ...],
        cwd: str,
        mode: str,
        chain_id: str,
        bounds: Bounds,
        tracking: AutoCompactTracking = NEVER_COMPACTED,
    ) -> Loop:
        """The loop that a run of this agent begins with. The first of `models` is asked first,
        unless it is cooling down."""
        settings = self.shared.settings
        order = self.shared.cooldown.order(models)
        context = ToolUseContext(
            model=order[0],
            permission_mode=mode,
            cwd=cwd,
            tools=tuple(self.tools),
            chain_id=chain_id,
            depth=self.who.depth,
            agent_id=self.who.agent_id,
        )
        run = Run(
            chain_id=chain_id,
            depth=self.who.depth,
            models=order,
            max_turns=bounds.max_turns,
            budget_usd=bounds.budget_usd,
            token_budget=bounds.token_budget,
            output_cap=settings.output_cap,
            fixed_tokens=self.fixed_tokens,
            features=settings.features,
            limits=self.limits(models),
        )
        state = LoopState.first(messages, context)
        return Loop(run=run, state=evolve(state, auto_compact_tracking=tracking))

    def inbox(self, prefetches: Sequence[PrefetchSource] = ()) -> Inbox:
        """What reaches a run of this agent from the side."""
        return Inbox(
            queue=self.shared.waiting,
            reads=self.tool_session.reads,
            ids=self.shared.ids,
            prefetches=tuple(Prefetch(source) for source in prefetches),
            beside=self.knowledge.beside(self.tools),
            told=self.knowledge.files_told,
        )

    async def run(
        self, loop: Loop, path: Path, show: Show, inbox: Inbox, closed: Closed
    ) -> Finished:
        """Run `loop` to its end; its trace is kept at `path`. Nothing it started outlives it.

        `closed` is told the end also where the run is cancelled from outside.
        """
        shared = self.shared
        self.transcript.show = self.window.autocompact.show = self.todos.show = show
        with (
            opened_trace(path, loop) as writer,
            CallJournal(writer, path, shared.clock, self.transcript) as calls,
            self.recordings.run(path, loop, self.transcript, self.interrupt, show) as recorder,
            self.ledger.beside() as aside,
        ):
            self.standing.loop, self.standing.aside = loop, aside
            journal = Journal(writer, recorder.clock(shared.clock), self.transcript, show)

            def taken(step: Step[Loop]) -> None:
                journal.taken(step)
                self.standing.loop = step.after

            def ended(finished: Finished) -> None:
                self.transcript.end_run()
                closed(finished)

            try:
                async with anyio.create_task_group() as tasks:
                    self._begin(tasks, inbox, loop)
                    ports = self._ports(loop, show, tasks, inbox, calls.taken, recorder)
                    ports = evolve(ports, summaries=OthersBooked(ports.summaries, aside))
                    finished = await drive(loop, recorder.ports(ports), taken, ended)
                    if self._is_main:
                        await shared.hooks.settled()
                    tasks.cancel_scope.cancel()  # nothing outlives the loop that started it
            finally:
                self.standing.loop = self.standing.aside = None
        inbox.completed()
        return finished

    @property
    def _is_main(self) -> bool:
        return self.who.agent_id is None

    def _begin(self, tasks: TaskGroup, inbox: Inbox, loop: Loop) -> None:
        if self._is_main:
            self.shared.hooks.tasks = tasks
        for prefetch in inbox.prefetches:
            prefetch.start(tasks, loop.state.messages[-1].text)

    async def _record_results(self, results: tuple[Message, ...]) -> None:
        await self.transcript.record_results(results)
        self.results_kept()

    def _ports(
        self,
        loop: Loop,
        show: Show,
        tasks: TaskGroup,
        inbox: Inbox,
        call_taken: Taken,
        recorder: Recorder,
    ) -> Ports:
        shared = self.shared
        executor = ToolExecutor(
            tools=self.tools,
            permissions=self.gate,
            interrupt=self.interrupt,
            show=show,
            limits=loop.run.limits,
            tasks=tasks,
            ids=shared.ids,
            record=recorder.results(self._record_results),
            session=self.tool_session,
            taken=call_taken,
            hooks=HookedTools(shared.hooks, self.who.agent_type),
        )
        return Ports(
            model=self.ledger,
            executor=ruled(executor, self._endings, lambda: self.standing.loop),
            history=self.transcript,
            interrupt=self.interrupt,
            clock=shared.clock,
            ids=shared.ids,
            mender=self.mender,
            pipeline=self.window.pipeline,
            collapse=self.window.collapse,
            summariser=self.window.summariser,
            show=show,
            summaries=self._captions(show, tasks),
            attachments=inbox,
            stop_hooks=self._stop_hooks,
        )

    @property
    def _endings(self) -> Sequence[Ending]:
        return self.shared.endings if self._is_main else ()

    @property
    def _stop_hooks(self) -> HookedStop:
        hooks, who = self.shared.hooks, self.who
        if self._is_main:
            return HookedStop(hooks)
        return HookedStop(hooks, who.agent_type, self.transcript.path, self.interrupt)

    def _captions(self, show: Show, tasks: TaskGroup) -> ToolSummaries:
        small_model = self.shared.settings.small_model
        if small_model is None:
            return NoCaptions()
        return Captions(
            model=self.ledger,
            name=small_model,
            ids=self.shared.ids,
            interrupt=self.interrupt,
            show=show,
            tasks=tasks,
        )


@frozen
class OthersBooked:
    """A run is told, before each request, what the other agents of the session have spent: its
    budget is the whole tree's."""

    summaries: ToolSummaries
    aside: Aside

    def start(self, loop: Loop, results: tuple[Message, ...]) -> str | None:
        return self.summaries.start(loop, results)

    async def collect(self, job: str | None) -> Caption:
        caption = await self.summaries.collect(job)
        spent = self.aside.taken()
        cost = None
        if caption.cost is not None and spent.cost is not None:
            cost = caption.cost + spent.cost
        tokens = caption.tokens + spent.usage.output_tokens
        return evolve(caption, cost=cost, tokens=tokens)
