"""A child on another machine, over real processes: seen, paid and bound as one that runs here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from interlock.agents.kept import kept
from interlock.cli.tree import tree_of
from interlock.permissions import Answer, Decision, Question
from interlock.scripted import ScriptedServer, reply, tool_use
from interlock.sessions.runs import RunFile
from tests.agent.support import Room, living, results, tell
from tests.agents.families import by_prompt, children, hand, of
from tests.remote.errands import at_work, bash, once_it_runs, shape, there
from tests.remote.serving import knowing, served


async def test_a_remote_child_is_seen_as_one_that_runs_here(room: Room, tmp_path: Path) -> None:
    def scripts(**how: Any) -> Any:
        return by_prompt(
            {
                "go": [reply(hand("work", **how)), reply("I see.")],
                "work": [bash("echo made > made.txt; pwd"), reply("the report")],
            }
        )

    async with ScriptedServer(scripts()) as server, room.open(server) as agent:
        local = await tell(agent, "go")
    async with ScriptedServer(scripts(isolation="remote")) as server:
        with served(tmp_path, server.base_url) as box:
            async with room.open(server, options=knowing(box.url)) as agent:
                told = await tell(agent, "go")
                left = children(agent)["do work"]
                run = RunFile(
                    path=agent.paths.trace(told.summary.run_id),
                    session_id=agent.session_id,
                    run_id=told.summary.run_id,
                )
                tree = tree_of(run)

    assert shape(told.updates) == shape(local.updates)
    assert (box.work / "made.txt").exists()
    ((_, said, bad),) = results(of(server.requests, "go")[1])
    assert not bad, said
    assert said.startswith("the report")
    assert f"the remote box ({box.url}), in {box.work}" in said
    assert left.trace.header.chain_id == told.trace.header.chain_id
    assert left.trace.header.depth == 1
    assert f"general-purpose {left.agent_id}" in tree
    assert tree.count("ended: completed") == 2
    transcript = agent.paths.agent(left.agent_id).transcript
    assert "the report" in transcript.read_text()


async def test_its_costs_stand_on_the_books_of_its_parent(room: Room, tmp_path: Path) -> None:
    scripts = {
        "go": [reply(there("work")), reply("I see.")],
        "work": [reply(hand("below")), reply("done")],
        "below": [reply("deep")],
    }
    async with ScriptedServer(by_prompt(scripts)) as server:
        with served(tmp_path, server.base_url) as box:
            async with room.open(server, options=knowing(box.url)) as agent:
                told = await tell(agent, "go")
                spent = sum(use.cost or 0 for use in agent.spent.values())
                usage = sum(use.usage.total_tokens for use in agent.spent.values())
                left = children(agent)
    async with (
        ScriptedServer(by_prompt(scripts | {"go": [reply(hand("work")), reply("I see.")]})) as s,
        Room.made(tmp_path / "local").open(s) as agent,
    ):
        local = await tell(agent, "go")

    assert told.summary.cost == pytest.approx(spent)
    assert left["do work"].result["costUSD"] > left["do below"].result["costUSD"] > 0
    assert spent > left["do work"].result["costUSD"]
    assert usage == pytest.approx(local.summary.usage.total_tokens, rel=0.2)
    assert {one.description for one in kept(agent.paths.agents)} <= {"do work", "do below"}


async def test_what_the_parent_may_not_the_child_may_not_there(room: Room, tmp_path: Path) -> None:
    scripts = {
        "go": [reply(there("work")), reply("I see.")],
        "work": [
            reply(
                tool_use("Bash", {"command": 'python3 -c \'open("by-bash", "w")\''}),
                tool_use("Write", {"file_path": "by-write", "content": "x"}),
                tool_use("Read", {"file_path": "secret"}),
            ),
            reply("done"),
        ],
    }
    async with ScriptedServer(by_prompt(scripts)) as server:
        with served(tmp_path, server.base_url) as box:
            (box.work / "secret").write_text("the secret")
            options = knowing(box.url, denied=["Read(secret)"], mode="acceptEdits")
            async with room.open(server, options=options) as agent:
                await tell(agent, "go")

    ran, wrote, read = results(of(server.requests, "work")[1])
    assert ran[2]  # it would be asked, and nobody can be
    assert not (box.work / "by-bash").exists()
    assert not wrote[2], wrote
    assert (box.work / "by-write").exists()
    assert read[2]
    assert "the secret" not in read[1]


async def test_what_needs_a_person_is_asked_of_the_parents(room: Room, tmp_path: Path) -> None:
    asked = []

    class Person:
        async def ask(self, question: Question, decision: Decision) -> Answer:
            asked.append((question.agent_type, question.command))
            return Answer(allowed=True, reason="the user allowed it")

    scripts = {
        "go": [reply(there("work")), reply("I see.")],
        "work": [bash("touch asked-for"), reply("done")],
    }
    async with ScriptedServer(by_prompt(scripts)) as server:
        with served(tmp_path, server.base_url) as box:
            options = knowing(box.url, mode="default")
            async with room.open(server, options=options, asker=Person()) as agent:
                await tell(agent, "go")

    assert asked == [("general-purpose", "touch asked-for")]
    assert (box.work / "asked-for").exists()


async def test_an_interrupt_of_the_parent_ends_it_there(room: Room, tmp_path: Path) -> None:
    async with ScriptedServer(by_prompt(at_work())) as server:
        with served(tmp_path, server.base_url) as box:
            async with room.open(server, options=knowing(box.url)) as agent:
                told = await tell(agent, "go", on=once_it_runs(agent.interrupt))
                left = children(agent)["do work"]
            sleeping = [one for one in living(box.work) if "sleep" in one]

    assert told.ending[0].startswith("aborted_")
    assert sleeping == []
    assert str(left.result["error"]).startswith("aborted_")
    assert left.began


async def test_a_fork_takes_the_conversation_along(room: Room, tmp_path: Path) -> None:
    scripts = {
        "go": [
            reply({"type": "text", "text": "I think."}, there("on your own", kind="fork")),
            reply("the report"),
            reply("I see."),
        ]
    }
    async with ScriptedServer(by_prompt(scripts)) as server:
        with served(tmp_path, server.base_url) as box:
            async with room.open(server, options=knowing(box.url)) as agent:
                await tell(agent, "go")

    _, forked, last = server.requests
    assert "I think." in str(forked.body["messages"])
    assert "on your own" in str(forked.body["messages"][-1])
    ((_, said, bad),) = results(last)
    assert not bad, said
    assert said.startswith("the report")
    assert server.verdict() == ()


async def test_a_result_too_long_to_show_is_fetched_and_named_as_it_lies_here(
    room: Room, tmp_path: Path
) -> None:
    def answer(request: Any) -> Any:
        if "work" not in str(request.body["messages"][0]):
            return reply(there("work")) if len(request.body["messages"]) == 1 else reply("I see.")
        if len(request.body["messages"]) == 1:
            return bash("seq 1 40000")
        shown = results(request)[0][1]
        path = next(word for word in shown.split() if "/tool-results/" in word)
        return reply(f"all of it is in {path.rstrip('.]),')}")

    async with ScriptedServer(answer) as server:
        with served(tmp_path, server.base_url) as box:
            async with room.open(server, options=knowing(box.url)) as agent:
                await tell(agent, "go")
                here = agent.paths.tool_results

    ((_, said, bad),) = results(server.requests[-1])
    assert not bad, said
    path = Path(said.splitlines()[0].removeprefix("all of it is in "))
    assert path.is_relative_to(here)
    assert path.read_text().startswith("1\n2\n3\n")
    assert path.read_text().endswith("39999\n40000\n")


async def test_what_it_says_may_hold_what_else_ends_a_line(room: Room, tmp_path: Path) -> None:
    odd = "one\u2028two\u0085three\u2029four"
    scripts = {
        "go": [reply(there("work")), reply("I see.")],
        "work": [reply(odd)],
    }
    async with ScriptedServer(by_prompt(scripts)) as server:
        with served(tmp_path, server.base_url) as box:
            async with room.open(server, options=knowing(box.url)) as agent:
                await tell(agent, "go")

    ((_, said, bad),) = results(of(server.requests, "go")[1])
    assert not bad, said
    assert said.startswith(odd)
