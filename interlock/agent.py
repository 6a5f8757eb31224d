"""A session: one transcript, one history, many prompts. The only place that builds all parts.

Options and settings go in, a runnable agent comes out: services are strangers to one another
and meet here.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from time import monotonic

import anyio
import structlog
from attrs import define, field

from fsm import TraceWriter, header_of
from interlock import records
from interlock.drive import Finished, Ports, drive
from interlock.errors import UsageError
from interlock.home import SessionPaths
from interlock.interrupt import InterruptSignal
from interlock.journal import Journal
from interlock.ledger import Account, Ledger
from interlock.model import AnthropicModel, preload
from interlock.model.prices import facts
from interlock.options import Options, PermissionMode
from interlock.permissions import Asker, Gate, Judge, Rules
from interlock.prompt import environment_block, system_blocks
from interlock.sessions import Transcript
from interlock.sessions.transcript import private_folder
from interlock.settings import Settings
from interlock.summary import ModelUse, RunSummary
from interlock.table import LOOP
from interlock.tools import (
    FileReads,
    ShellSettings,
    Tool,
    ToolExecutor,
    ToolSession,
    UnknownTool,
    built_in,
    chosen,
)
from interlock.world import NoCaptions, RandomIds, RealClock
from phases.world.loop import Features, Loop, LoopState, Run, ToolUseContext
from phases.world.messages import Kind, Message, Text, encoded
from phases.world.ports import Clock
from phases.world.size import BYTES_PER_TOKEN
from phases.world.updates import Notice, Recorded, Show, Update

DEFAULT_MODEL = "claude-sonnet-4-5"

_log = structlog.get_logger("interlock.loop")


@define(kw_only=True)
class Agent:
    """A session that can be given prompts, one after another."""

    session_id: str
    model: str
    tools: tuple[str, ...]
    cwd: Path
    permission_mode: PermissionMode
    paths: SessionPaths
    _options: Options
    _settings: Settings
    _ledger: Ledger
    _gate: Gate
    _built: Mapping[str, Tool]
    _tool_session: ToolSession
    _transcript: Transcript
    _fixed_tokens: int
    _interrupt: InterruptSignal = field(factory=InterruptSignal)
    _ids: RandomIds = field(factory=RandomIds)
    _clock: Clock = field(factory=RealClock)
    _messages: tuple[Message, ...] = ()
    _context: ToolUseContext | None = None

    @property
    def transcript_path(self) -> Path:
        return self.paths.transcript

    def interrupt(self) -> None:
        """Stop the prompt under way: it ends in an `aborted_…` ending. Does nothing otherwise."""
        self._interrupt.request()

    async def prompt(self, text: str, show: Show) -> RunSummary:
        """Run one prompt to its end; `show` is told everything as it happens."""
        run_id = self._ids.new()
        began = monotonic()
        self._interrupt.reset()
        self._ledger.new_prompt()
        self._gate.begin_run()
        counted = _Counted(show)
        self._warn(counted)
        loop = self._loop(text)
        self._transcript.show = counted
        trace = self.paths.trace(run_id)
        private_folder(trace.parent)
        header = header_of(
            LOOP, chain_id=loop.run.chain_id, depth=loop.run.depth, start=records.start(loop)
        )
        with TraceWriter(header, trace, log=_log.debug) as writer:
            async with anyio.create_task_group() as tasks:
                finished = await drive(
                    loop,
                    self._ports(counted, tasks),
                    Journal(writer, self._clock).taken,
                    self._go_on_with,
                )
                tasks.cancel_scope.cancel()  # nothing outlives the loop that started it
        return self._summary(run_id, finished, counted, monotonic() - began)

    def _warn(self, show: Show) -> None:
        if self.permission_mode is PermissionMode.BYPASS_PERMISSIONS and os.geteuid() == 0:
            text = "permissions are bypassed and this is root: every call runs, on everything"
            show(Notice("warning", text))

    def _go_on_with(self, finished: Finished) -> None:
        """The next prompt begins where this one ended, also if it was cancelled."""
        self._messages = finished.messages
        self._context = finished.loop.state.tool_use_context

    def _loop(self, text: str) -> Loop:
        options, settings = self._options, self._settings
        models = (self.model, *options.fallback_models)
        chain_id = self._ids.new()
        context = ToolUseContext(
            model=self.model,
            permission_mode=self.permission_mode.value,
            cwd=self._context.cwd if self._context else str(self.cwd),
            tools=self.tools,
            chain_id=chain_id,
            depth=0,
            agent_id=None,
        )
        run = Run(
            chain_id=chain_id,
            depth=0,
            models=tuple(dict.fromkeys(models)),
            max_turns=options.max_turns,
            budget_usd=options.max_budget_usd,
            token_budget=None,
            output_cap=settings.output_cap,
            fixed_tokens=self._fixed_tokens,
            features=Features(),
            limits=settings.limits,
        )
        prompt = Message(id=self._ids.new(), role="user", kind=Kind.PROMPT, content=(Text(text),))
        return Loop(run=run, state=LoopState.first((*self._messages, prompt), context))

    def _ports(self, show: Show, tasks: anyio.abc.TaskGroup) -> Ports:
        executor = ToolExecutor(
            tools=self._built,
            permissions=self._gate,
            interrupt=self._interrupt,
            show=show,
            limits=self._settings.limits,
            tasks=tasks,
            ids=self._ids,
            record=self._transcript.record_results,
            session=self._tool_session,
        )
        return Ports(
            model=self._ledger,
            executor=executor,
            history=self._transcript,
            interrupt=self._interrupt,
            clock=self._clock,
            ids=self._ids,
            show=show,
            summaries=NoCaptions(),
        )

    def _summary(
        self, run_id: str, finished: Finished, counted: _Counted, seconds: float
    ) -> RunSummary:
        terminal, reply = finished.terminal, counted.reply
        failure = self._ledger.last_failure
        return RunSummary(
            session_id=self.session_id,
            run_id=run_id,
            reason=terminal.reason.value,
            error=terminal.error,
            error_text=terminal.text,
            text=reply.text if reply else "",
            stop_reason=reply.origin.stop_reason if reply and reply.origin else None,
            turns=finished.loop.state.turn_count,
            messages=counted.user_messages,
            usage=self._ledger.usage,
            models={
                name: self._use(name, account) for name, account in self._ledger.accounts.items()
            },
            cost=self._ledger.cost,
            duration_s=seconds,
            api_duration_s=self._ledger.api_seconds,
            denials=tuple(self._gate.denials),
            api_error_status=failure.status if failure and terminal.error else None,
            api_error_type=failure.kind.value if failure and terminal.error else None,
        )

    def _use(self, model: str, account: Account) -> ModelUse:
        known = facts(model)
        limits = self._settings.limits
        return ModelUse(
            usage=account.usage,
            cost=account.cost,
            context_window=known.window if known else limits.context_window,
            max_output_tokens=known.most_output if known else limits.escalated_output_cap,
        )


@define
class _Counted:
    """Passes updates on, and notes what the summary needs of them."""

    _show: Show
    reply: Message | None = None
    user_messages: int = 0

    def __call__(self, update: Update) -> None:
        if isinstance(update, Recorded):
            if update.message.role == "user":
                self.user_messages += 1
            else:
                self.reply = update.message
        self._show(update)


@asynccontextmanager
async def open_agent(
    options: Options,
    settings: Settings,
    *,
    asker: Asker,
    environ: Mapping[str, str],
    clock: Clock | None = None,
) -> AsyncIterator[Agent]:
    """Build an agent; closing it ends every process and connection it opened.

    `clock` takes the place of the real one: for tests, where nobody wants to wait.

    Raises UsageError, with one line that says how to mend it, for what cannot work.
    """
    cwd = options.cwd.resolve()
    if not cwd.is_dir():
        raise UsageError(f"no such folder: {options.cwd} (--cwd)")
    model = options.model or settings.model or DEFAULT_MODEL
    _insist_on_a_key(settings)
    _insist_on_prices(options, (model, *options.fallback_models))
    preload()  # the SDK is slow to import: beside git's answers it costs nothing
    session_id = options.session_id or RandomIds().new()
    paths = SessionPaths.of(settings.home, cwd, session_id)
    rules = Rules.parse(allow=options.allowed_tools, deny=options.disallowed_tools)
    async with AsyncExitStack() as stack:
        tools = _tools(options, settings)
        for tool in tools.values():
            stack.callback(tool.close)
        environment = await environment_block(cwd, now=RealClock().time())
        system = system_blocks(options, environment)
        specs = tuple(tool.wire() for tool in tools.values())
        adapter = AnthropicModel(
            base_url=settings.base_url,
            api_key=settings.api_key,
            auth_token=settings.auth_token,
            system=system,
            tools=specs,
            limits=settings.limits,
            thinking_budget=settings.max_thinking_tokens or None,
            raw_events=options.include_partial_messages,
            clock=clock,
        )
        stack.push_async_callback(adapter.aclose)
        transcript = Transcript(
            paths.transcript,
            session_id=session_id,
            cwd=cwd,
            entrypoint=settings.entrypoint,
            permission_mode=options.permission_mode.value,
        )
        stack.push_async_callback(transcript.aclose)
        fixed = sum(len(part.encode()) for part in system) + len(encoded(specs))
        yield Agent(
            session_id=session_id,
            model=model,
            tools=tuple(tools),
            cwd=cwd,
            permission_mode=options.permission_mode,
            paths=paths,
            options=options,
            settings=settings,
            ledger=Ledger(adapter),
            gate=Gate(Judge.of(cwd, rules, options.permission_mode), asker),
            built=tools,
            tool_session=ToolSession(root=cwd, spill=paths.tool_results, reads=FileReads()),
            transcript=transcript,
            fixed_tokens=round(fixed / BYTES_PER_TOKEN),
            clock=clock or RealClock(),
        )


def _tools(options: Options, settings: Settings) -> dict[str, Tool]:
    shell = ShellSettings(
        default_timeout=settings.bash_default_timeout_s,
        max_timeout=settings.bash_max_timeout_s,
    )
    try:
        return chosen(built_in(shell), options.tools)
    except UnknownTool as error:
        raise UsageError(f"{error} (--tools)") from error


def _insist_on_a_key(settings: Settings) -> None:
    if settings.api_key is None and settings.auth_token is None:
        raise UsageError(
            "no API key: set ANTHROPIC_API_KEY (or ANTHROPIC_AUTH_TOKEN); a local server takes "
            "any value"
        )


def _insist_on_prices(options: Options, models: tuple[str, ...]) -> None:
    if options.max_budget_usd is None:
        return
    for model in models:
        if facts(model) is None:
            raise UsageError(
                f"--max-budget-usd cannot be kept: no price is known for the model {model}"
            )
