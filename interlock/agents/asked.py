"""A call of the Agent tool becomes an errand, or an error that the model can act on."""

from __future__ import annotations

from interlock.agents.built_in import FORK
from interlock.agents.catalogue import UnknownType
from interlock.agents.crew import Crew, Tree
from interlock.agents.definition import AgentDefinition
from interlock.agents.errand import Errand
from interlock.agents.models import model_of
from interlock.model.prices import facts
from interlock.running import Worker
from interlock.tools import Arguments, ToolContext, ToolError
from phases.world.loop import Loop
from phases.world.messages import Kind, Message, Text, ToolResult, derived_id

_FORK = AgentDefinition(
    name=FORK, description="its parent once more", prompt="as its parent's", origin="built in"
)
_IS_YOU = "(This call has started you: see what the user says next.)"


def errand_of(arguments: Arguments, context: ToolContext, crew: Crew, agent_id: str) -> Errand:
    """What the call asks for. Raises ToolError."""
    parent, tree = crew.parent, crew.tree
    loop = parent.standing.loop if parent is not None else None
    if parent is None or loop is None:
        raise ToolError("No agent can be started now: no run is under way.")
    if not arguments["prompt"].strip():
        raise ToolError("`prompt` is empty: say in it all that the agent needs to know.")
    depth = parent.who.depth + 1
    tree.insist_on_depth(depth)
    definition = definition_of(arguments, crew)
    fork = definition is _FORK
    isolation = _isolation(arguments, definition, tree)
    return Errand(
        agent_id=agent_id,
        definition=definition,
        description=" ".join(arguments["description"].split()),
        prompt=arguments["prompt"],
        tool_use_id=context.use_id,
        parent_agent_id=parent.who.agent_id,
        depth=depth,
        cwd=context.cwd,
        models=_models(arguments, definition, parent, loop, fork=fork),
        chain_id=loop.run.chain_id,
        budget_usd=parent.standing.budget_left,
        inherited=inherited(loop) if fork else None,
        isolation=isolation,
        background=bool(arguments.get("run_in_background", definition.background)),
    )


def definition_of(arguments: Arguments, crew: Crew) -> AgentDefinition:
    """The type that a call names. Raises ToolError."""
    name = arguments.get("subagent_type")
    if name == FORK and FORK not in crew.tree.catalogue.types:
        return _FORK
    try:
        return crew.tree.catalogue.find(name, crew.spawns)
    except UnknownType as error:
        raise ToolError(f"Not started: {error}") from error


def inherited(loop: Loop) -> tuple[Message, ...]:
    """The conversation up to the calls of the reply under way, each call answered alike: so all
    forks of one reply share one prefix, and it is the one that their parent has just sent."""
    reply = loop.now.reply
    if reply is None:
        return loop.now.view
    said = reply.message
    answers = tuple(
        Message(
            id=derived_id(said.id, f"{call.id} forked"),
            role="user",
            kind=Kind.RESULT,
            content=(ToolResult(call.id, (Text(_IS_YOU),)),),
            source=said.id,
        )
        for call in said.calls
    )
    return (*loop.now.view, said, *answers)


def _models(
    arguments: Arguments, definition: AgentDefinition, parent: Worker, loop: Loop, *, fork: bool
) -> tuple[str, ...]:
    settings, now = parent.shared.settings, loop.state.tool_use_context.model
    model = now
    if not fork:  # another model could not read what a fork begins with from the cache
        asked = arguments.get("model")
        model = model_of(asked, definition.model, now, settings.families, settings.subagent_model)
    if loop.run.budget_usd is not None and facts(model) is None:
        raise ToolError(
            f"Not started: no price is known for the model {model}, and the run has a budget"
            " (--max-budget-usd) that could not be kept."
        )
    return (model, *parent.shared.options.fallback_models)


def _isolation(arguments: Arguments, definition: AgentDefinition, tree: Tree) -> str | None:
    wanted: str | None = arguments.get("isolation") or definition.isolation
    if wanted is not None and wanted not in tree.spawners:
        known = ", ".join(name for name in tree.spawners if name) or "none"
        raise ToolError(f"Not started: there is no isolation {wanted!r} here (there is {known}).")
    return wanted
