"""MCP servers of agent types: named ones are shared, their own live as long as a child."""

from __future__ import annotations

import sys
from typing import Any

from attrs import evolve

from interlock.agents.definition import AgentDefinition, definition_of
from interlock.mcp import McpSettings
from interlock.mcp.trust import Approvals
from interlock.options import Options
from interlock.scripted import Answer, ByFunction, ScriptedServer, SentRequest, reply, tool_use
from phases.world.updates import Notice
from tests.agent.support import Room, Told, blocks, living, tell
from tests.mcp.support import FAKE, Answering, fake, tools_of, with_servers

PATIENT = {"MCP_TIMEOUT": "60000", "INTERLOCK_MCP_GRACE_S": "60"}
OWN = {"own": {"command": sys.executable, "args": ["-S", str(FAKE)]}}
ECHO = "mcp__own__echo"


def kind(*servers: Any, origin: str = "code", tools: Any = None) -> AgentDefinition:
    fields = {"name": "helper", "description": "helps", "prompt": "You help.", "tools": tools}
    return definition_of({**fields, "mcpServers": list(servers)}, origin=origin)


def handing_over(tool: str) -> ByFunction:
    """A model whose main agent starts a helper, which calls this tool once."""

    def answer(request: SentRequest) -> Answer:
        came = [one for one in blocks(request.body["messages"]) if one["type"] == "tool_result"]
        if "You help." in str(request.body["system"]):
            return reply("Helped.") if came else reply(tool_use(tool, {"text": "from the child"}))
        if came:
            return reply("Done.")
        given = {"subagent_type": "helper", "description": "help", "prompt": "help"}
        return reply(tool_use("Agent", given))

    return ByFunction(answer)


def of_the_child(model: ScriptedServer) -> list[SentRequest]:
    return [one for one in model.requests if "You help." in str(one.body["system"])]


def warnings(told: Told) -> list[str]:
    return [one.text for one in told.updates if isinstance(one, Notice)]


def options(one: AgentDefinition, *servers: Any) -> Options:
    return with_servers(*servers, agents=(one,))


async def test_a_server_of_a_type_is_there_for_its_child_alone_and_ends_with_it(
    room: Room,
) -> None:
    async with (
        ScriptedServer(handing_over(ECHO)) as model,
        room.open(model, options=options(kind(OWN)), environ=PATIENT) as agent,
    ):
        told = await tell(agent, "go")
        left = [one for one in living(room.work) if "fake_server" in one]

    first, second = of_the_child(model)
    assert told.ending == ("completed", None)
    assert ECHO in tools_of(first)
    assert "from the child" in str(second.body["messages"][-1])
    assert all(ECHO not in tools_of(one) for one in model.requests if one not in (first, second))
    assert left == []


async def test_a_named_server_is_there_beside_a_list_of_tools(room: Room) -> None:
    one = kind("own", tools=["Read"])
    async with (
        ScriptedServer(handing_over(ECHO)) as model,
        room.open(model, options=options(one, fake(name="own")), environ=PATIENT) as agent,
    ):
        await tell(agent, "go")

    first, second = of_the_child(model)
    assert tools_of(first) == ["Read", ECHO]
    assert "from the child" in str(second.body["messages"][-1])


async def test_what_is_not_there_is_told_and_the_child_goes_on(room: Room) -> None:
    broken = {"broken": {"command": sys.executable, "args": ["-S", str(FAKE), "crash"]}}
    one = kind("nobody", broken, {"odd": {"type": "carrier pigeon"}})
    async with (
        ScriptedServer(handing_over("Bash")) as model,
        room.open(model, options=options(one), environ=PATIENT) as agent,
    ):
        told = await tell(agent, "go")

    said = " ".join(warnings(told))
    assert told.ending == ("completed", None)
    assert "the agent helper has no MCP server nobody: none of that name has tools here" in said
    assert "the agent helper has no MCP server odd: it has the type 'carrier pigeon'" in said
    assert "the MCP server broken is not there: it ended with exit code 7" in said


async def test_a_server_in_a_projects_file_is_started_after_a_yes_only(room: Room) -> None:
    one = kind(OWN, origin="project, .claude/agents/helper.md")
    given = McpSettings(approvals=Approvals(room.home), project=room.work)
    asking = evolve(options(one), mcp=given)
    answers = {}
    for person in (None, Answering("Never"), Answering("Start it")):
        async with (
            ScriptedServer(handing_over(ECHO)) as model,
            room.open(model, options=asking, environ=PATIENT, person=person) as agent,
        ):
            told = await tell(agent, "go")
        answers[person and person.choice] = (ECHO in tools_of(of_the_child(model)[0]), told)
        (room.home / "mcp-approved.json").unlink(missing_ok=True)

    assert {choice: there for choice, (there, _) in answers.items()} == {
        None: False,
        "Never": False,
        "Start it": True,
    }
    line = "the agent helper has no MCP server own: nobody has said yes to it"
    assert line in warnings(answers[None][1])
