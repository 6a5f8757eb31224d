"""What the main agent works with: its tools, and what those need of the rest of the session.

Tools and MCP servers, what it knows beside the conversation, the sandbox of its commands, and the
children it may have.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from attrs import evolve, frozen

from interlock import confined
from interlock.agents.catalogue import Catalogue
from interlock.agents.crew import Crew, Tree
from interlock.assembly.basis import Basis
from interlock.inbox import Mail, Waiting
from interlock.joining import ServerPrompts, joined
from interlock.knowledge import Knowledge
from interlock.mcp import Servers
from interlock.offered import Workshop
from interlock.permissions import Gate
from interlock.planning import Planning
from interlock.sandbox import Sandbox, opened, without
from interlock.spawning import spawners_of
from interlock.tools import Person, TodoList, Tool
from phases.world.updates import Notice


@frozen(kw_only=True)
class Confinement:
    """The sandbox that is in force; else, what to warn of."""

    sandbox: Sandbox | None
    approves: bool  # commands in it need no approval
    warning: str | None

    def told(self) -> Iterator[Notice]:
        """What is in force, for a person."""
        if self.sandbox is not None:
            unasked = "; commands in it need no approval" if self.approves else ""
            yield Notice("info", f"sandbox: {'; '.join(self.sandbox.enforced)}{unasked}")


@frozen(kw_only=True)
class Equipment:
    """The main agent's."""

    knowledge: Knowledge
    confinement: Confinement
    waiting: Waiting
    todos: TodoList
    plan: Planning
    crew: Crew
    workshop: Workshop  # where those of its children are made
    own_tools: Sequence[Tool]  # of the caller
    tools: dict[str, Tool]  # on offer, those among them; grows as servers tell of theirs
    servers: Servers

    @property
    def tree(self) -> Tree:
        return self.crew.tree


@asynccontextmanager
async def equipped(
    basis: Basis, gate: Gate, *, alone: bool, person: Person | None, own_tools: Sequence[Tool]
) -> AsyncIterator[Equipment]:
    """Make the tools and start the servers; leaving ends what runs for them. `alone`: there is
    nobody who could approve of a plan. Raises UsageError, NoSandbox."""
    options, settings, paths = basis.options, basis.settings, basis.paths
    async with AsyncExitStack() as stack:
        knowledge = Knowledge.of(options, settings, basis.cwd, gate, paths.session_id)
        confinement = await stack.enter_async_context(_confined(basis, gate))
        waiting, todos = Waiting(basis.ids), TodoList()
        plan = Planning(gate, alone=alone, file=paths.plan)
        crew = Crew(tree=_tree(basis, gate))
        workshop = Workshop(
            options=options,
            settings=settings,
            mail=Mail(waiting),
            clock=basis.clock,
            todos=todos,
            plan=plan,
            person=person,
            instructions=knowledge.instructing,
            sandbox=confinement.sandbox,
            crew=crew,
        )
        tools = workshop.tools(own_tools)
        if basis.structured is not None:
            basis.structured.join(tools)
        for tool in tools.values():
            stack.callback(tool.close)
        servers = await stack.enter_async_context(
            joined(options, settings, basis.cwd, tools, person, workshop.mail)
        )
        knowledge.instructing.sources.append(_prompts(basis, servers))
        yield Equipment(
            knowledge=knowledge,
            confinement=confinement,
            waiting=waiting,
            todos=todos,
            plan=plan,
            crew=crew,
            workshop=workshop,
            own_tools=own_tools,
            tools=tools,
            servers=servers,
        )


@asynccontextmanager
async def _confined(basis: Basis, gate: Gate) -> AsyncIterator[Confinement]:
    """Raises NoSandbox."""
    options = basis.options
    mode = confined.mode_of(options)
    policy = confined.policy_of(options, basis.cwd, gate, basis.settings.home)
    async with opened(mode, policy, taken=basis.paths.tool_results) as box:
        if box is not None and box.complete and options.sandbox.auto_allow:
            gate.judge = evolve(gate.judge, confined=True)
        yield Confinement(sandbox=box, approves=gate.judge.confined, warning=without(mode))


def _tree(basis: Basis, gate: Gate) -> Tree:
    catalogue = Catalogue.of(basis.options.agents)
    tree = Tree(catalogue=catalogue, limits=basis.settings.limits, paths=basis.paths)
    tree.spawners |= spawners_of(tree, gate, basis.options, basis.settings)
    return tree


def _prompts(basis: Basis, servers: Servers) -> ServerPrompts:
    return ServerPrompts(
        servers=servers,
        root=basis.cwd,
        limits=basis.settings.limits,
        spill=basis.paths.tool_results,
    )
