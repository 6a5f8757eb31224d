"""A command in the background, as the model lives with it: started, waited for, looked at."""

from __future__ import annotations

from interlock.scripted import ScriptedServer, reply, tool_use
from tests.agent.support import Room, results, tell
from tests.inbox.looking import last_said


async def test_its_end_wakes_a_sleeping_agent_and_is_read_in_the_next_request(room: Room) -> None:
    start = {"command": "sleep 0.2; echo ready", "run_in_background": True}
    script = [
        reply(tool_use("Bash", start)),
        reply(tool_use("Sleep", {"seconds": 600})),
        reply(tool_use("BashOutput", {"bash_id": "bash_1"})),
        reply("It is ready."),
    ]
    async with ScriptedServer(script) as server, room.open(server) as agent:
        assert {"Bash", "TaskOutput", "TaskStop", "Sleep"} <= set(agent.tools)
        assert not {"BashOutput", "KillShell"} & set(agent.tools)

        told = await tell(agent, "start it")

        assert told.ending == ("completed", None)
        assert last_said(server.requests[1]) == [
            ("tool_result", "Running in the background as bash_1.")
        ]
        slept, notice = last_said(server.requests[2])
        assert slept[1].startswith("Woken after ")
        assert notice[1].startswith(
            "<system-reminder>\nThe background command bash_1 finished with exit code 0"
        )
        (looked,) = last_said(server.requests[3])
        assert looked[1].startswith("ready\n(bash_1 finished with exit code 0")
        assert server.verdict() == ()


async def test_the_names_that_models_call_by_habit_work(room: Room) -> None:
    start = {"command": "echo one; echo two; touch told; sleep 600", "run_in_background": True}
    script = [
        reply(
            tool_use("Bash", start),
            tool_use("Bash", {"command": "while ! test -e told; do sleep 0.01; done"}),
        ),
        reply(tool_use("BashOutput", {"bash_id": "bash_1", "filter": "two"})),
        reply(tool_use("AgentOutputTool", {"agentId": "bash_1", "block": False})),
        reply(tool_use("KillShell", {"shell_id": "bash_1"})),
        reply(tool_use("KillBash", {"shell_id": "bash_1"})),
        reply("done"),
    ]
    async with ScriptedServer(script) as server, room.open(server) as agent:
        await tell(agent, "start it")

    said = [results(request)[0] for request in server.requests[2:]]
    looked, again, ended, over = (text for _, text, _ in said)
    assert looked.startswith("two\n(bash_1 has been running for")
    assert again.startswith("(no new output)")
    assert ended.startswith("bash_1 was ended after")
    assert over.endswith("there is nothing to end.")


async def test_a_look_that_waits_comes_back_with_its_end(room: Room) -> None:
    start = {"command": "sleep 0.2; echo ready", "run_in_background": True}
    script = [
        reply(tool_use("Bash", start)),
        reply(tool_use("TaskOutput", {"task_id": "bash_1", "block": True, "timeout": 60_000})),
        reply("done"),
    ]
    async with ScriptedServer(script) as server, room.open(server) as agent:
        await tell(agent, "start it")

    ((_, looked, _),) = results(server.requests[2])
    assert looked.startswith("ready\n(bash_1 finished with exit code 0")


async def test_it_goes_on_between_two_prompts_and_its_end_stands_before_the_next(
    room: Room,
) -> None:
    start = {"command": "while ! test -e stop; do sleep 0.01; done", "run_in_background": True}
    script = [reply(tool_use("Bash", start)), reply("Started."), reply("I see.")]
    async with ScriptedServer(script) as server, room.open(server) as agent:
        await tell(agent, "start it")
        (room.work / "stop").touch()
        await agent.waiting.arrival(None)

        await tell(agent, "and now?")

        notice, typed = last_said(server.requests[2])
        assert "The background command bash_1 finished with exit code 0" in notice[1]
        assert typed == ("text", "and now?")
