"""How a child is made: its own parts, beside those that it shares with all agents of its session.

Its own are transcript, window, tools with their state, todo list, books and rights. Shared are the
connections to the model, the sandbox, hooks, note files, skills and the queue. Knows not when a
child is wanted (`crew`), nor how it runs (`running`).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
from attrs import evolve, frozen

from interlock.agents.crew import Crew, Tree
from interlock.agents.errand import Errand, Seat
from interlock.agents.memories import memory_of, rights_to
from interlock.agents.servers import Lending, granted
from interlock.agents.tools import NOT_FOR_CHILDREN, Withheld
from interlock.context.keepsakes import Keepsakes
from interlock.front import Front, edits_of, environment_for
from interlock.home import AgentPaths, SessionPaths
from interlock.hooks import parse
from interlock.inbox import Mail
from interlock.kept import OpenTodos
from interlock.knowledge import Knowledge
from interlock.ledger import Ledger
from interlock.mcp import SERVER_TOOLS
from interlock.mcp.names import PREFIX, server_of
from interlock.model import AnthropicModel
from interlock.offer import offer_of
from interlock.permissions import BadRule, ChildGate, Rules
from interlock.prompt import system_blocks
from interlock.recording import Recordings
from interlock.running import Identity, Shared, Worker
from interlock.sessions import Transcript
from interlock.settled import Settled
from interlock.tools import FileReads, TodoList, Tool, ToolError, ToolSession
from interlock.tools.tool import keeps_nothing
from interlock.window import surroundings

if TYPE_CHECKING:  # it makes our tools, and so imports us
    from interlock.offered import Workshop


@frozen(kw_only=True)
class Child:
    """One that is ready to run, and the children it may have itself."""

    worker: Worker
    crew: Crew


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
        shared, paths = seat.parent.shared, self.paths.agent(errand.agent_id)
        fork = errand.inherited is not None
        ground = seat.ground or seat.parent.ground
        async with AsyncExitStack() as stack:
            todos, gate = TodoList(), _gate(errand, seat.parent)
            if shared.options.lent_hooks:
                own = errand.definition
                shared.hooks.lend(parse(own.hooks, own.origin), errand.agent_id)
            stack.callback(shared.hooks.take_back, errand.agent_id)
            knowledge = self._knowledge(errand, gate, seat)
            crew = Crew(tree=self.tree, spawns=errand.definition.spawns)
            await stack.enter_async_context(crew)
            made = evolve(
                self.workshop,
                mail=Mail(shared.waiting, errand.agent_id),
                todos=todos,
                plan=None,
                person=None,
                instructions=knowledge.instructing,
                sandbox=self.workshop.sandbox if ground is None else ground.sandbox,
                crew=crew,
            ).all(self.own_tools)
            stack.push_async_callback(_closed, made, self.own_tools)
            tools = _as_parent(made, seat.parent) if fork else _granted(made, errand, seat.parent)
            if not fork:
                lending = Lending(
                    errand=errand,
                    options=shared.options,
                    settings=shared.settings,
                    person=self.workshop.person,
                    mail=Mail(shared.waiting, errand.agent_id),
                    show=lambda update: self.tree.show(update),  # another with each prompt
                    tools=tools,
                )
                await stack.enter_async_context(lending.lent())
            front = await self._front(errand, tools, seat.parent, knowledge)
            given = seat.parent.offer
            offer = (
                given.forked(tools) if fork else offer_of(shared.settings, tools, (), given.api)
            )
            adapter = self.adapter.beside(
                system=front.system,
                tools=offer.specs,
                user_context=front.notes,
                context_name=front.notes_name,
                context_management=edits_of(shared.settings, offer.specs()),
                effort=errand.effort,
            )
            above = seat.parent.ledger
            transcript = _transcript(errand, paths, shared)
            transcript.beside = seat.parent.transcript.beside
            settled = Settled(adapter, transcript)
            ledger = Ledger(settled, above, slot=above.slot, helpers=above.helpers)
            reads = FileReads()
            if fork:
                reads.take_up(seat.parent.tool_session.reads.as_data())
                todos.todos = seat.parent.todos.todos
            worker = Worker(
                shared=shared,
                who=Identity(
                    agent_id=errand.agent_id, agent_type=errand.agent_type, depth=errand.depth
                ),
                ledger=ledger,
                gate=gate,
                tools=tools,
                transcript=transcript,
                recordings=_recordings(
                    adapter,
                    ledger,
                    paths,
                    reads,
                    (OpenTodos(todos), *knowledge.keepsakes),
                    shared,
                    gate,
                ),
                tool_session=ToolSession(
                    root=errand.cwd,
                    spill=paths.tool_results,
                    reads=reads,
                    # What lies elsewhere is not what a rewind of the session goes back to.
                    keep=seat.parent.tool_session.keep if ground is None else keeps_nothing,
                ),
                todos=todos,
                interrupt=seat.interrupt,
                front=front,
                offer=offer,
                knowledge=knowledge,
                ground=ground,
            )
            crew.parent = worker
            knowledge.takes_calls(worker.calling)
            stack.push_async_callback(worker.transcript.aclose)
            yield Child(worker=worker, crew=crew)

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
        if seat.ground is None or errand.inherited is not None:
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
        if errand.inherited is not None:
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


def _as_parent(made: Mapping[str, Tool], parent: Worker) -> dict[str, Tool]:
    """A fork is offered what its parent is, in the same order; what only the main agent may do,
    it is told when it tries."""
    made = {**made, **_of_servers(parent)}
    return {name: made.get(name) or Withheld(tool) for name, tool in parent.tools.items()}


def _of_servers(parent: Worker) -> dict[str, Tool]:
    """A server is asked by whoever may: its tools keep nothing of the agent that calls."""
    return {name: tool for name, tool in parent.tools.items() if isinstance(tool, SERVER_TOOLS)}


def _granted(made: Mapping[str, Tool], errand: Errand, parent: Worker) -> dict[str, Tool]:
    """What the definition names, else what the parent has. A list is no right: what a call may
    do is asked of the parent's rights too, each time."""
    definition, made = errand.definition, {**made, **_of_servers(parent)}
    wanted = tuple(parent.tools) if definition.tools is None else definition.tools
    wanted += granted(errand)
    also = {other: name for name, tool in made.items() for other in tool.also}
    names = {also.get(name, name) for name in wanted}
    denied = {also.get(name, name) for name in definition.disallowed_tools if "(" not in name}
    return {
        name: tool
        for name, tool in made.items()
        if _in(name, names) and not _in(name, denied) and name not in NOT_FOR_CHILDREN
    }


def _in(name: str, names: Collection[str]) -> bool:
    """Whether a list has this tool, by its name or by the server that it is of."""
    if name in names:
        return True
    server = server_of(name)
    return server is not None and any(f"{PREFIX}{server}{end}" in names for end in ("", "__*"))


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


def _transcript(errand: Errand, paths: AgentPaths, shared: Shared) -> Transcript:
    return Transcript(
        paths.transcript,
        session_id=paths.session.session_id,
        cwd=errand.cwd,
        entrypoint=shared.settings.entrypoint,
        agent_id=errand.agent_id,
        disk=shared.settings.disk,
    )


def _recordings(
    adapter: AnthropicModel,
    ledger: Ledger,
    paths: AgentPaths,
    reads: FileReads,
    keepsakes: tuple[Keepsakes, ...],
    shared: Shared,
    gate: ChildGate,
) -> Recordings:
    settings, wanted = shared.settings, shared.options.record
    around = surroundings(
        model=ledger,
        count=adapter.count,
        clock=shared.clock,
        ids=shared.ids,
        hooks=shared.hooks,
        keepsakes=keepsakes,
        recent_files=reads.recent,
        hides=gate.hides,
        limits=settings.limits,
    )
    return Recordings.of(
        settings.record if wanted is None else wanted, around, paths, settings.features
    )


async def _closed(made: Mapping[str, Tool], own: Sequence[Tool]) -> None:
    """End what the child's commands have left running. In a thread: it may take a moment."""
    closing = [tool for tool in made.values() if not any(tool is one for one in own)]

    def close() -> None:
        for tool in closing:
            tool.close()

    with anyio.CancelScope(shield=True):
        await anyio.to_thread.run_sync(close)
