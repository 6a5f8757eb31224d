"""A session: one transcript, one history, many prompts.

It knows what outlives a prompt and hands each prompt its loop and its ports; how the parts are
made is `assembly`'s affair, what happens in a prompt the table's.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from time import monotonic

import anyio
from attrs import define, evolve, field

from interlock import token_budget
from interlock.admission import Admission
from interlock.context.autocompact import by_hand, fixed_part_warning
from interlock.context.gauge import Fill, fill
from interlock.cooldown import CoolDown
from interlock.drive import Finished, Ports, drive
from interlock.errors import UsageError
from interlock.home import SessionPaths
from interlock.hooks import HookedStop, HookedTools, SessionHooks, Who, notified
from interlock.inbox import (
    Captions,
    Inbox,
    Prefetch,
    PrefetchSource,
    Priority,
    Queued,
    Waiting,
)
from interlock.interrupt import InterruptSignal
from interlock.joining import made_ready
from interlock.journal import CallJournal, Journal, opened_trace
from interlock.ledger import Ledger
from interlock.mcp import Servers
from interlock.model import Mender
from interlock.options import Options, PermissionMode
from interlock.output_cap import output_cap_warning
from interlock.permissions import Gate, UpdateKind
from interlock.permissions import Update as Change
from interlock.quiet import Quiet
from interlock.recording import Recorder, Recorders, recorder_of
from interlock.session_state import Keeping
from interlock.sessions import Transcript
from interlock.settings import Settings
from interlock.summary import ModelUse, RunSummary
from interlock.summing import Summing
from interlock.tally import Tally
from interlock.tools import (
    TodoList,
    Tool,
    ToolExecutor,
    ToolSession,
)
from interlock.tools.calls import Taken
from interlock.window import Window, limits_for
from interlock.world import NoCaptions, RandomIds, RealClock
from phases.world.limits import Limits
from phases.world.loop import (
    NEVER_COMPACTED,
    AutoCompactTracking,
    Loop,
    LoopState,
    Run,
    ToolUseContext,
)
from phases.world.messages import Message, Text, is_blank
from phases.world.ports import Clock, ToolSummaries
from phases.world.updates import Notice, Show, Update

_log = Quiet("interlock.loop")
_NO_TOOL = (
    "no tool is called {words}: such rules match nothing (--allowedTools and --disallowedTools "
    "take every word behind them; a prompt goes in front)"
)


@define(kw_only=True)
class Agent:
    """A session that can be given prompts, one after another."""

    session_id: str
    model: str
    cwd: Path
    paths: SessionPaths
    waiting: Waiting  # the queue itself: background tasks put their news into it
    _options: Options
    _settings: Settings
    _ledger: Ledger
    _gate: Gate
    _built: Mapping[str, Tool]
    _todos: TodoList
    _tool_session: ToolSession
    _transcript: Transcript
    servers: Servers  # of MCP
    _fixed_tokens: Callable[[], int]  # of what stands before the conversation
    _cooldown: CoolDown
    _window: Window
    _hooks: SessionHooks
    _admission: Admission
    _prefetches: tuple[PrefetchSource, ...] = ()
    _strange_rules: tuple[str, ...] = ()  # words of the permission flags that name no tool
    _told_first: tuple[Update, ...] = ()  # with the first prompt
    _interrupt: InterruptSignal
    _keeping: Keeping
    _folder: Path | None = None  # that commands ran in before this process began
    _mender: Mender = field(factory=Mender)
    _ids: RandomIds = field(factory=RandomIds)
    _clock: Clock = field(factory=RealClock)
    _messages: tuple[Message, ...] = ()
    _context: ToolUseContext | None = None
    _tracking: AutoCompactTracking = NEVER_COMPACTED
    _busy: bool = False
    _warned: bool = False

    @property
    def tools(self) -> tuple[str, ...]:
        """The names of the tools on offer."""
        return tuple(self._built)

    @property
    def permission_mode(self) -> PermissionMode:
        return self._gate.mode

    def set_permission_mode(self, mode: PermissionMode) -> None:
        """From the next call on; what hooks are told changes with it."""
        self._gate.apply(Change(kind=UpdateKind.SET_MODE, mode=mode))
        self._hooks.permission_mode = mode.value

    @property
    def transcript_path(self) -> Path:
        return self.paths.transcript

    @property
    def spent(self) -> Mapping[str, ModelUse]:
        """What the session has used of each model."""
        return self._summing.spent()

    def filling(self) -> Fill:
        """What fills the window now."""
        return fill(self._messages, self._loop(()))

    def interrupt(self) -> None:
        """Stop the prompt under way: it ends in an `aborted_…` ending. Does nothing otherwise."""
        self._interrupt.request()

    def queue(self, text: str, priority: str = "next") -> Queued:
        """Say something while a prompt is under way (or before one): it is read between two
        turns. `priority` is now, next or later. What is not read waits for the next prompt.
        """
        return self.waiting.add(text, priority=Priority.of(priority))

    def next_queued(self) -> Queued | None:
        """The first message that waits, taken to be a prompt of its own: give it to `prompt`.

        It may be a slash command (`is_command`): that is the caller's to run.
        """
        return self.waiting.take_alone()

    async def prompt(
        self, text: str | Queued, show: Show, *, typed: str | None = None
    ) -> RunSummary:
        """Run one prompt to its end; `show` is told everything as it happens.

        What was queued before a typed prompt stands in front of it. `typed` is the part of the
        text that a person wrote, where that is not all: only there a token budget is looked for,
        for data must not give orders.

        Raises UsageError for words that say nothing, and while another prompt is under way: two
        at once would each lose what the other said. `queue` is for what cannot wait.
        """
        said = (Text(text),) if isinstance(text, str) else text.content
        if all(map(is_blank, said)):
            raise UsageError("the prompt is empty: there is nothing to send")
        with self._alone():
            return await self._prompted(text, show, typed)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        if self._busy:
            raise UsageError("a prompt is under way: wait for its end, or say more with queue()")
        self._busy = True
        try:
            yield
        finally:
            self._busy = False

    async def _prompted(self, text: str | Queued, show: Show, typed: str | None) -> RunSummary:
        run_id = self._ids.new()
        began = monotonic()
        self._interrupt.reset()
        self._ledger.new_prompt()
        self._gate.begin_run()
        counted = Tally(show, self._cooldown)
        self._warn(show)
        self._transcript.show = self.waiting.show = self._window.autocompact.show = counted
        self._todos.show = self._hooks.show = counted
        await made_ready(self.servers, counted, self._interrupt, self._options)
        words = text if isinstance(text, str) else text.text
        refused = await self._admission.refusal(words, Who(cwd=self._where))
        if refused is not None:
            return self._summing.not_run(run_id, refused, monotonic() - began)
        inbox = self._inbox()
        loop = self._loop((*self._admission.taken_notes(), *inbox.said(text)), typed)
        path = self.paths.trace(run_id)
        with (
            opened_trace(path, loop) as writer,
            CallJournal(writer, path, self._clock) as calls,
            self._recorder(path, loop, counted) as recorder,
        ):
            async with anyio.create_task_group() as tasks:
                self._hooks.tasks = tasks
                for prefetch in inbox.prefetches:
                    prefetch.start(tasks, loop.state.messages[-1].text)
                finished = await drive(
                    loop,
                    recorder.ports(self._ports(counted, tasks, inbox, calls.taken, recorder)),
                    Journal(writer, recorder.clock(self._clock)).taken,
                    self._go_on_with,
                )
                await self._hooks.settled()
                tasks.cancel_scope.cancel()  # nothing outlives the loop that started it
        inbox.completed()
        return self._summing.of(run_id, finished, counted, monotonic() - began)

    def _recorder(self, path: Path, loop: Loop, show: Show) -> Recorders:
        wanted = self._options.record or self._settings.record
        return recorder_of(wanted, path, loop, self._transcript, self._interrupt, show)

    async def compact(self, show: Show, focus: str | None = None) -> str | None:
        """Summarise the conversation now, with an eye on `focus`; why it cannot be, or None.

        Raises UsageError while a prompt is under way.
        """
        with self._alone():
            return await self._compacted(show, focus)

    async def _compacted(self, show: Show, focus: str | None) -> str | None:
        self._interrupt.reset()
        self._transcript.show = self._hooks.show = show
        loop, made = self._loop(()), None
        mended = self._mender.mend(loop.state.messages, model=self.model)
        with self._interrupt.scope():
            made = await self._window.compact(loop, mended.messages, show, focus)
        if made is None or made.view is None:
            return "interrupted" if made is None else made.problem
        await self._transcript.record(made.view)
        self._messages, self._tracking = made.view, by_hand(self._tracking)
        return None

    def begin_anew(self, source: str) -> None:
        """SessionStart hooks are told this with the next prompt: resume, or clear."""
        self._admission.source = source

    def end_as(self, reason: str) -> None:
        """What SessionEnd hooks are told as it is closed: clear, logout, prompt_input_exit."""
        self._admission.end_reason = reason

    async def notify(self, kind: str, message: str) -> None:
        """Tell Notification hooks what a person should know of, as `idle_prompt`."""
        await notified(self._hooks, kind, message)

    def _warn(self, show: Show) -> None:
        if self.permission_mode is PermissionMode.BYPASS_PERMISSIONS and os.geteuid() == 0:
            text = "permissions are bypassed and this is root: every call runs, on everything"
            show(Notice("warning", text))
        self.introduce(show)

    def introduce(self, show: Show) -> None:
        """What is to be told before the first prompt; it is told once."""
        if self._warned:
            return
        self._warned = True
        for update in self._told_first:
            show(update)
        if self._strange_rules:
            # No error: drivers pass the names of tools that only others have.
            show(Notice("warning", _NO_TOOL.format(words=", ".join(self._strange_rules))))
        capped = output_cap_warning(self.model, self._settings)
        if capped is not None:
            show(Notice("warning", capped))
        fixed = fixed_part_warning(self._fixed_tokens(), self._limits)
        if fixed is not None:
            show(Notice("warning", fixed))

    @property
    def _limits(self) -> Limits:
        return limits_for((self.model, *self._options.fallback_models), self._settings)

    @property
    def _where(self) -> str:
        """The folder that commands run in now."""
        return self._context.cwd if self._context else str(self._folder or self.cwd)

    @property
    def _summing(self) -> Summing:
        return Summing(
            session_id=self.session_id,
            ledger=self._ledger,
            gate=self._gate,
            limits=self._settings.limits,
        )

    def _go_on_with(self, finished: Finished) -> None:
        """The next prompt begins where this one ended, also if it was cancelled."""
        self._messages = finished.messages
        self._context = finished.loop.state.tool_use_context
        now, state = finished.loop.now, finished.loop.state
        tracking = now.tracking if now.view else state.auto_compact_tracking
        self._tracking = evolve(tracking, turns_since=tracking.turns_since + 1)
        self.keep()

    def keep(self) -> None:
        """Write down what of the session is in no message."""
        self._keeping.save(self.model, self._tracking, at_once=True)

    async def _record_results(self, results: tuple[Message, ...]) -> None:
        await self._transcript.record_results(results)
        self._keeping.save(self.model, self._tracking)

    def _inbox(self) -> Inbox:
        return Inbox(
            queue=self.waiting,
            reads=self._tool_session.reads,
            ids=self._ids,
            prefetches=tuple(Prefetch(source) for source in self._prefetches),
        )

    def _loop(self, said: tuple[Message, ...], typed: str | None = None) -> Loop:
        options, settings = self._options, self._settings
        if typed is None:
            typed = said[-1].text if said else ""
        models = self._cooldown.order((self.model, *options.fallback_models))
        chain_id = self._ids.new()
        context = ToolUseContext(
            model=models[0],
            permission_mode=self.permission_mode.value,
            cwd=self._where,
            tools=self.tools,
            chain_id=chain_id,
            depth=0,
            agent_id=None,
        )
        run = Run(
            chain_id=chain_id,
            depth=0,
            models=models,
            max_turns=options.max_turns,
            budget_usd=options.max_budget_usd,
            token_budget=token_budget.asked_for(typed) or options.token_budget,
            output_cap=settings.output_cap,
            fixed_tokens=self._fixed_tokens(),
            features=settings.features,
            limits=self._limits,
        )
        state = LoopState.first((*self._messages, *said), context)
        return Loop(run=run, state=evolve(state, auto_compact_tracking=self._tracking))

    def _ports(
        self,
        show: Show,
        tasks: anyio.abc.TaskGroup,
        inbox: Inbox,
        call_taken: Taken,
        recorder: Recorder,
    ) -> Ports:
        executor = ToolExecutor(
            tools=self._built,
            permissions=self._gate,
            interrupt=self._interrupt,
            show=show,
            limits=self._limits,
            tasks=tasks,
            ids=self._ids,
            record=recorder.results(self._record_results),
            session=self._tool_session,
            taken=call_taken,
            hooks=HookedTools(self._hooks),
        )
        return Ports(
            model=self._ledger,
            executor=executor,
            history=self._transcript,
            interrupt=self._interrupt,
            clock=self._clock,
            ids=self._ids,
            mender=self._mender,
            pipeline=self._window.pipeline,
            collapse=self._window.collapse,
            summariser=self._window.summariser,
            show=show,
            summaries=self._captions(show, tasks),
            attachments=inbox,
            stop_hooks=HookedStop(self._hooks),
        )

    def _captions(self, show: Show, tasks: anyio.abc.TaskGroup) -> ToolSummaries:
        if self._settings.small_model is None:
            return NoCaptions()
        return Captions(
            model=self._ledger,
            name=self._settings.small_model,
            ids=self._ids,
            interrupt=self._interrupt,
            show=show,
            tasks=tasks,
        )
