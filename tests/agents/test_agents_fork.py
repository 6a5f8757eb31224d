"""A fork begins with its parent's conversation, to the byte, and reads it from the cache."""

from __future__ import annotations

import orjson

from interlock.options import Options, PermissionMode
from interlock.scripted import ScriptedServer, SentRequest, reply, tool_use
from interlock.scripted.replies import Answer
from tests.agent.support import MODEL, Room, entries, results, tell
from tests.agents.families import children, hand


def bare(request: SentRequest) -> list[bytes]:
    """The messages of a request, each as bytes, without cache marks."""
    found = []
    for message in request.body["messages"]:
        blocks = message["content"]
        if isinstance(blocks, list):
            message = {**message, "content": [_without_mark(block) for block in blocks]}
        found.append(orjson.dumps(message))
    return found


def _without_mark(block: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in block.items() if key != "cache_control"}


def answer(request: SentRequest) -> Answer:
    last = request.raw.decode()
    if "You are a fork" in last:
        return reply("the fork's report")
    if len(request.body["messages"]) == 1:
        return reply(tool_use("Read", {"file_path": "a.txt"}, id="toolu_read"))
    if len(request.body["messages"]) == 3:
        return reply(
            hand("first part", kind="fork", id_="toolu_f1"),
            hand("second part", kind="fork", id_="toolu_f2"),
        )
    return reply("both are done")


async def test_a_fork_shares_system_tools_and_messages_with_its_parent(room: Room) -> None:
    async with ScriptedServer(answer) as server, room.open(server) as agent:
        told = await tell(agent, "go")
        left = children(agent)

    parent, forks = server.requests[1], server.requests[2:4]
    for fork in forks:
        for part in ("system", "tools", "model"):
            assert orjson.dumps(fork.body[part]) == orjson.dumps(parent.body[part])
        assert bare(fork)[: len(bare(parent))] == bare(parent)
        assert fork.cache_read_share > 0.9
        said = fork.body["messages"][-1]["content"]
        assert [block["type"] for block in said] == ["tool_result", "tool_result", "text"]
    shared = [bare(fork)[:-1] for fork in forks]
    assert shared[0] == shared[1]  # of one reply, they share all but their last words
    assert forks[0].body["messages"][-1] != forks[1].body["messages"][-1]
    texts = [text.splitlines()[0] for _, text, _ in results(server.requests[4])]
    assert texts == ["the fork's report"] * 2
    assert told.summary.text == "both are done"
    assert {each.meta["agentType"] for each in left.values()} == {"fork"}
    assert server.verdict() == ()


async def test_the_transcript_of_a_fork_holds_what_its_model_was_sent(room: Room) -> None:
    async with ScriptedServer(answer) as server, room.open(server) as agent:
        told = await tell(agent, "go")
        left = children(agent)["do first part"]
        lines = entries(agent.paths.agent(left.agent_id).transcript)

    kinds = [line["type"] for line in lines if line["type"] in ("user", "assistant")]
    assert kinds.count("assistant") == 4  # a read, two calls, the report
    assert all(line["isSidechain"] for line in lines if "uuid" in line)
    # A watcher saw each of its parent's messages once.
    ids = [message.id for message in told.shown]
    assert len(ids) == len(set(ids))


async def test_a_fork_may_edit_what_its_parent_has_read(room: Room) -> None:
    def edits(request: SentRequest) -> Answer:
        messages = request.body["messages"]
        if "You are a fork" not in request.raw.decode():
            return answer(request) if len(messages) < 5 else reply("done")
        if len(messages) == 5:
            change = {"file_path": "a.txt", "old_string": "alpha", "new_string": "omega"}
            return reply(tool_use("Edit", change))
        return reply("edited")

    async with ScriptedServer(edits) as server, room.open(server) as agent:
        await tell(agent, "go")

    assert (room.work / "a.txt").read_text() == "omega\n"


async def test_what_only_the_main_agent_may_do_is_refused_to_a_fork(room: Room) -> None:
    def plans(request: SentRequest) -> Answer:
        messages = request.body["messages"]
        if "You are a fork" in request.raw.decode():
            return reply(tool_use("EnterPlanMode", {})) if len(messages) == 3 else reply("no")
        return reply(hand("x", kind="fork")) if len(messages) == 1 else reply("done")

    async with ScriptedServer(plans) as server, room.open(server) as agent:
        await tell(agent, "go")
        assert agent.permission_mode is PermissionMode.BYPASS_PERMISSIONS

    (refused,) = results(server.requests[2])
    assert refused[1].startswith("EnterPlanMode is the main agent's")
    assert Options(model=MODEL).model == server.requests[2].body["model"]
