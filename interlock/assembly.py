"""Options and settings in, a runnable agent out: the only place that builds all parts.

Services are strangers to one another and meet here.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import anyio
from attrs import evolve, frozen

from interlock import confined, memory
from interlock.admission import Admission
from interlock.agent import Agent
from interlock.captioner import captioner
from interlock.context.inject import PROJECT, user_context
from interlock.context.microcompact import context_edits
from interlock.cooldown import CoolDown
from interlock.errors import UsageError
from interlock.home import SessionPaths
from interlock.hooks import (
    Hook,
    HookedRequests,
    HookMatcher,
    NotifyingAsker,
    SessionFacts,
    SessionHooks,
    Trees,
    registered,
    session_ended,
)
from interlock.inbox import Mail, PrefetchSource, Waiting
from interlock.interrupt import InterruptSignal
from interlock.joining import joined
from interlock.kept import OpenTodos
from interlock.ledger import Ledger
from interlock.model import AnthropicModel, preload
from interlock.model.prices import facts
from interlock.offer import Offer, offer_of
from interlock.offered import Workshop
from interlock.options import Options
from interlock.permissions import Asker, Gate, NobodyAsks
from interlock.permissions.explain import judge_of
from interlock.planning import Planning
from interlock.prompt import environment_block, system_blocks
from interlock.resuming import Begun, begun
from interlock.sandbox import Sandbox, opened, without
from interlock.session_state import Keeping
from interlock.settings import Settings
from interlock.tools import (
    FileReads,
    Person,
    TodoList,
    Tool,
    ToolSession,
    names,
    processes,
)
from interlock.tools.bash import Bash
from interlock.window import Window
from interlock.world import RandomIds, RealClock
from phases.world.messages import Json
from phases.world.ports import Clock
from phases.world.size import BYTES_PER_TOKEN
from phases.world.updates import Notice

DEFAULT_MODEL = "claude-sonnet-5-5"


@asynccontextmanager
async def open_agent(
    options: Options,
    settings: Settings,
    *,
    asker: Asker,
    person: Person | None = None,
    tools: Sequence[Tool] = (),
    clock: Clock | None = None,
    prefetches: Sequence[PrefetchSource] = (),
    hooks: Sequence[HookMatcher] = (),
) -> AsyncIterator[Agent]:
    """Build an agent; closing it ends every process and connection it opened.

    `tools` are the caller's own, beside the built-in ones: functions with `@tool`, say.
    `person` answers what the model asks; without one it is told that nobody can.
    `clock` takes the place of the real one: for tests, where nobody wants to wait. `prefetches`
    are asked with each prompt, beside its first request. `hooks` are functions, and come behind
    those of settings files, which the options hold.

    Raises UsageError, with one line that says how to mend it, for what cannot work.
    """
    cwd = options.cwd.resolve()
    _insist_on_what_it_needs(settings, cwd)
    preload()  # the SDK is slow to import: beside git's answers it costs nothing
    ids, clock = RandomIds(), clock or RealClock()
    async with AsyncExitStack() as stack:
        start = await begun(options, settings, cwd, ids)
        transcript, paths, options = start.transcript, start.paths, start.options
        stack.push_async_callback(transcript.aclose)
        model = options.model or settings.model or DEFAULT_MODEL
        _insist_on_prices(options, settings, model)
        guards = _guards(start, cwd, model, ids, asker, registered(hooks))
        gate, hooked = guards.gate, guards.hooks
        box, warning = await _sandbox(options, settings, paths, cwd, gate, stack)
        waiting, todos = Waiting(ids), TodoList()
        workshop = Workshop(
            options=options,
            settings=settings,
            mail=Mail(waiting),
            clock=clock,
            todos=todos,
            plan=Planning(gate, alone=isinstance(asker, NobodyAsks)),
            person=person,
            sandbox=box,
        )
        offered = workshop.tools(tools)
        for tool in offered.values():
            stack.callback(tool.close)
        servers = await stack.enter_async_context(
            joined(options, settings, cwd, offered, person, workshop.mail)
        )
        offer = offer_of(settings, offered, start.state.loaded)
        front = await _front(options, settings, cwd)
        adapter = _adapter(options, settings, front, offer, clock)
        helpers = {"summary": captioner(settings, clock)} if settings.small_model else {}
        for model_client in (adapter, *helpers.values()):
            stack.push_async_callback(model_client.aclose)
        stack.push_async_callback(hooked.aclose)
        stack.push_async_callback(_end, guards.admission)
        ledger, reads = Ledger(adapter, helpers=helpers), FileReads()
        keeping = _keeping(start, gate, todos, ledger, reads, offered)
        keeping.loaded = offer.loaded
        problem = keeping.take_up(start.state)
        todos.recall(start.messages)
        window = Window.of(
            model=ledger,
            count=adapter.count,
            paths=paths,
            recent_files=reads.recent,
            settings=settings,
            clock=clock,
            ids=ids,
            keepsakes=(OpenTodos(todos),),
            hooks=hooked,
        )
        agent = Agent(
            session_id=paths.session_id,
            model=model,
            cwd=cwd,
            paths=paths,
            waiting=waiting,
            options=options,
            settings=settings,
            ledger=ledger,
            gate=gate,
            hooks=hooked,
            admission=guards.admission,
            interrupt=guards.interrupt,
            built=offered,
            todos=todos,
            tool_session=ToolSession(root=cwd, spill=paths.tool_results, reads=reads),
            transcript=transcript,
            fixed_tokens=lambda: front.tokens + offer.size,
            servers=servers,
            cooldown=CoolDown(settings.limits.fallback_cooldown_s, clock),
            window=window,
            prefetches=tuple(prefetches),
            strange_rules=gate.judge.rules.strangers((*names(), *offered)),
            told_first=(*_told_of(box, gate.judge.confined, warning, problem), *start.told),
            clock=clock,
            keeping=keeping,
            messages=start.messages,
            tracking=start.state.tracking,
            folder=start.folder(),
        )
        stack.callback(agent.keep)
        yield agent


def _keeping(
    start: Begun,
    gate: Gate,
    todos: TodoList,
    ledger: Ledger,
    reads: FileReads,
    offered: Mapping[str, Tool],
) -> Keeping:
    """What writes down, beside the transcript, what a later session takes up again."""
    shell = offered.get("Bash")
    return Keeping(
        path=start.paths.state,
        transcript=start.paths.transcript,
        gate=gate,
        todos=todos,
        ledger=ledger,
        reads=reads,
        shell=shell if isinstance(shell, Bash) else None,
        readable=start.state.readable,
    )


@frozen(kw_only=True)
class _Guards:
    """What stands between the agent and the world."""

    gate: Gate
    hooks: SessionHooks
    admission: Admission
    interrupt: InterruptSignal


def _guards(
    start: Begun,
    cwd: Path,
    model: str,
    ids: RandomIds,
    asker: Asker,
    functions: tuple[Hook, ...],
) -> _Guards:
    options, paths, interrupt = start.options, start.paths, InterruptSignal()
    hooked = SessionHooks(
        hooks=(*options.hooks, *functions),
        facts=SessionFacts(paths.session_id, transcript=paths.transcript, root=cwd, model=model),
        trees=Trees(variable=processes.MARK, end=processes.end),
        ids=ids,
        interrupt=interrupt,
        permission_mode=options.permission_mode.value,
        stop=interrupt.request,
    )
    # What was too long to be shown lies in a file: the model may page through it unasked.
    spilled = (paths.tool_results, *map(Path, start.state.readable))
    judge = evolve(judge_of(options), readable=tuple(each.resolve() for each in spilled))
    return _Guards(
        gate=Gate(judge, _told(asker, hooked), hooks=HookedRequests(hooked)),
        hooks=hooked,
        admission=Admission(
            hooks=hooked,
            interrupt=interrupt,
            ids=ids,
            source="resume" if start.resumed else "startup",
        ),
        interrupt=interrupt,
    )


async def _sandbox(
    options: Options,
    settings: Settings,
    paths: SessionPaths,
    cwd: Path,
    gate: Gate,
    stack: AsyncExitStack,
) -> tuple[Sandbox | None, str | None]:
    """The sandbox that is in force, and what to warn of. Raises NoSandbox."""
    mode = confined.mode_of(options)
    policy = confined.policy_of(options, cwd, gate, settings.home)
    box = await stack.enter_async_context(opened(mode, policy, taken=paths.tool_results))
    if box is not None and box.complete and options.sandbox.auto_allow:
        gate.judge = evolve(gate.judge, confined=True)
    return box, without(mode)


def _told_of(box: Sandbox | None, confines: bool, *warnings: str | None) -> tuple[Notice, ...]:
    notices = [Notice("warning", warning) for warning in warnings if warning is not None]
    if box is not None:
        unasked = "; commands in it need no approval" if confines else ""
        notices.append(Notice("info", f"sandbox: {'; '.join(box.enforced)}{unasked}"))
    return tuple(notices)


@frozen(kw_only=True)
class _Front:
    """What stands before the conversation in every request."""

    system: tuple[str, ...]
    notes: str | None
    notes_name: str  # for a person

    @property
    def tokens(self) -> int:
        """How large it is without the tools, estimated."""
        texts = (*self.system, self.notes or "")
        return round(sum(len(text.encode()) for text in texts) / BYTES_PER_TOKEN)


async def _front(options: Options, settings: Settings, cwd: Path) -> _Front:
    notes = memory.found(cwd, settings.home)
    files = ", ".join(str(note.path) for note in notes)
    return _Front(
        system=system_blocks(options, await environment_block(cwd, now=time.time())),
        notes=user_context({PROJECT: memory.told(notes)}),
        notes_name=f"the notes of {files}",
    )


def _told(asker: Asker, hooks: SessionHooks) -> Asker:
    """Hooks hear of it when a person is about to be asked; where there is nobody, nothing is."""
    return asker if isinstance(asker, NobodyAsks) else NotifyingAsker(asker, hooks)


async def _end(admission: Admission) -> None:
    """Tell SessionEnd hooks, whoever cancels: each has a limit of its own."""
    if admission.begun:
        with anyio.CancelScope(shield=True):
            await session_ended(admission.hooks, admission.end_reason)


def _adapter(
    options: Options, settings: Settings, front: _Front, offer: Offer, clock: Clock
) -> AnthropicModel:
    return AnthropicModel(
        base_url=settings.base_url,
        api_key=settings.api_key,
        auth_token=settings.auth_token,
        system=front.system,
        tools=offer.specs,
        limits=settings.limits,
        thinking_budget=settings.max_thinking_tokens or None,
        raw_events=options.include_partial_messages,
        context_management=_edits(settings, offer.specs()),
        user_context=front.notes,
        context_name=front.notes_name,
        clock=clock,
    )


def _edits(settings: Settings, specs: tuple[Mapping[str, Json], ...]) -> Mapping[str, Json] | None:
    if not settings.features.context_editing:
        return None
    return context_edits(settings.limits, [spec["name"] for spec in specs])


def _insist_on_what_it_needs(settings: Settings, cwd: Path) -> None:
    """Raise UsageError for what no session could do without."""
    if not cwd.is_dir():
        raise UsageError(f"no such folder: {cwd} (--cwd)")
    _insist_on_a_key(settings)


def _insist_on_a_key(settings: Settings) -> None:
    """Raise UsageError where there are no credentials."""
    if settings.api_key is None and settings.auth_token is None:
        raise UsageError(
            "no API key: set ANTHROPIC_API_KEY (or ANTHROPIC_AUTH_TOKEN); a local server takes "
            "any value"
        )


def _insist_on_prices(options: Options, settings: Settings, model: str) -> None:
    """Raise UsageError where a budget in money could not be kept."""
    if options.max_budget_usd is None:
        return
    small = () if settings.small_model is None else (settings.small_model,)
    for name in (model, *options.fallback_models, *small):
        if facts(name) is None:
            raise UsageError(
                f"--max-budget-usd cannot be kept: no price is known for the model {name}"
            )
