"""A session: one transcript, one history, many prompts.

It knows what outlives a prompt and hands each prompt its loop; how the parts are made is
`assembly`'s affair, how a run is made `running`'s, what happens in it the table's.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from attrs import define, evolve

from interlock import token_budget
from interlock.admission import Admission, Refused
from interlock.agents.crew import Crew
from interlock.checkpoints import Checkpoints
from interlock.context.autocompact import by_hand, fixed_part_warning
from interlock.context.gauge import Fill, fill
from interlock.drive import Finished
from interlock.errors import UsageError
from interlock.home import SessionPaths
from interlock.hooks import SessionHooks, Who, notified
from interlock.inbox import PrefetchSource, Priority, Queued, Waiting
from interlock.joining import made_ready
from interlock.knowledge import Knowledge
from interlock.mcp import Servers
from interlock.options import PermissionMode
from interlock.output_cap import output_cap_warning
from interlock.permissions import Gate, UpdateKind
from interlock.permissions import Update as Change
from interlock.running import Bounds, Shared, Worker
from interlock.session_state import Keeping
from interlock.speech import Speech
from interlock.structured import StructuredAnswer
from interlock.summary import ModelUse, RunSummary
from interlock.summing import Summing
from interlock.tally import Tally
from phases.world.limits import Limits
from phases.world.loop import NEVER_COMPACTED, AutoCompactTracking, Loop, ToolUseContext
from phases.world.messages import Message, Text, is_blank
from phases.world.states import State
from phases.world.updates import Notice, Show, Update

if TYPE_CHECKING:
    from interlock.rewinding import Rewind, Rewound

_NO_TOOL = (
    "no tool is called {words}: such rules match nothing (--allowedTools and --disallowedTools "
    "take every word behind them; a prompt goes in front)"
)


def _nobody(update: Update) -> None:
    """Nobody watches between two prompts."""


@define(kw_only=True)
class Agent:
    """A session that can be given prompts, one after another."""

    session_id: str
    model: str
    cwd: Path
    paths: SessionPaths
    _shared: Shared
    _worker: Worker  # the main agent
    _gate: Gate
    servers: Servers  # of MCP
    _admission: Admission
    _speech: Speech
    _keeping: Keeping
    _checkpoints: Checkpoints
    _crew: Crew  # the main agent's children
    think: Callable[[int | None], None]  # between two prompts: see `AnthropicModel.think`
    _structured: StructuredAnswer | None = None
    idle_show: Show = _nobody  # told what background agents do between two prompts
    _prefetches: tuple[PrefetchSource, ...] = ()
    _strange_rules: tuple[str, ...] = ()  # words of the permission flags that name no tool
    _told_first: tuple[Update, ...] = ()  # with the first prompt
    _folder: Path | None = None  # that commands ran in before this process began
    _messages: tuple[Message, ...] = ()
    _context: ToolUseContext | None = None
    _tracking: AutoCompactTracking = NEVER_COMPACTED
    _busy: bool = False
    _warned: bool = False

    def __attrs_post_init__(self) -> None:
        self._worker.results_kept = self._keep_soon

    @property
    def waiting(self) -> Waiting:
        """The queue itself: background tasks put their news into it."""
        return self._shared.waiting

    @property
    def knowledge(self) -> Knowledge:
        """What it knows beside the conversation: notes, memory, skills."""
        return self._worker.knowledge

    @property
    def hooks(self) -> SessionHooks:
        return self._shared.hooks

    @property
    def crew(self) -> Crew:
        """The main agent's children."""
        return self._crew

    @property
    def tools(self) -> tuple[str, ...]:
        """The names of the tools on offer."""
        return tuple(self._worker.tools)

    @property
    def agents(self) -> tuple[str, ...]:
        """The names of the agent types."""
        return tuple(self._crew.tree.catalogue.types)

    @property
    def permission_mode(self) -> PermissionMode:
        return self._gate.mode

    def set_permission_mode(self, mode: PermissionMode) -> None:
        """From the next call on; what hooks are told changes with it."""
        self._gate.apply(Change(kind=UpdateKind.SET_MODE, mode=mode))
        self._shared.hooks.permission_mode = mode.value

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
        self._worker.interrupt.request()

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
            if self._structured is None:
                return await self._prompted(text, show, typed)
            self._structured.begin()
            return self._structured.finished(await self._prompted(text, show, typed))

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
        shared, worker = self._shared, self._worker
        run_id = shared.ids.new()
        began = monotonic()
        worker.interrupt.reset()
        worker.ledger.new_prompt()
        self._gate.begin_run()
        shared.hooks.take_back(None)  # what skills of the last prompt brought
        counted = Tally(self._checkpoints.watching(show), shared.cooldown)
        self._warn(show)
        worker.transcript.show = shared.waiting.show = shared.hooks.show = counted
        self._keeping.show = counted
        words = text if isinstance(text, str) else text.text
        said = words if typed is None else typed
        await made_ready(self.servers, counted, worker.interrupt, shared.options, said)
        refused = await self._admission.refusal(words, Who(cwd=self._where))
        if refused is not None:
            return self._summing.not_run(run_id, refused, monotonic() - began)
        heard = await self._speech.heard(text, typed, Path(self._where), self.model)
        self._crew.tree.new_prompt(counted)
        inbox = worker.inbox(self._prefetches)
        sent = (*self._admission.taken_notes(), *heard.notes, *inbox.said(heard.prompt))
        loop = self._loop(sent, heard.typed, heard.model)
        path = self.paths.trace(run_id)
        try:
            finished = await worker.run(loop, path, counted, inbox, self._go_on_with)
        finally:
            self._crew.tree.show = self.idle_show
        return self._summing.of(run_id, finished, counted, monotonic() - began)

    async def settle(self, summary: RunSummary, show: Show) -> RunSummary:
        """The session is over: end the agents that still run in the background, and tell of each;
        tell of servers that it had to do without.

        Returns the summary of its last prompt with what they have cost until then. Closing the
        session does the same without a word.
        """
        self._crew.tree.show = show
        left = await self._crew.end()
        self._crew.tree.show = self.waiting.show = _nobody
        for line in (*left, *self.servers.never_there()):
            show(Notice("warning", line))
        return self._summing.again(summary) if left else summary

    def not_asked(self, words: str) -> RunSummary:
        """The summary of a prompt that was none for the model; `words` are the answer."""
        said = Refused(reason=State.COMPLETED.value, error=None, words=words)
        return evolve(self._summing.not_run("", said, 0.0), models=self.spent)

    async def compact(self, show: Show, focus: str | None = None) -> str | None:
        """Summarise the conversation now, with an eye on `focus`; why it cannot be, or None.

        Raises UsageError while a prompt is under way.
        """
        with self._alone():
            return await self._compacted(show, focus)

    async def _compacted(self, show: Show, focus: str | None) -> str | None:
        worker = self._worker
        worker.interrupt.reset()
        worker.transcript.show = self._shared.hooks.show = show
        loop, made = self._loop(()), None
        mended = worker.mender.mend(loop.state.messages, model=self.model)
        with worker.interrupt.scope():
            made = await worker.window.compact(loop, mended.messages, show, focus)
        if made is None or made.view is None:
            return "interrupted" if made is None else made.problem
        await worker.transcript.record(made.view)
        self._messages, self._tracking = made.view, by_hand(self._tracking)
        return None

    async def rewind(self, planned: Rewind, show: Show) -> Rewound:
        """Go back as planned (see `rewinding`). Raises UsageError while a prompt is under way."""
        from interlock.rewinding import carried_out

        with self._alone():
            transcript = self._worker.transcript
            transcript.show = show
            done = await carried_out(planned, transcript, self._checkpoints, self._shared.ids)
            self._messages = done.messages
            if planned.turns_back:
                self._tracking = NEVER_COMPACTED
                self._keeping.turn_back(done.messages)
                self.knowledge.turn_back(done.messages)
            self.keep()
            return done

    def begin_anew(self, source: str) -> None:
        """SessionStart hooks are told this with the next prompt: resume, or clear."""
        self._admission.source = source

    def end_as(self, reason: str) -> None:
        """What SessionEnd hooks are told as it is closed: clear, logout, prompt_input_exit."""
        self._admission.end_reason = reason

    async def notify(self, kind: str, message: str) -> None:
        """Tell Notification hooks what a person should know of, as `idle_prompt`."""
        await notified(self._shared.hooks, kind, message)

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
        capped = output_cap_warning(self.model, self._shared.settings)
        if capped is not None:
            show(Notice("warning", capped))
        fixed = fixed_part_warning(self._worker.fixed_tokens, self._limits)
        if fixed is not None:
            show(Notice("warning", fixed))

    @property
    def _models(self) -> tuple[str, ...]:
        return (self.model, *self._shared.options.fallback_models)

    @property
    def _limits(self) -> Limits:
        return self._worker.limits(self._models)

    @property
    def _where(self) -> str:
        """The folder that commands run in now."""
        return self._context.cwd if self._context else str(self._folder or self.cwd)

    @property
    def _summing(self) -> Summing:
        return Summing(
            session_id=self.session_id,
            ledger=self._worker.ledger,
            gate=self._gate,
            limits=self._shared.settings.limits,
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

    def _keep_soon(self) -> None:
        self._keeping.save(self.model, self._tracking)

    def _loop(
        self, said: tuple[Message, ...], typed: str | None = None, model: str | None = None
    ) -> Loop:
        options = self._shared.options
        if typed is None:
            typed = said[-1].text if said else ""
        return self._worker.loop(
            (*self._messages, *said),
            models=(model or self.model, *options.fallback_models),
            cwd=self._where,
            mode=self.permission_mode.value,
            chain_id=self._shared.ids.new(),
            bounds=Bounds(
                max_turns=options.max_turns,
                budget_usd=options.max_budget_usd,
                token_budget=token_budget.asked_for(typed) or options.token_budget,
            ),
            tracking=self._tracking,
        )
