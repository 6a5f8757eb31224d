"""A child has at most its parent's rights, at each depth, also after the parent's mode changes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from attrs import define, field

from interlock.agents.definition import AgentDefinition
from interlock.options import Options, PermissionMode
from interlock.permissions import Answer, Decision, Question
from interlock.scripted import ScriptedServer, reply, tool_use
from phases.world.updates import AgentStarted, Update
from tests.agent.support import MODEL, Room, results, tell
from tests.agents.families import by_prompt, hand, of

PLANNING = "in plan mode nothing may be changed yet"


def write(name: str, room: Room, id_: str | None = None) -> Mapping[str, Any]:
    given = {"file_path": str(room.work / name), "content": "x"}
    return tool_use("Write", given) if id_ is None else tool_use("Write", given, id=id_)


async def test_plan_mode_and_denies_hold_for_children_and_their_children(room: Room) -> None:
    script = [
        reply(
            tool_use(
                "Task",
                {"description": "write it", "prompt": "write x.txt", "subagent_type": "general"},
                id="toolu_1",
            )
        ),
        reply(
            write("x.txt", room, "toolu_2"),
            tool_use("Bash", {"command": "echo x > y.txt"}, id="toolu_3"),
            tool_use(
                "Task",
                {"description": "deeper", "prompt": "write z.txt", "subagent_type": "general"},
                id="toolu_4",
            ),
        ),
        reply(write("z.txt", room, "toolu_5")),
        reply("grandchild: refused"),
        reply("child: refused"),
        reply("parent: nothing was written"),
    ]
    options = Options(permission_mode=PermissionMode.PLAN, model=MODEL)
    async with ScriptedServer(script) as server, room.open(server, options=options) as agent:
        told = await tell(agent, "go")

    grandchild, child = server.requests[3], server.requests[4]
    assert [(id_, PLANNING in text, bad) for id_, text, bad in results(grandchild)] == [
        ("toolu_5", True, True)
    ]
    refused = results(child)
    assert [(id_, PLANNING in text) for id_, text, _ in refused[:2]] == [
        ("toolu_2", True),
        ("toolu_3", True),
    ]
    assert refused[2][1].startswith("grandchild: refused")
    assert told.summary.text == "parent: nothing was written"
    assert sorted(path.name for path in room.work.iterdir()) == ["a.txt", "b.txt"]
    assert [denial.tool_use_id for denial in told.summary.denials] == [
        "toolu_2",
        "toolu_3",
        "toolu_5",
    ]
    assert server.verdict() == ()


async def test_a_change_of_the_parents_mode_counts_for_a_child_at_work(room: Room) -> None:
    answers = by_prompt(
        {
            "go": [reply(hand("child")), reply("done")],
            "child": [reply(write("1", room)), reply(write("2", room)), reply("so far")],
        }
    )
    async with ScriptedServer(answers) as server, room.open(server) as agent:

        def plan_after_the_first(update: Update, _: int) -> None:
            if (room.work / "1").exists():
                agent.set_permission_mode(PermissionMode.PLAN)

        await tell(agent, "go", on=plan_after_the_first)

    assert (room.work / "1").exists()
    assert not (room.work / "2").exists()
    (second,) = results(of(server.requests, "child")[2])
    assert PLANNING in second[1]


async def test_a_narrow_list_of_the_parent_takes_nothing_that_a_definition_grants(
    room: Room,
) -> None:
    writer = AgentDefinition(
        name="writer", description="writes", prompt="Write.", tools=("Write", "Bash")
    )
    answers = by_prompt(
        {
            "go": [reply(write("0", room), hand("child", kind="writer")), reply("done")],
            "child": [
                reply(write("1", room), tool_use("Bash", {"command": "echo > 2"})),
                reply("ok"),
            ],
        }
    )
    options = Options(
        model=MODEL,
        tools=("Read", "Agent"),
        agents=(writer,),
        disallowed_tools=("Bash(echo:*)",),
        permission_mode=PermissionMode.BYPASS_PERMISSIONS,
    )
    async with ScriptedServer(answers) as server, room.open(server, options=options) as agent:
        assert agent.tools == ("Read", "Agent")
        await tell(agent, "go")

    assert "There is no tool Write" in results(of(server.requests, "go")[1])[0][1]
    assert (room.work / "1").exists()  # granted by its definition
    assert not (room.work / "2").exists()  # denied to its parent, and so to it
    offered = of(server.requests, "child")[0].body["tools"]
    assert [tool["name"] for tool in offered] == ["Write", "Bash"]


async def test_what_a_definition_forbids_binds_the_child_and_its_children_alone(
    room: Room,
) -> None:
    careful = AgentDefinition(
        name="careful",
        description="c",
        prompt="Be careful.",
        disallowed_tools=("Edit", "Bash(touch:*)"),
        permission_mode=PermissionMode.BYPASS_PERMISSIONS,
    )
    touch = tool_use("Bash", {"command": "touch here"})
    answers = by_prompt(
        {
            "go": [reply(hand("child", kind="careful")), reply(touch), reply("done")],
            "child": [reply(touch, hand("grandchild")), reply("no")],
            "grandchild": [reply(touch), reply("neither")],
        }
    )
    options = Options(
        model=MODEL, agents=(careful,), permission_mode=PermissionMode.BYPASS_PERMISSIONS
    )
    async with ScriptedServer(answers) as server, room.open(server, options=options) as agent:
        await tell(agent, "go")

    for prompt in ("child", "grandchild"):
        denied = results(of(server.requests, prompt)[1])[0]
        assert denied[1].startswith("Permission denied")
    assert (room.work / "here").exists()  # its parent is not bound
    names = {tool["name"] for tool in of(server.requests, "child")[0].body["tools"]}
    assert "Edit" not in names
    assert "Bash" in names


@define
class Notes:
    """Answers yes, and notes who asked."""

    asked: list[tuple[str | None, str]] = field(factory=list)

    async def ask(self, question: Question, decision: Decision) -> Answer:
        self.asked.append((question.agent_type, question.tool))
        return Answer(allowed=True, reason="yes")


async def test_a_grandchilds_question_reaches_the_person_and_says_who_asks(room: Room) -> None:
    answers = by_prompt(
        {
            "go": [reply(hand("child")), reply("done")],
            "child": [reply(hand("grandchild", kind="general-purpose")), reply("done")],
            "grandchild": [reply(write("1", room)), reply("written")],
        }
    )
    person = Notes()
    options = Options(model=MODEL)
    async with (
        ScriptedServer(answers) as server,
        room.open(server, options=options, asker=person) as agent,
    ):
        await tell(agent, "go")

    assert person.asked == [("general-purpose", "Write")]
    assert (room.work / "1").exists()


async def test_where_nobody_can_be_asked_a_grandchild_is_denied_at_once(room: Room) -> None:
    answers = by_prompt(
        {
            "go": [reply(hand("child")), reply("done")],
            "child": [reply(hand("grandchild")), reply("done")],
            "grandchild": [reply(write("1", room)), reply("not written")],
        }
    )
    options = Options(model=MODEL)
    async with ScriptedServer(answers) as server, room.open(server, options=options) as agent:
        told = await tell(agent, "go")

    assert "runs without anyone to ask" in results(of(server.requests, "grandchild")[1])[0][1]
    assert len(told.summary.denials) == 1


@pytest.mark.parametrize("rule", ["Agent(Explore)", "Task(Explore)", "Task", "Agent"])
async def test_a_rule_about_agents_holds_under_both_names_of_the_tool(
    room: Room, rule: str
) -> None:
    answers = by_prompt({"go": [reply(hand("look", kind="explore")), reply("done")]})
    options = Options(model=MODEL, disallowed_tools=(rule,))
    async with ScriptedServer(answers) as server, room.open(server, options=options) as agent:
        told = await tell(agent, "go")

    assert results(server.requests[1])[0][1].startswith("Permission denied")
    assert not any(isinstance(update, AgentStarted) for update in told.updates)


@pytest.mark.parametrize("kind", ["Explore", "Plan"])
async def test_agents_that_only_read_cannot_change_anything(room: Room, kind: str) -> None:
    answers = by_prompt(
        {
            "go": [reply(hand("look", kind=kind)), reply("done")],
            "look": [
                reply(
                    tool_use("Bash", {"command": "echo x > y"}),
                    tool_use("Bash", {"command": "ls"}),
                    tool_use("Read", {"file_path": str(room.work / "a.txt")}),
                ),
                reply("found"),
            ],
        }
    )
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        await tell(agent, "go")

    written, listed, read = results(of(server.requests, "look")[1])
    assert PLANNING in written[1]
    assert not (room.work / "y").exists()
    assert listed[1] == "a.txt\nb.txt"
    assert "alpha" in read[1]
    assert Path(room.work / "a.txt").read_text() == "alpha\n"
