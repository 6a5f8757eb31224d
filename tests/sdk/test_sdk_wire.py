"""The lines themselves: what the SDK for Python never says, and how a session ends."""

from __future__ import annotations

import signal
from typing import Any

from interlock.scripted import reply, tool_use
from tests.sdk.conftest import Open
from tests.sdk.house import line
from tests.waiting import until

STATES = {"CLAUDE_CODE_SDK_READS_SESSION_STATE": "1"}


async def test_the_other_dialect_brings_its_prompt_at_once_and_more_in_initialize(
    house: Open,
) -> None:
    here = house([reply("one"), reply("two")])
    wire = await line(here, CLAUDE_CODE_ENTRYPOINT="sdk-ts", **STATES)
    opening: dict[str, Any] = {
        "subtype": "initialize",
        "systemPrompt": ["You are a heron."],
        "appendSystemPrompt": "Be brief.",
        "sdkMcpServers": [],
    }

    await wire.say({"type": "control_request", "request_id": "1", "request": opening})
    await wire.prompt([{"type": "text", "text": "/etc/hosts is a file"}], client_composed=True)
    greeted = await wire.hear("control_response")
    seen: list[dict[str, Any]] = []
    while not (seen and seen[-1].get("state") == "idle"):
        seen.append(await wire.next())
    unknown = await wire.ask("no_such_thing")
    thinking = await wire.ask("set_max_thinking_tokens", max_thinking_tokens=0)
    renamed = await wire.ask("rename_session", title="herons")
    withdrawn = await wire.ask("cancel_async_message", message_uuid="none")
    servers = await wire.ask("mcp_set_servers", servers={"bad": {"type": "ftp"}})
    stopped = await wire.ask("stop_task", task_id="none")
    idle = await wire.ask("interrupt")
    await wire.prompt("and now?")
    second = await wire.hear("result")
    code = await wire.leave()

    assert greeted["response"]["request_id"] == "1"
    told = [frame.get("state") or frame.get("subtype") or frame["type"] for frame in seen]
    assert told == ["running", "init", "assistant", "success", "idle"]
    assert seen[0]["sdk_host_only"] is True
    assert unknown["subtype"] == "error"
    assert "no_such_thing" in unknown["error"]
    assert (thinking["subtype"], idle["subtype"]) == ("success", "success")
    assert renamed["response"] == {"title": "herons"}
    assert withdrawn["response"] == {"cancelled": False}
    assert "ftp" in servers["response"]["errors"]["bad"]
    assert stopped["subtype"] == "error"
    assert (second["result"], code) == ("two", 0)
    first_request, second_request = here.server.requests
    assert first_request.body["system"][0]["text"] == "You are a heron."
    assert "Be brief." in str(first_request.body["system"])
    assert second_request.body["thinking"] == {"type": "disabled"}


async def test_a_call_may_be_put_off_and_the_result_says_which(house: Open) -> None:
    here = house([reply(tool_use("Read", {"file_path": "a"}, id="toolu_1"))])
    here.file("a", "text")
    wire = await line(here)
    hooks = {"PreToolUse": [{"matcher": None, "hookCallbackIds": ["h"]}]}

    opened = {"subtype": "initialize", "hooks": hooks}
    await wire.say({"type": "control_request", "request_id": "1", "request": opened})
    await wire.prompt("read")
    asked = await wire.hear("control_request")
    specific = {"hookEventName": "PreToolUse", "permissionDecision": "defer"}
    answer = {
        "subtype": "success",
        "request_id": asked["request_id"],
        "response": {"hookSpecificOutput": specific},
    }
    await wire.say({"type": "control_response", "response": answer})
    result = await wire.hear("result")
    code = await wire.leave()

    assert asked["request"]["callback_id"] == "h"
    deferred = {"id": "toolu_1", "name": "Read", "input": {"file_path": "a"}}
    assert result["deferred_tool_use"] == deferred
    assert (result["stop_reason"], result["is_error"], code) == ("tool_deferred", False, 0)


async def test_nothing_at_all_and_no_json_are_two_different_ends(house: Open) -> None:
    here = house([])

    silent = await (await line(here)).leave()
    wire = await line(here)
    await wire.say(b"{half")
    broken = await wire.leave()

    assert (silent, broken) == (0, 1)


async def test_a_signal_stops_the_turn_withdraws_the_question_and_tells_the_result(
    house: Open,
) -> None:
    here = house([reply(tool_use("Write", {"file_path": "a", "content": "x"}))])
    wire = await line(here, "--permission-prompt-tool", "stdio")

    await wire.prompt("write")
    asked = await wire.hear("control_request")
    wire.process.send_signal(signal.SIGTERM)
    withdrawn = await wire.hear("control_cancel_request")
    result = await wire.hear("result")
    code = await wire.process.wait()

    assert asked["request"]["subtype"] == "can_use_tool"
    assert withdrawn["request_id"] == asked["request_id"]
    assert (result["terminal_reason"], code) == ("aborted_tools", 143)
    assert not (here.work / "a").exists()


async def test_a_background_agent_that_ends_after_its_turn_has_one_of_its_own(house: Open) -> None:
    call = {
        "description": "look",
        "prompt": "look around",
        "subagent_type": "general-purpose",
        "run_in_background": True,
    }
    wait = tool_use("Bash", {"command": "until [ -e go ]; do sleep 0.05; done; touch gone"})

    def model(request: Any) -> Any:
        said = str(request.body["messages"][-1])
        if "look around" in str(request.body["messages"][0]):
            return reply("the agent has looked") if "tool_result" in said else reply(wait)
        if "tool_result" in said:
            return reply("it is looking")
        return reply("so it is done") if "finished" in said else reply(tool_use("Agent", call))

    here = house(model)  # type: ignore[arg-type]
    wire = await line(here, "--allowedTools", "Bash", **STATES)

    await wire.prompt("have someone look")
    first = await wire.hear("result")
    (here.work / "go").touch()
    second = await wire.hear("result")
    idle = await wire.hear("system", "session_state_changed")
    code = await wire.leave()

    await until((here.work / "gone").exists)
    assert (first["result"], second["result"]) == ("it is looking", "so it is done")
    assert (idle["state"], code) == ("idle", 0)
