"""The host's permission callback: asked where rules leave it open, and obeyed in all it says."""

from __future__ import annotations

from typing import Any

import orjson
from claude_agent_sdk import (
    ClaudeSDKClient,
    PermissionResultAllow,
    PermissionResultDeny,
    ToolPermissionContext,
)
from claude_agent_sdk.types import PermissionRuleValue, PermissionUpdate

from interlock.scripted import reply, tool_use
from tests.sdk.conftest import Open
from tests.sdk.house import result_of, said

Asked = tuple[str, dict[str, Any], ToolPermissionContext]


def writing(name: str, text: str) -> Any:
    return tool_use("Write", {"file_path": name, "content": text})


async def test_it_may_allow_deny_change_the_input_and_give_rules_for_the_rest(house: Open) -> None:
    here = house(
        [
            *(reply(writing("a", "theirs")), reply("one")),
            *(reply(tool_use("Bash", {"command": "python3 -c 1"})), reply("two")),
            *(reply(tool_use("Bash", {"command": "python3 -c 1"})), reply("three")),
            *(reply(writing("b", "x"), tool_use("Read", {"file_path": "a"})), reply("four")),
        ]
    )
    here.file("placeholder")
    asked: list[Asked] = []
    rule = PermissionUpdate(
        type="addRules",
        rules=[PermissionRuleValue("Bash", "python3 -c 1")],
        behavior="allow",
        destination="localSettings",
    )

    async def may(
        name: str, given: dict[str, Any], context: ToolPermissionContext
    ) -> PermissionResultAllow | PermissionResultDeny:
        asked.append((name, given, context))
        match len(asked):
            case 1:
                return PermissionResultAllow(updated_input={**given, "content": "ours"})
            case 2:
                return PermissionResultAllow(updated_permissions=[rule])
        return PermissionResultDeny(message="not today")

    async with ClaudeSDKClient(here.options(can_use_tool=may)) as client:
        await said(client, "write a")
        await said(client, "run it")
        await said(client, "again")
        refused = result_of(await said(client, "write b"))

    assert [name for name, _, _ in asked] == ["Write", "Bash", "Write"]
    assert (here.work / "a").read_text() == "ours"
    assert asked[0][1] == {"file_path": "a", "content": "theirs"}
    assert asked[0][2].tool_use_id
    assert [each.mode for each in asked[0][2].suggestions] == ["acceptEdits"]
    settings = orjson.loads((here.work / ".claude" / "settings.local.json").read_bytes())
    assert settings == {"permissions": {"allow": ["Bash(python3 -c 1)"]}}
    assert not (here.work / "b").exists()
    assert "not today" in str(here.server.requests[-1].body["messages"][-1])
    assert [one["tool_name"] for one in refused.permission_denials or ()] == ["Write"]
    assert (refused.result, refused.is_error) == ("four", False)


async def test_a_denial_that_interrupts_ends_the_turn_and_a_broken_callback_denies(
    house: Open,
) -> None:
    here = house([reply(writing("a", "x")), reply(writing("b", "x")), reply("so be it")])
    times = 0

    async def may(name: str, given: dict[str, Any], context: ToolPermissionContext) -> Any:
        nonlocal times
        times += 1
        if times == 1:
            return PermissionResultDeny(message="stop it all", interrupt=True)
        raise RuntimeError("a bug of the caller's")

    async with ClaudeSDKClient(here.options(can_use_tool=may)) as client:
        ended = result_of(await said(client, "write a"))
        denied = result_of(await said(client, "write b"))

    assert (ended.subtype, ended.is_error) == ("error_during_execution", True)
    assert ended.terminal_reason == "aborted_tools"
    assert (denied.result, list(here.work.iterdir())) == ("so be it", [])
    assert "a bug of the caller's" in str(here.server.requests[-1].body["messages"][-1])


async def test_the_model_s_questions_to_the_user_go_to_the_host_and_back(house: Open) -> None:
    question = {
        "question": "Which colour?",
        "header": "Colour",
        "options": [{"label": one, "description": one} for one in ("red", "blue")],
    }
    here = house([reply(tool_use("AskUserQuestion", {"questions": [question]})), reply("blue.")])

    async def may(name: str, given: dict[str, Any], context: ToolPermissionContext) -> Any:
        assert name == "AskUserQuestion"
        return PermissionResultAllow(updated_input={**given, "answers": {"Which colour?": "blue"}})

    async with ClaudeSDKClient(here.options(can_use_tool=may)) as client:
        await said(client, "paint it")

    assert "The user chose: blue" in str(here.server.requests[-1].body["messages"][-1])


async def test_without_a_callback_nobody_is_asked_and_rules_and_modes_decide(house: Open) -> None:
    here = house([reply(writing("a", "x"), writing("b", "x")), reply("done")])

    messages = await here.query(
        "write both", allowed_tools=["Write(a)"], disallowed_tools=["Write(b)", "Bash"]
    )

    assert [path.name for path in here.work.iterdir()] == ["a"]
    denied = result_of(messages).permission_denials or ()
    assert [one["tool_input"]["file_path"] for one in denied] == ["b"]
