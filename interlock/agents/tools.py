"""The tools for children: Agent starts one, TaskOutput looks at it, TaskStop ends it.

The last two are those for commands in the background, which know agents as well then.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from pathlib import Path

from interlock.agents.asked import definition_of, errand_of
from interlock.agents.crew import BackgroundAgent, Crew
from interlock.agents.telling import output
from interlock.counted import counted
from interlock.tools import Arguments, Output, Tool, ToolContext, ToolError, Touches
from interlock.tools.task_output import NOTHING, TaskOutput, wait_of
from interlock.tools.task_stop import TaskStop
from phases.world.messages import Json

# They change the session as a whole, or speak to the person: the main agent's affair.
NOT_FOR_CHILDREN = frozenset({"AskUserQuestion", "EnterPlanMode", "ExitPlanMode"})
_ABOUT = """\
Hands a piece of work to an agent of its own, with a window of its own: only its last message \
comes back to you, as the result of this call.

The types there are:
{types}

- Use it where much has to be read or tried for a short answer, or where several things can be \
done side by side. For one known file, or a search with one or two calls, use the tools yourself.
- The agent knows nothing of this conversation (a fork apart) and cannot ask back: put into \
`prompt` all it needs, say whether it should change files or only find out, and what to report.
- Several calls in one reply run side by side. Do not give two of them the same files to change.
- `run_in_background` returns at once with an id. You are told when the agent ends, with its \
result: go on meanwhile, and do not ask again and again. TaskOutput looks at it, TaskStop ends it.
- What an agent reports is what it believes: check what matters. The user sees only your words."""


class AgentTool(Tool):
    name = "Agent"
    also = ("Task",)
    time_limit = None  # a child has limits of its own

    def __init__(self, crew: Crew) -> None:
        self._crew = crew
        catalogue = crew.tree.catalogue
        self.description = _ABOUT.format(types=catalogue.told(crew.spawns))
        self.input_schema = _schema([name for name in crew.tree.spawners if name])

    def concurrency_safe(self, arguments: Arguments) -> bool:
        return True

    def touches(self, arguments: Arguments, cwd: Path) -> Touches:
        try:
            return Touches(about=definition_of(arguments, self._crew).name)
        except ToolError:
            return Touches(about=arguments.get("subagent_type"))

    async def run(self, arguments: Arguments, context: ToolContext) -> Output:
        errand = errand_of(arguments, context, self._crew, secrets.token_hex(8))
        if errand.background:
            one = self._crew.start(errand)
            return Output(
                f"Started in the background as {one.id}. You are told when it ends, with its"
                f" result. TaskOutput with task_id {one.id} looks at it, TaskStop ends it."
            )
        return output(errand, await self._crew.run(errand))


def _schema(isolations: list[str]) -> Mapping[str, Json]:
    properties: dict[str, Json] = {
        "description": {"type": "string", "description": "The work, in three to five words."},
        "prompt": {"type": "string", "description": "All that the agent is told.", "minLength": 1},
        "subagent_type": {
            "type": "string",
            "description": "One of the types above; general-purpose if you name none.",
        },
        "model": {
            "type": "string",
            "description": "sonnet, opus, haiku or a model's name; else as its type has it.",
        },
        "run_in_background": {"type": "boolean", "description": "Do not wait for it."},
    }
    if isolations:
        properties["isolation"] = {
            "type": "string",
            "enum": isolations,
            "description": "Where it works, if not in your folder.",
        }
    return {
        "type": "object",
        "properties": properties,
        "required": ["description", "prompt"],
        "additionalProperties": False,
    }


class OutputOfAll(TaskOutput):
    """TaskOutput, for agents beside commands."""

    def __init__(self, crew: Crew, commands: TaskOutput) -> None:
        self._crew, self._commands = crew, commands

    async def run(self, arguments: Arguments, context: ToolContext) -> Output:
        wanted = arguments.get("task_id")
        if not wanted:
            return Output("\n".join(self.listed()) or NOTHING)
        one = self._crew.find(wanted)
        if one is not None:
            return await self._of_agent(one, arguments)
        _insist_on_a_command(self._crew, wanted)
        return await self._commands.run(arguments, context)

    def listed(self) -> list[str]:
        agents = [f"{one.id} {one.status()}: {one.errand.description}" for one in self._crew]
        return [*agents, *self._commands.listed()]

    async def _of_agent(self, one: BackgroundAgent, arguments: Arguments) -> Output:
        if "filter" in arguments:
            raise ToolError("`filter` is for what a command prints: ask for this agent without.")
        if arguments.get("block", True):
            await self._crew.wait(one, wait_of(arguments))
        if one.report is None:
            last = f" It said last:\n{one.heard.text}" if one.heard.text else ""
            doing = f", now {one.heard.doing}" if one.heard.doing else ""
            return Output(
                f"{one.id} {one.status()} ({counted(one.heard.calls, 'call')}{doing}).{last}"
            )
        if one.collected:
            return Output(
                f"{one.id} {one.status()}. Its result is in the notice that came at its end, or"
                f" comes with the next turn; in full it is in {self._crew.transcript(one)}."
            )
        one.collected = True
        return output(one.errand, one.report)


class StopOfAll(TaskStop):
    """TaskStop, for agents beside commands."""

    def __init__(self, crew: Crew, commands: TaskStop) -> None:
        self._crew, self._commands = crew, commands

    async def run(self, arguments: Arguments, context: ToolContext) -> Output:
        wanted = arguments["task_id"]
        one = self._crew.find(wanted)
        if one is None:
            _insist_on_a_command(self._crew, wanted)
            return await self._commands.run(arguments, context)
        if one.is_over:
            return Output(f"{one.id} {one.status()}: there is nothing to end.")
        one.ask_to_stop()
        await self._crew.wait(one)
        one.collected = True
        assert one.report is not None
        return Output(f"{one.id} {one.status()}.\n\n{output(one.errand, one.report).content}")


def _insist_on_a_command(crew: Crew, wanted: str) -> None:
    """Raise ToolError for what is no id of a command."""
    if not wanted.startswith("bash_"):
        known = ", ".join(one.id for one in crew) or "none was started"
        raise ToolError(f"There is no agent or command {wanted!r} in the background: {known}.")


def tools_of(crew: Crew, built: Mapping[str, Tool]) -> dict[str, Tool]:
    """The tools for the children of an agent, whose other built-in tools are given; those for
    commands in the background are widened to agents."""
    looks, stops = built["TaskOutput"], built["TaskStop"]
    assert isinstance(looks, TaskOutput)
    assert isinstance(stops, TaskStop)
    made = (AgentTool(crew), OutputOfAll(crew, looks), StopOfAll(crew, stops))
    return {tool.name: tool for tool in made}


class Withheld(Tool):
    """A tool that a fork is offered since its parent is, and that only the main agent may use."""

    time_limit = 1.0

    def __init__(self, tool: Tool) -> None:
        self._tool = tool
        self.name, self.description = tool.name, tool.description
        self.input_schema = tool.input_schema

    def effects(self, arguments: Arguments) -> bool:
        return False

    async def run(self, arguments: Arguments, context: ToolContext) -> Output:
        raise ToolError(f"{self.name} is the main agent's: report, and leave it to that one.")

    def wire(self) -> dict[str, Json]:
        return self._tool.wire()
