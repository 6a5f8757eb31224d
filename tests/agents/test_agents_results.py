"""What a child is told and what its parent gets back: one result, true, and no more."""

from __future__ import annotations

import pytest

from interlock.agents.definition import AgentDefinition
from interlock.options import Options
from interlock.scripted import ScriptedServer, SentRequest, reply, tool_use
from interlock.scripted.replies import Answer, Status
from tests.agent.support import MODEL, Room, entries, results, tell
from tests.agents.families import by_prompt, children, first_words, hand, of

LOOK = reply(tool_use("Read", {"file_path": "a.txt"}))


async def test_a_child_begins_afresh_and_its_parent_grows_by_one_result(room: Room) -> None:
    answers = by_prompt(
        {
            "the whole story": [LOOK, reply(hand("count")), reply("done")],
            "count": [LOOK, LOOK, reply("there is one file that matters")],
        }
    )
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        await tell(agent, "the whole story")

    child = of(server.requests, "count")
    assert "the whole story" not in child[0].raw.decode()
    assert len(child[0].body["messages"]) == 1
    parent = of(server.requests, "the whole story")
    assert [len(request.body["messages"]) for request in parent] == [1, 3, 5]
    (result,) = results(parent[2])
    assert result[1].startswith("there is one file that matters\n\n(agent ")
    assert "3 turns, 2 calls" in result[1]
    assert "alpha" not in result[1]


async def test_an_empty_prompt_starts_no_child(room: Room) -> None:
    call = tool_use("Agent", {"description": "look", "prompt": " \n"})
    answers = by_prompt({"go": [reply(call), reply("ok")]})
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        await tell(agent, "go")

    ((_, said, bad),) = results(server.requests[1])
    assert bad
    assert "`prompt` is empty" in said
    assert len(server.requests) == 2


async def test_its_system_prompt_is_its_own_and_the_projects_notes_are_shared(room: Room) -> None:
    (room.work / "CLAUDE.md").write_text("Always write tests.")
    reviewer = AgentDefinition(name="reviewer", description="reviews", prompt="You review code.")
    answers = by_prompt(
        {"go": [reply(hand("it", kind="reviewer")), reply("ok")], "it": [reply("fine")]}
    )
    options = Options(model=MODEL, agents=(reviewer,), append_system_prompt="Speak French.")
    async with ScriptedServer(answers) as server, room.open(server, options=options) as agent:
        await tell(agent, "go")

    (child,) = of(server.requests, "it")
    system = " ".join(block["text"] for block in child.body["system"])
    assert system.startswith("You review code.")
    assert str(room.work) in system
    assert "Speak French" not in system
    assert "Always write tests." in child.raw.decode()


@pytest.mark.parametrize(
    ("asked", "defined", "sent"),
    [
        (None, "inherit", MODEL),
        (None, "haiku", "claude-haiku-5-5"),
        ("opus", "haiku", "claude-opus-5-5"),
        ("sonnet", "inherit", MODEL),  # the version of its parent
        ("claude-haiku-4-5", "inherit", "claude-haiku-4-5"),
    ],
)
async def test_its_model_is_the_calls_or_its_types_or_its_parents(
    room: Room, asked: str | None, defined: str, sent: str
) -> None:
    kind = AgentDefinition(name="kind", description="k", prompt="K.", model=defined)
    more = {} if asked is None else {"model": asked}
    answers = by_prompt(
        {"go": [reply(hand("it", kind="kind", **more)), reply("ok")], "it": [reply("fine")]}
    )
    options = Options(model=MODEL, agents=(kind,))
    async with ScriptedServer(answers) as server, room.open(server, options=options) as agent:
        told = await tell(agent, "go")

    assert of(server.requests, "it")[0].body["model"] == sent
    assert set(told.summary.models) == {MODEL, sent}


async def test_one_that_reached_its_turns_says_so_and_gives_what_it_had(room: Room) -> None:
    short = AgentDefinition(name="short", description="s", prompt="S.", max_turns=2)
    answers = by_prompt(
        {
            "go": [reply(hand("it", kind="short")), reply("ok")],
            "it": [
                reply({"type": "text", "text": "It may be in a.txt."}, *LOOK.content),
                LOOK,
            ],
        }
    )
    options = Options(model=MODEL, agents=(short,))
    async with ScriptedServer(answers) as server, room.open(server, options=options) as agent:
        await tell(agent, "go")
        left = children(agent)["do it"]

    (result,) = results(of(server.requests, "go")[1])
    assert result[2]
    assert "did not finish: it reached its limit of turns" in result[1]
    assert "What it had said last:\nIt may be in a.txt." in result[1]
    assert left.result["error"] == "max_turns"


async def test_one_whose_model_failed_says_why_and_the_parent_goes_on(room: Room) -> None:
    refused = {"type": "error", "error": {"type": "authentication_error", "message": "no"}}
    answers = by_prompt(
        {"go": [reply(hand("it")), reply("ok")], "it": [Status(status=401, body=refused)]}
    )
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        told = await tell(agent, "go")

    (result,) = results(of(server.requests, "go")[1])
    assert result[2]
    assert "The agent did not finish:" in result[1]
    assert "It had not said anything by then." in result[1]
    assert told.ending == ("completed", None)


async def test_a_long_report_passes_through_the_one_cap(room: Room) -> None:
    answers = by_prompt({"go": [reply(hand("it")), reply("ok")], "it": [reply("line\n" * 20_000)]})
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        await tell(agent, "go")
        left = children(agent)["do it"]

    (result,) = results(of(server.requests, "go")[1])
    assert len(result[1]) <= 30_000
    assert left.result["result"].startswith("line\n" * 20_000)


async def test_an_unknown_type_is_an_error_that_names_those_there_are(room: Room) -> None:
    answers = by_prompt({"go": [reply(hand("it", kind="Explorer")), reply("ok")]})
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        await tell(agent, "go")

    (result,) = results(server.requests[1])
    assert "There is no agent type 'Explorer'. Did you mean Explore?" in result[1]
    assert "general-purpose" in result[1]
    assert not agent.paths.agents.exists()


async def test_transcripts_of_children_are_read_by_the_functions_of_sdks(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    sdk = pytest.importorskip("claude_agent_sdk")
    answers = by_prompt(
        {
            "go": [reply(hand("it", id_="toolu_it")), reply("ok")],
            "it": [LOOK, reply(hand("below")), reply("seen")],
            "below": [reply("deeper")],
        }
    )
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        await tell(agent, "go")
        it, below = children(agent)["do it"], children(agent)["do below"]
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(room.home))

    listed = sdk.list_subagents(agent.session_id, directory=str(room.work))
    said = sdk.get_subagent_messages(agent.session_id, it.agent_id, directory=str(room.work))

    assert sorted(listed) == sorted([it.agent_id, below.agent_id])
    assert [message.type for message in said] == ["user", "assistant"] * 3
    assert said[0].message["content"] == "it"
    assert said[-1].message["content"][0]["text"] == "seen"
    assert {message.parent_tool_use_id for message in said} == {"toolu_it"}
    (one,) = sdk.list_sessions(directory=str(room.work))
    assert one.session_id == agent.session_id


async def test_each_line_of_a_childs_transcript_names_it(room: Room) -> None:
    answers = by_prompt({"go": [reply(hand("it")), reply("ok")], "it": [LOOK, reply("seen")]})
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        await tell(agent, "go")
        left = children(agent)["do it"]
        path = agent.paths.agent(left.agent_id).transcript

    lines = [line for line in entries(path) if "uuid" in line]
    assert lines
    for line in lines:
        assert line["isSidechain"] is True
        assert line["agentId"] == left.agent_id
        assert line["sessionId"] == agent.session_id
    assert path.stat().st_mode & 0o777 == 0o600
    assert b'isSidechain":true' not in agent.transcript_path.read_bytes()


async def test_a_child_has_a_todo_list_and_a_shell_of_its_own(room: Room) -> None:
    todo = {"content": "Look", "status": "in_progress", "activeForm": "Looking"}
    answers = by_prompt(
        {
            "go": [
                reply(tool_use("Bash", {"command": "cd /; export WHO=parent"})),
                reply(hand("it")),
                reply(tool_use("Bash", {"command": "echo $WHO in $PWD"})),
                reply("ok"),
            ],
            "it": [
                reply(tool_use("TodoWrite", {"todos": [todo]})),
                reply(tool_use("Bash", {"command": "echo ${WHO-nobody} in $PWD; cd /tmp"})),
                reply(tool_use("Bash", {"command": "echo $PWD"})),
                reply("seen"),
            ],
        }
    )
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        await tell(agent, "go")
        assert agent._worker.todos.todos == ()

    child = of(server.requests, "it")
    assert results(child[2])[0][1] == "nobody in /"  # the folder of its parent, not its variables
    assert results(child[3])[0][1] == "/tmp"
    assert results(of(server.requests, "go")[3])[0][1] == "parent in /"


async def test_a_childs_window_is_compacted_by_itself(room: Room) -> None:
    big = reply(tool_use("Read", {"file_path": "big.txt"}))
    (room.work / "big.txt").write_text("a line of some length\n" * 1_200)
    scripts = {"go": [reply(hand("it")), reply("ok")], "it": [*[big] * 4, reply("So far: much.")]}
    walk = by_prompt(scripts)

    def answers(request: SentRequest) -> Answer:
        return walk(request) if first_words(request) in scripts else reply("seen")

    small = {"INTERLOCK_CONTEXT_WINDOW": "40000", "INTERLOCK_COLLAPSE": "off"}
    async with ScriptedServer(answers) as server, room.open(server, environ=small) as agent:
        told = await tell(agent, "go")
        left = children(agent)["do it"]

    assert left.result["error"] is None
    assert left.result["result"].startswith("seen")
    assert len(of(server.requests, "go")) == 2  # its parent's is as it was
    assert told.summary.ok
    text = agent.paths.agent(left.agent_id).transcript.read_text()
    assert "compact_boundary" in text
