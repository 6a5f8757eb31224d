"""Agents in the background: started, looked at, stopped; told once, ended with their parent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson

from interlock.agents.crew import BackgroundAgent
from interlock.scripted import ScriptedServer, SentRequest, reply, tool_use
from interlock.scripted.replies import Answer
from phases.world.updates import AgentEnded, Notice, Update
from tests.agent.support import Room, Told, Watcher, living, results, tell
from tests.agents.families import by_prompt, children, first_words, hand, of

WAITS = reply(tool_use("Bash", {"command": "while ! test -e go; do sleep 0.01; done"}))


def beside(prompt: str, **more: Any) -> Any:
    return hand(prompt, run_in_background=True, **more)


def notices(request: SentRequest) -> list[str]:
    """What a request's last message holds beside results."""
    content = request.body["messages"][-1]["content"]
    return [block["text"] for block in content if block["type"] == "text"]


def started(request: SentRequest) -> str:
    """The id that the start of an agent gave."""
    return results(request)[0][1].partition(" as ")[2].partition(".")[0]


def ended(told: Told | Watcher) -> list[str]:
    return [update.status for update in told.updates if isinstance(update, AgentEnded)]


async def test_its_start_returns_at_once_and_its_result_comes_between_two_turns(
    room: Room,
) -> None:
    answers = by_prompt(
        {
            "go": [
                reply(beside("it")),
                reply(tool_use("Bash", {"command": "touch go"})),
                reply(tool_use("Sleep", {"seconds": 600})),
                reply("I see."),
            ],
            "it": [WAITS, reply("the news")],
        }
    )
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        told = await tell(agent, "go")
        left = children(agent)["do it"]

    parent = of(server.requests, "go")
    assert started(parent[1]) == left.agent_id
    told_at = [words for request in parent[1:] for words in notices(request)]
    (news,) = [words for words in told_at if "the news" in words]
    assert news.startswith(
        f"<system-reminder>\nThe background agent {left.agent_id} (do it) finished after "
    )
    assert ended(told) == ["completed"]
    assert left.meta["background"] is True


async def test_the_result_is_on_disk_before_anyone_is_told(room: Room) -> None:
    seen: list[bool] = []

    def on_disk(update: Update, _: int) -> None:
        if isinstance(update, AgentEnded):
            path = Path(update.transcript).with_suffix(".result.json")
            seen.append("the news" in orjson.loads(path.read_bytes())["result"])

    answers = by_prompt(
        {
            "go": [reply(beside("it"), hand("other")), reply("I see.")],
            "it": [reply("the news")],
            "other": [reply("the news")],
        }
    )
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        await tell(agent, "go", on=on_disk)
        await agent.waiting.arrival(None)

    assert seen
    assert all(seen)


async def test_task_output_waits_for_it_and_then_no_notice_comes(room: Room) -> None:
    def answer(request: SentRequest) -> Answer:
        if first_words(request) == "it":
            return WAITS if len(request.body["messages"]) == 1 else reply("the news")
        match len(request.body["messages"]):
            case 1:
                return reply(beside("it"))
            case 3:
                id_ = started(request)
                look = {"task_id": id_, "block": False}
                return reply(
                    tool_use("TaskOutput", look),
                    tool_use("Bash", {"command": "touch go"}),
                    tool_use("TaskOutput", {"task_id": id_, "timeout": 60_000}),
                    tool_use("TaskOutput", {"task_id": id_}),
                    tool_use("TaskOutput", {}),
                )
        return reply("done")

    async with ScriptedServer(answer) as server, room.open(server) as agent:
        await tell(agent, "go")
        assert agent.waiting.messages == ()

    last = of(server.requests, "go")[-1]
    looked, _, waited, again, listed = (text for _, text, _ in results(last))
    assert "has been running for" in looked
    assert waited.startswith("the news\n\n(agent ")
    assert "Its result is in the notice" in again
    assert "the news" not in again  # a result returns once
    assert "finished after" in listed
    assert notices(last) == []


async def test_task_stop_ends_it_with_all_that_it_has_started(room: Room) -> None:
    def answer(request: SentRequest) -> Answer:
        if first_words(request) == "it":
            return reply({"type": "text", "text": "I begin."}, hand("below"))
        if first_words(request) == "below":
            return reply(tool_use("Bash", {"command": "touch here; sleep 600"}))
        match len(request.body["messages"]):
            case 1:
                return reply(beside("it"))
            case 3:
                looks = "while ! test -e here; do sleep 0.01; done"
                return reply(
                    tool_use("Bash", {"command": looks}),
                    tool_use("TaskStop", {"task_id": started(request)}),
                )
        return reply("done")

    async with ScriptedServer(answer) as server, room.open(server) as agent:
        told = await tell(agent, "go")
        left = children(agent)
        assert living(room.work) == []

    (_, stopped, _) = results(of(server.requests, "go")[-1])[1]
    assert "was stopped after" in stopped
    assert "it was interrupted" in stopped
    assert "What it had said last:\nI begin." in stopped
    assert ended(told) == ["stopped", "stopped"]
    assert all(each.result["error"].startswith("aborted_") for each in left.values())
    assert all(str(each.trace.ending).startswith("aborted_") for each in left.values())


async def test_both_tools_know_commands_by_the_ids_that_bash_gave(room: Room) -> None:
    start = {"command": "echo hello; sleep 600", "run_in_background": True}
    answers = [
        reply(tool_use("Bash", start)),
        reply(
            tool_use("TaskOutput", {"task_id": "bash_1"}),
            tool_use("TaskStop", {"task_id": "bash_1"}),
            tool_use("TaskOutput", {"task_id": "nobody"}),
            tool_use("TaskStop", {"shell_id": "bash_9"}),
        ),
        reply("done"),
    ]
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        await tell(agent, "go")

    looked, stopped, strange, gone = (text for _, text, _ in results(server.requests[2]))
    assert "bash_1 has been running" in looked
    assert stopped.startswith("bash_1 was ended after")
    assert "There is no agent or command 'nobody'" in strange
    assert "There is no background command 'bash_9'" in gone


async def test_what_a_child_has_started_ends_with_it_and_is_told(room: Room) -> None:
    answers = by_prompt(
        {
            "go": [reply(hand("it")), reply("done")],
            "it": [reply(beside("below")), reply("I am done.")],
            "below": [reply(tool_use("Bash", {"command": "sleep 600"}))],
        }
    )
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        told = await tell(agent, "go")
        below = children(agent)["do below"]
        assert living(room.work) == []

    (result,) = results(of(server.requests, "go")[1])
    assert result[1].startswith("I am done.")
    assert f"The agent {below.agent_id} (do below) was stopped after" in result[1]
    assert sorted(ended(told)) == ["completed", "stopped"]
    assert agent.waiting.messages == ()


async def test_a_childs_tasks_tell_the_child_and_nobody_else(room: Room) -> None:
    answers = by_prompt(
        {
            "go": [reply(hand("it")), reply("done")],
            "it": [
                reply(beside("below")),
                reply(tool_use("Sleep", {"seconds": 600})),
                reply("I see."),
            ],
            "below": [reply("the news")],
        }
    )
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        agent.queue("a word of the user")
        await tell(agent, "go")

    child = of(server.requests, "it")
    said = "".join(request.raw.decode() for request in child)
    assert "the news" in said
    assert "a word of the user" not in said


async def test_one_that_goes_on_after_its_prompt_is_told_with_the_next(room: Room) -> None:
    answers = by_prompt(
        {"go": [reply(beside("it")), reply("Started.")], "it": [WAITS, reply("the news")]}
    )
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        await tell(agent, "go")
        (room.work / "go").touch()
        await agent.waiting.arrival(None)
        queued = agent.next_queued()
        assert queued is not None
        summary = await agent.prompt(queued, Watcher())

    assert "the news" in queued.text
    assert summary.ok
    assert server.verdict() == ()


async def test_an_interrupt_ends_what_runs_in_the_background_too(room: Room) -> None:
    here = "touch here; sleep 600"
    answers = by_prompt(
        {
            "go": [reply(beside("it")), reply(tool_use("Bash", {"command": "sleep 600"}))],
            "it": [reply(tool_use("Bash", {"command": here}))],
        }
    )
    async with ScriptedServer(answers) as server, room.open(server) as agent:

        def stop(update: Update, _: int) -> None:
            if (room.work / "here").exists():
                agent.interrupt()

        told = await tell(agent, "go", on=stop)
        (one,) = tuple(agent._crew)
        assert isinstance(one, BackgroundAgent)
        await one.over.wait()
        assert living(room.work) == []

    assert told.summary.reason == "aborted_tools"
    assert one.report is not None
    assert one.report.interrupted


async def test_what_still_runs_when_the_session_is_over_is_ended_and_told(room: Room) -> None:
    answers = by_prompt(
        {
            "go": [reply(beside("it")), reply("Started.")],
            "it": [reply(tool_use("Bash", {"command": "touch here; sleep 600"}))],
        }
    )
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        told = await tell(agent, "go")
        watcher = Watcher()
        summary = await agent.settle(told.summary, watcher)
        left = children(agent)["do it"]
        assert living(room.work) == []

    (line,) = [update.text for update in watcher.updates if isinstance(update, Notice)]
    assert line.startswith(f"The agent {left.agent_id} (do it) was stopped after")
    assert ended(watcher) == ["stopped"]
    assert (summary.cost or 0) >= (told.summary.cost or 0)


async def test_closing_a_session_leaves_nothing_behind(room: Room) -> None:
    answers = by_prompt(
        {
            "go": [reply(beside("it")), reply("Started.")],
            "it": [reply(hand("below"))],
            "below": [reply(tool_use("Bash", {"command": "sleep 600"}))],
        }
    )
    async with ScriptedServer(answers) as server:
        async with room.open(server) as agent:
            await tell(agent, "go")
            await server.wait_for_request(4)
        left = children(agent)

    assert living(room.work) == []
    assert {str(each.trace.ending)[:8] for each in left.values()} == {"aborted_"}
