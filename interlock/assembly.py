"""Options and settings in, a runnable agent out: the only place that builds all parts.

Services are strangers to one another and meet here.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import anyio
from attrs import evolve, frozen

from interlock import confined
from interlock.admission import Admission
from interlock.agent import Agent
from interlock.agents.catalogue import Catalogue
from interlock.agents.crew import Crew, Tree
from interlock.agents.here import Here
from interlock.agents.models import model_of
from interlock.agents.nursery import Nursery
from interlock.captioner import chooser, small_models
from interlock.checkpoints import Checkpoints
from interlock.cooldown import CoolDown
from interlock.endings import Ending
from interlock.front import adapter_of, front_of
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
from interlock.insisting import insist_on_prices, insist_on_what_it_needs
from interlock.interrupt import InterruptSignal
from interlock.joining import ServerPrompts, joined
from interlock.kept import OpenTodos
from interlock.knowledge import Knowledge
from interlock.ledger import Ledger
from interlock.model import preload
from interlock.offer import offer_of
from interlock.offered import Workshop
from interlock.options import Options
from interlock.permissions import Asker, Gate, NobodyAsks
from interlock.permissions.explain import judge_of
from interlock.planning import ApprovedPlan, Planning
from interlock.recording import Recordings
from interlock.resuming import Begun, begun
from interlock.running import Shared, Worker
from interlock.sandbox import Sandbox, opened, without
from interlock.session_state import Keeping
from interlock.settings import Settings
from interlock.settled import Settled
from interlock.spawning import spawners_of
from interlock.spending import SpendingFile
from interlock.structured import StructuredAnswer
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
from interlock.window import surroundings
from interlock.world import RandomIds, RealClock
from phases.world.ports import Clock
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
    endings: Sequence[Ending] = (),
) -> AsyncIterator[Agent]:
    """Build an agent; closing it ends every process and connection it opened.

    `tools` are the caller's own, beside the built-in ones: functions with `@tool`, say.
    `person` answers what the model asks; without one it is told that nobody can.
    `clock` takes the place of the real one: for tests, where nobody wants to wait. `prefetches`
    are asked with each prompt, beside its first request. `hooks` are functions, and come behind
    those of settings files, which the options hold. `endings` end a run between two turns.

    Raises UsageError, with one line that says how to mend it, for what cannot work.
    """
    cwd = options.cwd.resolve()
    insist_on_what_it_needs(settings, cwd)
    preload()  # the SDK is slow to import: beside git's answers it costs nothing
    ids, clock = RandomIds(), clock or RealClock()
    async with AsyncExitStack() as stack:
        start = await begun(options, settings, cwd, ids)
        transcript, paths, options = start.transcript, start.paths, start.options
        stack.push_async_callback(transcript.aclose)
        wanted = options.model or settings.model or DEFAULT_MODEL
        model = model_of(None, wanted, DEFAULT_MODEL, settings.families, None)
        insist_on_prices(options, settings, model)
        structured = StructuredAnswer.of(options, settings)
        functions = hooks if structured is None else (*hooks, *structured.hooks)
        guards = _guards(start, cwd, model, ids, asker, registered(functions))
        gate, hooked = guards.gate, guards.hooks
        knowledge = Knowledge.of(options, settings, cwd, gate, paths.session_id)
        box, warning = await _sandbox(options, settings, paths, cwd, gate, stack)
        waiting, todos = Waiting(ids), TodoList()
        tree = Tree(catalogue=Catalogue.of(options.agents), limits=settings.limits, paths=paths)
        tree.spawners |= spawners_of(tree, gate, options, settings)
        crew = Crew(tree=tree)
        plan = Planning(gate, alone=isinstance(asker, NobodyAsks), file=paths.plan)
        workshop = Workshop(
            options=options,
            settings=settings,
            mail=Mail(waiting),
            clock=clock,
            todos=todos,
            plan=plan,
            person=person,
            instructions=knowledge.instructing,
            sandbox=box,
            crew=crew,
        )
        offered = workshop.tools(tools)
        if structured is not None:
            structured.join(offered)
        for tool in offered.values():
            stack.callback(tool.close)
        servers = await stack.enter_async_context(
            joined(options, settings, cwd, offered, person, workshop.mail)
        )
        knowledge.instructing.sources.append(
            ServerPrompts(
                servers=servers, root=cwd, limits=settings.limits, spill=paths.tool_results
            )
        )
        offer = offer_of(settings, offered, start.state.loaded)
        front = await front_of(options, cwd, offer, knowledge)
        adapter = adapter_of(options, settings, front, offer, clock)
        helpers = small_models(settings, clock)
        for model_client in (adapter, *helpers.values()):
            stack.push_async_callback(model_client.aclose)
        stack.push_async_callback(hooked.aclose)
        stack.push_async_callback(_end, guards.admission)
        slots = anyio.Semaphore(settings.limits.max_concurrent_requests)
        checkpoints = Checkpoints.of(paths.folder, on=settings.file_checkpointing)
        reads = FileReads()
        costs = SpendingFile(paths.costs, transcript.disk)
        transcript.beside = costs.sync
        ledger = Ledger(
            Settled(adapter, transcript),
            slot=slots,
            helpers=helpers,
            accounts=dict(start.spent),
            paid=costs.add,
        )
        keeping = _keeping(start, gate, todos, reads, offered)
        keeping.loaded = offer.loaded
        problem = keeping.take_up(start.state)
        todos.recall(start.messages)
        knowledge.recall(start.messages)
        recordings = Recordings.of(
            settings.record if options.record is None else options.record,
            surroundings(
                model=ledger,
                count=adapter.count,
                clock=clock,
                ids=ids,
                hooks=hooked,
                keepsakes=(OpenTodos(todos), ApprovedPlan(paths.plan), *knowledge.keepsakes),
                recent_files=reads.recent,
                hides=gate.hides,
                limits=settings.limits,
            ),
            paths,
            settings.features,
        )
        shared = Shared(
            options=options,
            settings=settings,
            hooks=hooked,
            waiting=waiting,
            cooldown=CoolDown(settings.limits.fallback_cooldown_s, clock),
            ids=ids,
            clock=clock,
            endings=endings,
        )
        worker = Worker(
            shared=shared,
            ledger=ledger,
            gate=gate,
            tools=offered,
            transcript=transcript,
            recordings=recordings,
            tool_session=ToolSession(
                root=cwd, spill=paths.tool_results, reads=reads, keep=checkpoints.before_change
            ),
            todos=todos,
            interrupt=guards.interrupt,
            front=front,
            offer=offer,
            knowledge=knowledge,
        )
        knowledge.takes_calls(worker.calling)
        choose = chooser(settings, ledger, ids, guards.interrupt)
        agent = Agent(
            session_id=paths.session_id,
            model=model,
            cwd=cwd,
            paths=paths,
            shared=shared,
            worker=worker,
            gate=gate,
            admission=guards.admission,
            servers=servers,
            speech=knowledge.speech(plan, servers, settings.families, adapter.spend),
            keeping=keeping,
            checkpoints=checkpoints,
            crew=crew,
            structured=structured,
            think=adapter.think,
            prefetches=(*knowledge.prefetches(choose), *prefetches),
            strange_rules=gate.judge.rules.strangers((*names(), *offered)),
            told_first=(*_told_of(box, gate.judge.confined, warning, problem), *start.told),
            messages=start.messages,
            tracking=start.state.tracking,
            folder=start.folder(),
        )
        stack.callback(agent.keep)
        for note in start.notes:
            workshop.mail.note(note)
        crew.parent = worker
        tree.spawners[None] = Here(
            nursery=Nursery(
                paths=paths,
                root=cwd,
                front=front,
                adapter=adapter,
                workshop=workshop,
                own_tools=tools,
                tree=tree,
            )
        )
        await stack.enter_async_context(crew)
        yield agent


def _keeping(
    start: Begun,
    gate: Gate,
    todos: TodoList,
    reads: FileReads,
    offered: Mapping[str, Tool],
) -> Keeping:
    """What writes down, beside the transcript, what a later session takes up again."""
    shell = offered.get("Bash")
    return Keeping(
        path=start.paths.state,
        transcript=start.transcript,
        gate=gate,
        todos=todos,
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


def _told(asker: Asker, hooks: SessionHooks) -> Asker:
    """Hooks hear of it when a person is about to be asked; where there is nobody, nothing is."""
    return asker if isinstance(asker, NobodyAsks) else NotifyingAsker(asker, hooks)


async def _end(admission: Admission) -> None:
    """Tell SessionEnd hooks, whoever cancels: each has a limit of its own."""
    if admission.begun:
        with anyio.CancelScope(shield=True):
            await session_ended(admission.hooks, admission.end_reason)
