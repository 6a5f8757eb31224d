"""Options and settings in, a runnable agent out: the only place that builds all parts.

Services are strangers to one another and meet here.
"""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import anyio

from interlock import memory
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
from interlock.kept import OpenTodos
from interlock.ledger import Ledger
from interlock.model import AnthropicModel, preload
from interlock.model.prices import facts
from interlock.options import Options
from interlock.permissions import Asker, Gate, NobodyAsks
from interlock.permissions.explain import judge_of
from interlock.planning import Planning
from interlock.prompt import environment_block, system_blocks
from interlock.sessions import Transcript
from interlock.settings import Settings
from interlock.tools import (
    FileReads,
    NameTaken,
    Network,
    Person,
    PlanMode,
    ShellSettings,
    Sleep,
    TodoList,
    Tool,
    ToolSession,
    UnknownTool,
    WebSettings,
    built_in,
    chosen,
    names,
    processes,
    with_own,
)
from interlock.window import Window
from interlock.world import RandomIds, RealClock
from phases.world.messages import Json, encoded
from phases.world.ports import Clock, Ids
from phases.world.size import BYTES_PER_TOKEN

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
    configured_hooks: Sequence[Hook] = (),
) -> AsyncIterator[Agent]:
    """Build an agent; closing it ends every process and connection it opened.

    `tools` are the caller's own, beside the built-in ones: functions with `@tool`, say.
    `person` answers what the model asks; without one it is told that nobody can.
    `clock` takes the place of the real one: for tests, where nobody wants to wait. `prefetches`
    are asked with each prompt, beside its first request. `hooks` are functions, and come behind
    the `configured_hooks` of settings files (interlock.hooks.parse).

    Raises UsageError, with one line that says how to mend it, for what cannot work.
    """
    cwd, model = options.cwd.resolve(), options.model or settings.model or DEFAULT_MODEL
    _insist_on_what_it_needs(options, settings, cwd, model)
    preload()  # the SDK is slow to import: beside git's answers it costs nothing
    ids, clock = RandomIds(), clock or RealClock()
    session_id = options.session_id or ids.new()
    paths = SessionPaths.of(settings.home, cwd, session_id)
    judge = judge_of(options)
    async with AsyncExitStack() as stack:
        waiting, reads, todos = Waiting(ids), FileReads(), TodoList()
        interrupt = InterruptSignal()
        known = SessionFacts(session_id, transcript=paths.transcript, root=cwd, model=model)
        hooked = _hooks((*configured_hooks, *registered(hooks)), known, options, ids, interrupt)
        gate = Gate(judge, _told(asker, hooked), hooks=HookedRequests(hooked))
        offered = _tools(
            options,
            settings,
            Mail(waiting),
            clock,
            todos=todos,
            plan=Planning(gate),
            person=person,
            own=tools,
        )
        for tool in offered.values():
            stack.callback(tool.close)
        system = system_blocks(options, await environment_block(cwd, now=time.time()))
        specs = tuple(tool.wire() for tool in offered.values())
        notes = user_context({PROJECT: memory.told(memory.found(cwd, settings.home))})
        adapter = _adapter(options, settings, system, specs, clock, notes)
        helpers = {"summary": captioner(settings, clock)} if settings.small_model else {}
        for each in (adapter, *helpers.values()):
            stack.push_async_callback(each.aclose)
        transcript = _transcript(options, settings, paths, cwd)
        stack.push_async_callback(transcript.aclose)
        ledger = Ledger(adapter, helpers=helpers)
        admission = Admission(hooks=hooked, interrupt=interrupt, ids=ids)
        stack.push_async_callback(hooked.aclose)
        stack.push_async_callback(_end, admission)
        yield Agent(
            session_id=session_id,
            model=model,
            cwd=cwd,
            paths=paths,
            waiting=waiting,
            options=options,
            settings=settings,
            ledger=ledger,
            gate=gate,
            hooks=hooked,
            admission=admission,
            interrupt=interrupt,
            built=offered,
            todos=todos,
            tool_session=ToolSession(root=cwd, spill=paths.tool_results, reads=reads),
            transcript=transcript,
            fixed_tokens=_fixed_tokens((*system, notes or ""), specs),
            cooldown=CoolDown(settings.limits.fallback_cooldown_s, clock),
            window=Window.of(
                model=ledger,
                count=adapter.count,
                paths=paths,
                recent_files=reads.recent,
                settings=settings,
                clock=clock,
                ids=ids,
                keepsakes=(OpenTodos(todos),),
                hooks=hooked,
            ),
            prefetches=tuple(prefetches),
            strange_rules=judge.rules.strangers((*names(), *offered)),
            clock=clock,
        )


def _hooks(
    hooks: tuple[Hook, ...],
    known: SessionFacts,
    options: Options,
    ids: Ids,
    interrupt: InterruptSignal,
) -> SessionHooks:
    return SessionHooks(
        hooks=hooks,
        facts=known,
        trees=Trees(variable=processes.MARK, end=processes.end),
        ids=ids,
        interrupt=interrupt,
        permission_mode=options.permission_mode.value,
        stop=interrupt.request,
    )


def _told(asker: Asker, hooks: SessionHooks) -> Asker:
    """Hooks hear of it when a person is about to be asked; where there is nobody, nothing is."""
    return asker if isinstance(asker, NobodyAsks) else NotifyingAsker(asker, hooks)


async def _end(admission: Admission) -> None:
    """Tell SessionEnd hooks, whoever cancels: each has a limit of its own."""
    if admission.begun:
        with anyio.CancelScope(shield=True):
            await session_ended(admission.hooks, admission.end_reason)


def _transcript(
    options: Options, settings: Settings, paths: SessionPaths, cwd: Path
) -> Transcript:
    return Transcript(
        paths.transcript,
        session_id=paths.session_id,
        cwd=cwd,
        entrypoint=settings.entrypoint,
        permission_mode=options.permission_mode.value,
    )


def _adapter(
    options: Options,
    settings: Settings,
    system: tuple[str, ...],
    specs: tuple[Mapping[str, Json], ...],
    clock: Clock,
    notes: str | None,
) -> AnthropicModel:
    return AnthropicModel(
        base_url=settings.base_url,
        api_key=settings.api_key,
        auth_token=settings.auth_token,
        system=system,
        tools=specs,
        limits=settings.limits,
        thinking_budget=settings.max_thinking_tokens or None,
        raw_events=options.include_partial_messages,
        context_management=_edits(settings, specs),
        user_context=notes,
        clock=clock,
    )


def _edits(settings: Settings, specs: tuple[Mapping[str, Json], ...]) -> Mapping[str, Json] | None:
    if not settings.features.context_editing:
        return None
    return context_edits(settings.limits, [spec["name"] for spec in specs])


def _fixed_tokens(system: tuple[str, ...], specs: tuple[Mapping[str, Json], ...]) -> int:
    """What every request holds before the conversation begins, estimated."""
    size = sum(len(part.encode()) for part in system) + len(encoded(specs))
    return round(size / BYTES_PER_TOKEN)


def _tools(
    options: Options,
    settings: Settings,
    mail: Mail,
    clock: Clock,
    *,
    todos: TodoList,
    plan: PlanMode,
    person: Person | None,
    own: Sequence[Tool],
) -> dict[str, Tool]:
    """The tools on offer. Raises UsageError for a name that no tool has."""
    shell = ShellSettings(
        default_timeout=settings.bash_default_timeout_s,
        max_timeout=settings.bash_max_timeout_s,
        environment={**os.environ, **options.environment} if options.environment else None,
        notices=mail,
    )
    web = WebSettings(network=Network(allowed=settings.web_allow))
    try:
        built = built_in(
            shell,
            # The end of a background command may arrive, so there is something to sleep for.
            sleep=Sleep(mail, clock),
            web=web,
            todos=todos,
            plan=plan,
            person=person,
        )
        return chosen(with_own(built, own), options.tools)
    except UnknownTool as error:
        raise UsageError(f"{error} (--tools)") from error
    except NameTaken as error:
        raise UsageError(str(error)) from error


def _insist_on_what_it_needs(options: Options, settings: Settings, cwd: Path, model: str) -> None:
    """Raise UsageError for what no session could do without."""
    if not cwd.is_dir():
        raise UsageError(f"no such folder: {options.cwd} (--cwd)")
    _insist_on_a_key(settings)
    small = () if settings.small_model is None else (settings.small_model,)
    _insist_on_prices(options, (model, *options.fallback_models, *small))


def _insist_on_a_key(settings: Settings) -> None:
    """Raise UsageError where there are no credentials."""
    if settings.api_key is None and settings.auth_token is None:
        raise UsageError(
            "no API key: set ANTHROPIC_API_KEY (or ANTHROPIC_AUTH_TOKEN); a local server takes "
            "any value"
        )


def _insist_on_prices(options: Options, models: tuple[str, ...]) -> None:
    """Raise UsageError where a budget in money could not be kept."""
    if options.max_budget_usd is None:
        return
    for model in models:
        if facts(model) is None:
            raise UsageError(
                f"--max-budget-usd cannot be kept: no price is known for the model {model}"
            )
