"""An agent, built: in which order, and in which it ends."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from interlock.agent import Agent
from interlock.assembly.basis import founded
from interlock.assembly.equipment import equipped
from interlock.assembly.guards import Guards
from interlock.assembly.line import connected
from interlock.assembly.work import Parts
from interlock.captioner import chooser
from interlock.checkpoints import Checkpoints
from interlock.endings import Ending
from interlock.hooks import HookMatcher
from interlock.inbox import PrefetchSource
from interlock.options import Options
from interlock.permissions import Asker, NobodyAsks
from interlock.running import Worker
from interlock.settings import Settings
from interlock.tools import Person, Tool, names
from interlock.world import RealClock
from phases.world.ports import Clock
from phases.world.updates import Notice, Update


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
    alone = isinstance(asker, NobodyAsks)
    async with AsyncExitStack() as stack:
        basis = await stack.enter_async_context(founded(options, settings, clock or RealClock()))
        guards = Guards.of(basis, asker, hooks)
        equipment = await stack.enter_async_context(
            equipped(basis, guards.gate, alone=alone, person=person, own_tools=tools)
        )
        line = await stack.enter_async_context(connected(basis, equipment))
        await stack.enter_async_context(guards.on_duty())
        parts = Parts(
            basis=basis,
            guards=guards,
            equipment=equipment,
            line=line,
            checkpoints=Checkpoints.of(basis.paths.folder, on=settings.file_checkpointing),
            endings=endings,
        )
        worker = parts.worker()
        agent = _agent(parts, worker, prefetches)
        stack.callback(agent.keep)
        for note in basis.start.notes:
            equipment.workshop.mail.note(note)
        parts.have_children(worker)
        await stack.enter_async_context(equipment.crew)
        yield agent


def _agent(parts: Parts, worker: Worker, prefetches: Sequence[PrefetchSource]) -> Agent:
    basis, guards, equipment, line = parts.basis, parts.guards, parts.equipment, parts.line
    start, settings, knowledge = basis.start, basis.settings, equipment.knowledge
    taken_up = parts.taken_up()
    choose = chooser(settings, line.ledger, basis.ids, guards.interrupt)
    return Agent(
        session_id=basis.paths.session_id,
        model=basis.model,
        cwd=basis.cwd,
        paths=basis.paths,
        shared=worker.shared,
        worker=worker,
        gate=guards.gate,
        admission=guards.admission,
        servers=equipment.servers,
        speech=knowledge.speech(
            equipment.plan, equipment.servers, settings.families, line.adapter.spend
        ),
        keeping=taken_up.keeping,
        checkpoints=parts.checkpoints,
        crew=equipment.crew,
        structured=basis.structured,
        think=line.adapter.think,
        prefetches=(*knowledge.prefetches(choose), *prefetches),
        strange_rules=guards.gate.judge.rules.strangers((*names(), *equipment.tools)),
        told_first=tuple(_told_first(parts, taken_up.problem)),
        messages=start.messages,
        tracking=start.state.tracking,
        folder=start.folder(),
    )


def _told_first(parts: Parts, problem: str | None) -> Iterator[Update]:
    """`problem` is what could not be taken up."""
    confinement = parts.equipment.confinement
    for warning in (confinement.warning, problem):
        if warning is not None:
            yield Notice("warning", warning)
    yield from confinement.told()
    yield from parts.basis.start.told
