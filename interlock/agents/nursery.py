"""How a child is made: its own parts, beside those that it shares with all agents of its session.

Its own are transcript, window, tools with their state, todo list, books and rights. Shared are the
connections to the model, the sandbox, hooks, note files, skills and the queue. Knows not when a
child is wanted (`crew`), nor how it runs (`running`).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
from attrs import evolve, frozen

from interlock.agents.crew import Crew, Tree
from interlock.agents.errand import Errand, Seat
from interlock.agents.grants import as_parent, granted
from interlock.agents.memories import memory_of, rights_to
from interlock.agents.servers import Lending
from interlock.front import Front, Line, edits_of, environment_for
from interlock.home import AgentPaths, SessionPaths
from interlock.hooks import parse
from interlock.inbox import Mail
from interlock.kept import OpenTodos
from interlock.knowledge import Knowledge
from interlock.ledger import Ledger
from interlock.model import AnthropicModel
from interlock.offer import offer_of
from interlock.permissions import BadRule, ChildGate, Rules
from interlock.prompt import system_blocks
from interlock.recorded import recordings_of
from interlock.running import Identity, Shared, Worker
from interlock.sessions import Transcript
from interlock.settled import Settled
from interlock.tools import FileReads, TodoList, Tool, ToolError, ToolSession
from interlock.tools.tool import keeps_nothing

if TYPE_CHECKING:  # it makes our tools, and so imports us
    from interlock.offered import Workshop


@frozen(kw_only=True)
class Child:
    """One that is ready to run, and the children it may have itself."""

    worker: Worker
    crew: Crew


@frozen(kw_only=True)
class _Own:
    """What a child has for itself alone before it has tools."""

    gate: ChildGate
    knowledge: Knowledge
    todos: TodoList
    crew: Crew
    mail: Mail
    transcript: Transcript


@frozen(kw_only=True)
class Nursery:
    """What children of one session are made from."""

    paths: SessionPaths
    root: Path  # the folder the session works in
    front: Front  # of the main agent
    adapter: AnthropicModel  # of the main agent
    workshop: Workshop
    own_tools: Sequence[Tool] = ()  # of the caller; shared, and not ours to close
    tree: Tree

    @asynccontextmanager
    async def born(self, errand: Errand, seat: Seat) -> AsyncIterator[Child]:
        """A child, ready to run. Leaving ends whatever it has left running."""
        shared, gate = seat.parent.shared, _gate(errand, seat.parent)
        async with AsyncExitStack() as stack:
            stack.enter_context(_lent_hooks(errand, shared))
            crew = Crew(tree=self.tree, spawns=errand.definition.spawns)
            await stack.enter_async_context(crew)
            own = _Own(
                gate=gate,
                knowledge=self._knowledge(errand, gate, seat),
                todos=TodoList(),
                crew=crew,
                mail=Mail(shared.waiting, errand.agent_id),
                transcript=_transcript(errand, self.paths.agent(errand.agent_id), seat.parent),
            )
            tools = await stack.enter_async_context(self._equipped(errand, seat, own))
            line = await self._line(errand, seat.parent, tools, own)
            worker = self._worker(errand, seat, own, tools, line)
            crew.parent = worker
            own.knowledge.takes_calls(worker.calling)
            stack.push_async_callback(own.transcript.aclose)
            yield Child(worker=worker, crew=crew)

    @asynccontextmanager
    async def _equipped(
        self, errand: Errand, seat: Seat, own: _Own
    ) -> AsyncIterator[dict[str, Tool]]:
        """Its tools, and the servers of its type, if it is no fork."""
        shared, ground = seat.parent.shared, seat.ground or seat.parent.ground
        workshop = evolve(
            self.workshop,
            mail=own.mail,
            todos=own.todos,
            plan=None,
            person=None,
            instructions=own.knowledge.instructing,
            sandbox=self.workshop.sandbox if ground is None else ground.sandbox,
            crew=own.crew,
        )
        made = workshop.all(self.own_tools)
        async with AsyncExitStack() as stack:
            stack.push_async_callback(_closed, made, self.own_tools)
            if errand.is_fork:
                yield as_parent(made, seat.parent)
                return
            tools = granted(made, errand, seat.parent)
            lending = Lending(
                errand=errand,
                options=shared.options,
                settings=shared.settings,
                person=self.workshop.person,
                mail=own.mail,
                show=lambda update: self.tree.show(update),  # another with each prompt
                tools=tools,
            )
            await stack.enter_async_context(lending.lent())
            yield tools

    async def _line(
        self, errand: Errand, parent: Worker, tools: dict[str, Tool], own: _Own
    ) -> Line:
        """On the connections of the main agent, and on its parent's books."""
        settings, given, above = parent.shared.settings, parent.offer, parent.ledger
        front = await self._front(errand, tools, parent, own.knowledge)
        forked = errand.is_fork
        offer = given.forked(tools) if forked else offer_of(settings, tools, (), given.api)
        adapter = self.adapter.beside(
            system=front.system,
            tools=offer.specs,
            user_context=front.notes,
            context_name=front.notes_name,
            context_management=edits_of(settings, offer.specs()),
            effort=errand.effort,
        )
        settled = Settled(adapter, own.transcript)
        ledger = Ledger(settled, above, slot=above.slot, helpers=above.helpers)
        return Line(offer=offer, front=front, adapter=adapter, ledger=ledger)

    def _worker(
        self, errand: Errand, seat: Seat, own: _Own, tools: Mapping[str, Tool], line: Line
    ) -> Worker:
        parent, paths = seat.parent, self.paths.agent(errand.agent_id)
        ground, reads = seat.ground or parent.ground, FileReads()
        if errand.is_fork:
            reads.take_up(parent.tool_session.reads.as_data())
            own.todos.todos = parent.todos.todos
        return Worker(
            shared=parent.shared,
            who=Identity(
                agent_id=errand.agent_id, agent_type=errand.agent_type, depth=errand.depth
            ),
            ledger=line.ledger,
            gate=own.gate,
            tools=tools,
            transcript=own.transcript,
            recordings=recordings_of(
                parent.shared,
                line,
                gate=own.gate,
                reads=reads,
                keepsakes=(OpenTodos(own.todos), *own.knowledge.keepsakes),
                paths=paths,
            ),
            tool_session=ToolSession(
                root=errand.cwd,
                spill=paths.tool_results,
                reads=reads,
                # What lies elsewhere is not what a rewind of the session goes back to.
                keep=parent.tool_session.keep if ground is None else keeps_nothing,
            ),
            todos=own.todos,
            interrupt=seat.interrupt,
            front=line.front,
            offer=line.offer,
            knowledge=own.knowledge,
            ground=ground,
        )

    def _knowledge(self, errand: Errand, gate: ChildGate, seat: Seat) -> Knowledge:
        """Notes and skills of its parent, or of its own ground, and the memory of its type, with
        the rights to it. A fork knows what its parent knows, wherever it works."""
        parent, memory = seat.parent, None
        shared = parent.shared
        if shared.options.auto_memory:
            memory = memory_of(errand.definition, shared.settings.home, self.root)
        if memory is not None:
            gate.lend(rights_to(memory))
        known = parent.knowledge.child(gate, errand.inherited, memory)
        if seat.ground is None or errand.is_fork:
            return known
        ground = seat.ground
        copy = (ground.tree, ground.top)
        return known.elsewhere(ground.root, copy, shared.options, shared.settings, gate.withholds)

    async def _front(
        self,
        errand: Errand,
        tools: Mapping[str, Tool],
        parent: Worker,
        knowledge: Knowledge,
    ) -> Front:
        """System prompt and tools: a fork has those of its parent, to the byte."""
        if errand.is_fork:
            return parent.front
        environment = self.front.environment
        if errand.cwd != self.root:
            environment = await environment_for(errand.cwd)
        options = evolve(
            parent.shared.options,
            system_prompt=errand.definition.prompt,
            append_system_prompt=None,
        )
        return evolve(
            self.front,
            system=system_blocks(options, environment, memory=knowledge.in_system(tools)),
            environment=environment,
            notes=knowledge.in_front(tools),
            notes_name=knowledge.in_front_of,
        )


@contextmanager
def _lent_hooks(errand: Errand, shared: Shared) -> Iterator[None]:
    """The hooks of its type, and those of the skills it uses: they go with it."""
    if shared.options.lent_hooks:
        own = errand.definition
        shared.hooks.lend(parse(own.hooks, own.origin), errand.agent_id)
    try:
        yield
    finally:
        shared.hooks.take_back(errand.agent_id)


def _gate(errand: Errand, parent: Worker) -> ChildGate:
    return parent.gate.child(
        _rules(errand),
        errand.definition.permission_mode,
        agent_id=errand.agent_id,
        agent_type=errand.agent_type,
    )


def _rules(errand: Errand) -> Rules:
    try:
        return Rules.parse(deny=errand.definition.disallowed_tools)
    except BadRule as error:
        raise ToolError(f"The agent type {errand.agent_type} cannot be used: {error}") from error


def _transcript(errand: Errand, paths: AgentPaths, parent: Worker) -> Transcript:
    settings = parent.shared.settings
    transcript = Transcript(
        paths.transcript,
        session_id=paths.session.session_id,
        cwd=errand.cwd,
        entrypoint=settings.entrypoint,
        agent_id=errand.agent_id,
        disk=settings.disk,
    )
    transcript.beside = parent.transcript.beside
    return transcript


async def _closed(made: Mapping[str, Tool], own: Sequence[Tool]) -> None:
    """End what the child's commands have left running. In a thread: it may take a moment."""
    closing = [tool for tool in made.values() if not any(tool is one for one in own)]

    def close() -> None:
        for tool in closing:
            tool.close()

    with anyio.CancelScope(shield=True):
        await anyio.to_thread.run_sync(close)
