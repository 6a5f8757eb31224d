"""How a child is made: its own parts, beside those that it shares with all agents of its session.

Its own are transcript, window, tools with their state, todo list, books and rights. Shared are the
connections to the model, the sandbox, hooks, notes and the queue. Knows not when a child is
wanted (`crew`), nor how it runs (`running`).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
from attrs import evolve, frozen

from interlock.agents.crew import Crew, Tree
from interlock.agents.errand import Errand, Seat
from interlock.agents.tools import NOT_FOR_CHILDREN, Withheld
from interlock.front import Front, edits_of, environment_for
from interlock.home import AgentPaths, SessionPaths
from interlock.inbox import Mail
from interlock.kept import OpenTodos
from interlock.ledger import Ledger
from interlock.model import AnthropicModel
from interlock.permissions import BadRule, Rules
from interlock.prompt import system_blocks
from interlock.running import Ground, Identity, Shared, Worker
from interlock.sessions import Transcript
from interlock.settled import Settled
from interlock.tools import FileReads, TodoList, Tool, ToolError, ToolSession
from interlock.tools.tool import keeps_nothing
from interlock.window import Window

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
            todos = TodoList()
            crew = Crew(tree=self.tree, spawns=errand.definition.spawns)
            await stack.enter_async_context(crew)
            made = evolve(
                self.workshop,
                mail=Mail(shared.waiting, errand.agent_id),
                todos=todos,
                plan=None,
                person=None,
                sandbox=self.workshop.sandbox if ground is None else ground.sandbox,
                crew=crew,
            ).all(self.own_tools)
            stack.push_async_callback(_closed, made, self.own_tools)
            tools = _as_parent(made, seat.parent) if fork else _granted(made, errand, seat.parent)
            front = await self._front(errand, tools, seat.parent, ground)
            adapter = self.adapter.beside(
                system=front.system,
                tools=front.specs,
                user_context=front.notes,
                context_name=front.notes_name,
                context_management=edits_of(shared.settings, front.specs),
            )
            above = seat.parent.ledger
            transcript = _transcript(errand, paths, shared)
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
                gate=seat.parent.gate.child(
                    _rules(errand),
                    errand.definition.permission_mode,
                    agent_id=errand.agent_id,
                    agent_type=errand.agent_type,
                ),
                tools=tools,
                transcript=transcript,
                window=_window(adapter, ledger, paths, reads, todos, shared),
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
                ground=ground,
            )
            crew.parent = worker
            stack.push_async_callback(worker.transcript.aclose)
            yield Child(worker=worker, crew=crew)

    async def _front(
        self, errand: Errand, tools: Mapping[str, Tool], parent: Worker, ground: Ground | None
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
            system=system_blocks(options, environment),
            specs=tuple(tool.wire() for tool in tools.values()),
            environment=environment,
            notes=self.front.notes if ground is None else ground.notes,
        )


def _as_parent(made: Mapping[str, Tool], parent: Worker) -> dict[str, Tool]:
    """A fork is offered what its parent is, in the same order; what only the main agent may do,
    it is told when it tries."""
    return {name: made.get(name) or Withheld(tool) for name, tool in parent.tools.items()}


def _granted(made: Mapping[str, Tool], errand: Errand, parent: Worker) -> dict[str, Tool]:
    """What the definition names, else what the parent has. A list is no right: what a call may
    do is asked of the parent's rights too, each time."""
    definition = errand.definition
    wanted = tuple(parent.tools) if definition.tools is None else definition.tools
    also = {other: name for name, tool in made.items() for other in tool.also}
    names = {also.get(name, name) for name in wanted}
    denied = {also.get(name, name) for name in definition.disallowed_tools if "(" not in name}
    return {
        name: tool
        for name, tool in made.items()
        if name in names and name not in denied and name not in NOT_FOR_CHILDREN
    }


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


def _window(
    adapter: AnthropicModel,
    ledger: Ledger,
    paths: AgentPaths,
    reads: FileReads,
    todos: TodoList,
    shared: Shared,
) -> Window:
    return Window.of(
        model=ledger,
        count=adapter.count,
        paths=paths,
        recent_files=reads.recent,
        settings=shared.settings,
        clock=shared.clock,
        ids=shared.ids,
        keepsakes=(OpenTodos(todos),),
        hooks=shared.hooks,
    )


async def _closed(made: Mapping[str, Tool], own: Sequence[Tool]) -> None:
    """End what the child's commands have left running. In a thread: it may take a moment."""
    closing = [tool for tool in made.values() if not any(tool is one for one in own)]

    def close() -> None:
        for tool in closing:
            tool.close()

    with anyio.CancelScope(shield=True):
        await anyio.to_thread.run_sync(close)
