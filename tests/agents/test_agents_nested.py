"""Agents in agents: how deep, how many, how many requests at once, and one tree of runs."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

import anyio
import anyio.to_thread
import pytest
from attrs import evolve

from fsm import read_trace
from interlock import records
from interlock.call_records import again, calls_of
from interlock.cli.replaying import replay
from interlock.cli.tree import tree_of
from interlock.options import Options
from interlock.scripted import ScriptedServer, reply, tool_use
from interlock.sessions.runs import find_runs, one_run
from tests.agent.support import MODEL, Room, results, tell
from tests.agents.families import by_prompt, children, hand, of

CHAIN = {
    "go": [reply(hand("one")), reply("done")],
    "one": [reply(hand("two")), reply("one is done")],
    "two": [reply(hand("three")), reply("two is done")],
    "three": [reply("three is done")],
}


async def test_many_nested_agents_get_on_with_a_single_slot(room: Room) -> None:
    answers = by_prompt(
        {
            "go": [reply(hand("a", id_="toolu_1"), hand("b", id_="toolu_2")), reply("got both")],
            "a": [reply(hand("a1", id_="toolu_3")), reply("child a")],
            "a1": [reply("leaf a1")],
            "b": [reply("child b")],
        }
    )
    one = {"INTERLOCK_MAX_CONCURRENT_REQUESTS": "1"}
    async with ScriptedServer(answers) as server, room.open(server, environ=one) as agent:
        told = await tell(agent, "go")

    assert told.summary.text == "got both"
    a, b = results(of(server.requests, "go")[1])
    assert (a[0], a[1].splitlines()[0]) == ("toolu_1", "child a")
    assert (b[0], b[1].splitlines()[0]) == ("toolu_2", "child b")
    assert results(of(server.requests, "a")[1])[0][1].startswith("leaf a1")
    assert server.verdict() == ()


async def test_a_slot_is_held_by_one_request_at_a_time(room: Room) -> None:
    names = [f"n{number}" for number in range(6)]
    slow = {name: [evolve(reply(name), delay_s=0.02)] for name in names}
    answers = by_prompt({"go": [reply(*map(hand, names)), reply("done")], **slow})
    two = {"INTERLOCK_MAX_CONCURRENT_REQUESTS": "2"}
    async with ScriptedServer(answers) as server, room.open(server, environ=two) as agent:
        await tell(agent, "go")

    came = sorted(request.received_at for request in server.requests if request.index > 1)
    # The third cannot have come before the first was answered.
    assert all(later - earlier >= 0.02 for earlier, later in zip(came, came[2:], strict=False))


async def test_three_generations_are_one_chain_of_depths_0_to_3(room: Room) -> None:
    async with ScriptedServer(by_prompt(CHAIN)) as server, room.open(server) as agent:
        told = await tell(agent, "go")
        left = children(agent)

    traces = [told.trace, *(left[f"do {name}"].trace for name in ("one", "two", "three"))]
    assert [trace.header.depth for trace in traces] == [0, 1, 2, 3]
    assert len({trace.header.chain_id for trace in traces}) == 1
    assert all(record.depth == trace.header.depth for trace in traces for record in trace)
    one, two, three = (left[f"do {name}"] for name in ("one", "two", "three"))
    assert [each.meta.get("parentAgentId") for each in (one, two, three)] == [
        None,
        one.agent_id,
        two.agent_id,
    ]


async def test_the_run_of_a_child_is_found_and_decided_again_like_any_other(room: Room) -> None:
    async with ScriptedServer(by_prompt(CHAIN)) as server, room.open(server) as agent:
        told = await tell(agent, "go")
        two = children(agent)["do two"]

    found = one_run(room.home, two.agent_id[:9], room.work)
    assert found.session_id == agent.session_id
    trace = read_trace(found.path)
    loop = records.loop_from(trace.header.start)
    assert loop.state.tool_use_context.agent_id == two.agent_id
    asked = Namespace(runs=[str(found.path)], what_if=False, set=[], table=None)
    assert await anyio.to_thread.run_sync(replay, asked) == 0  # it has a loop of its own
    (call,) = calls_of(found.path).lives
    assert call.facts.tool == "Agent"
    assert again(call).divergence is None
    (last,) = find_runs(room.home, "last", room.work)
    assert last.run_id == told.summary.run_id  # not one of the children


async def test_the_tree_of_a_run_shows_each_agent_under_the_one_that_asked(room: Room) -> None:
    scripts = {**CHAIN, "go": [reply(hand("one"), hand("three", kind="Explore")), reply("ok")]}
    async with ScriptedServer(by_prompt(scripts)) as server, room.open(server) as agent:
        told = await tell(agent, "go")

    shown = tree_of(one_run(room.home, told.summary.run_id, room.work)).splitlines()
    assert shown[0] == f"chain {told.trace.header.chain_id}"
    assert shown[1].startswith(f"run {told.summary.run_id}, depth 0: 2 turns")
    shapes = sorted(line[: line.index("(")].rsplit(" ", 2)[0] for line in shown[2:])
    assert shapes.count("│     └─ general-purpose") + shapes.count("      └─ general-purpose") == 1
    assert sum("Explore" in line and "depth 1" in line for line in shown) == 1
    assert sum("depth 3" in line and "ended: completed" in line for line in shown) == 1


async def test_too_deep_is_an_error_that_the_model_can_act_on(room: Room) -> None:
    deep = {"INTERLOCK_MAX_AGENT_DEPTH": "2"}
    async with (
        ScriptedServer(by_prompt(CHAIN)) as server,
        room.open(server, environ=deep) as agent,
    ):
        told = await tell(agent, "go")

    (_, text, bad), *_ = results(of(server.requests, "two")[1])
    assert bad
    assert text.startswith("Not started: agents may be 2 deep below the main one")
    assert of(server.requests, "three") == []
    assert told.ending == ("completed", None)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("INTERLOCK_MAX_AGENTS_STARTED", "2 agents were started for this prompt already"),
        ("INTERLOCK_MAX_AGENTS_RUNNING", "2 agents are at work"),
    ],
)
async def test_too_many_are_an_error_and_the_others_go_on(
    room: Room, name: str, words: str
) -> None:
    wait = reply(tool_use("Bash", {"command": "while ! test -e go; do sleep 0.01; done"}))
    answers = by_prompt(
        {
            "go": [reply(hand("a"), hand("b"), hand("c")), reply("done")],
            **{each: [wait, reply("ok")] for each in "abc"},
        }
    )
    async with (
        ScriptedServer(answers) as server,
        room.open(server, environ={name: "2"}) as agent,
    ):

        def release(update: object, _: int) -> None:
            if len({request.index for request in server.requests}) >= 3:
                Path(room.work / "go").touch()

        await tell(agent, "go", on=release)

    texts = [text for _, text, _ in results(of(server.requests, "go")[1])]
    assert sum(words in text for text in texts) == 1
    assert sum(text.startswith("ok") for text in texts) == 2


async def test_the_number_for_one_prompt_is_counted_anew_with_the_next(room: Room) -> None:
    answers = by_prompt(
        {
            "go": [reply(hand("a")), reply("done"), reply(hand("a")), reply("done")],
            "a": [reply("ok")],
        }
    )
    one = {"INTERLOCK_MAX_AGENTS_STARTED": "1"}
    async with ScriptedServer(answers) as server, room.open(server, environ=one) as agent:
        await tell(agent, "go")
        await tell(agent, "again")

    assert results(server.requests[-1])[0][1].startswith("ok")


async def test_types_that_a_definition_may_not_start_are_refused(room: Room) -> None:
    from interlock.agents.definition import definition_of

    lead = definition_of(
        {"name": "lead", "description": "leads", "tools": "Agent(Explore), Read"},
        prompt="Lead.",
        origin="test",
    )
    answers = by_prompt(
        {
            "go": [reply(hand("lead", kind="lead")), reply("done")],
            "lead": [
                reply(hand("x", kind="general-purpose"), hand("y", kind="Explore")),
                reply(""),
            ],
            "y": [reply("seen")],
        }
    )
    options = Options(model=MODEL, agents=(lead,))
    async with ScriptedServer(answers) as server, room.open(server, options=options) as agent:
        await tell(agent, "go")

    refused, explored = results(of(server.requests, "lead")[1])
    assert "may not be started from here" in refused[1]
    assert explored[1].startswith("seen")
