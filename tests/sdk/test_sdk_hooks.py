"""Hooks that live in the host: each event reaches it, and what it answers is heard."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, Literal

from claude_agent_sdk import AgentDefinition, HookMatcher

from interlock.scripted import reply, tool_use
from tests.sdk.conftest import Open
from tests.sdk.house import result_of


async def test_every_event_reaches_the_host_with_what_it_is_about(house: Open) -> None:
    child = {"description": "look", "prompt": "look around", "subagent_type": "looker"}
    here = house(
        [
            reply(tool_use("Read", {"file_path": "a"}), tool_use("Read", {"file_path": "none"})),
            reply(tool_use("Agent", child)),
            reply("I looked"),
            reply(tool_use("Write", {"file_path": "b", "content": "x"})),
            reply("done"),
        ]
    )
    here.file("a", "text")
    heard: dict[str, list[dict[str, Any]]] = defaultdict(list)

    async def hear(told: Any, tool_use_id: str | None, context: Any) -> Any:
        heard[told["hook_event_name"]].append(dict(told))
        if told["hook_event_name"] == "UserPromptSubmit":
            context = "The password is swordfish."
            return {
                "hookSpecificOutput": {
                    "hookEventName": "UserPromptSubmit",
                    "additionalContext": context,
                }
            }
        return {}

    async def may(name: str, given: dict[str, Any], context: Any) -> Any:
        raise AssertionError("a PermissionRequest hook has answered")

    async def decide(told: Any, tool_use_id: str | None, context: Any) -> Any:
        heard["PermissionRequest"].append(dict(told))
        decision = {"behavior": "allow"}
        return {"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}}

    events = (
        *("PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit"),
        *("Stop", "SubagentStart", "SubagentStop"),
    )
    hooks: Any = {event: [HookMatcher(hooks=[hear])] for event in events}
    hooks["PermissionRequest"] = [HookMatcher(hooks=[decide])]

    messages = await here.query(
        "go", hooks=hooks, agents={"looker": AgentDefinition(description="d", prompt="p")}
    )

    assert result_of(messages).result == "done"
    assert set(heard) == {*events, "PermissionRequest"}
    before = heard["PreToolUse"][0]
    assert (before["tool_name"], before["tool_input"]) == ("Read", {"file_path": "a"})
    assert before["session_id"] == result_of(messages).session_id
    assert before["transcript_path"].startswith(str(here.home))
    assert heard["PostToolUse"][0]["tool_response"]["is_error"] is False
    assert "none" in heard["PostToolUseFailure"][0]["error"]
    assert heard["SubagentStart"][0]["agent_type"] == "looker"
    assert heard["SubagentStop"][0]["last_assistant_message"] == "I looked"
    assert heard["Stop"][0]["stop_hook_active"] is False
    assert heard["PermissionRequest"][0]["tool_name"] == "Write"
    assert "swordfish" in str(here.server.requests[0].body["messages"])


async def test_a_hook_may_deny_change_add_block_and_end_the_run(house: Open) -> None:
    here = house(
        [
            reply(
                tool_use("Write", {"file_path": "no", "content": "x"}),
                tool_use("Write", {"file_path": "yes", "content": "theirs"}),
            ),
            reply("finished?"),
            reply(tool_use("Read", {"file_path": "yes"})),
        ]
    )
    here.file("placeholder")
    stops = 0

    async def before(told: Any, tool_use_id: str | None, context: Any) -> Any:
        specific: dict[str, Any] = {"hookEventName": "PreToolUse", "permissionDecision": "allow"}
        if told["tool_input"]["file_path"] == "no":
            specific |= {"permissionDecision": "deny", "permissionDecisionReason": "no is no"}
        else:
            specific["updatedInput"] = {**told["tool_input"], "content": "ours"}
        return {"hookSpecificOutput": specific}

    async def stop(told: Any, tool_use_id: str | None, context: Any) -> Any:
        nonlocal stops
        stops += 1
        return {"decision": "block", "reason": "look at it first"}

    async def after(told: Any, tool_use_id: str | None, context: Any) -> Any:
        specific = {"hookEventName": "PostToolUse", "updatedToolOutput": "SECRET"}
        return {"continue_": False, "stopReason": "seen enough", "hookSpecificOutput": specific}

    messages = await here.query(
        "go",
        hooks={
            "PreToolUse": [HookMatcher(matcher="Write", hooks=[before])],
            "PostToolUse": [HookMatcher(matcher="Read", hooks=[after])],
            "Stop": [HookMatcher(hooks=[stop])],
        },
    )

    assert not (here.work / "no").exists()
    assert (here.work / "yes").read_text() == "ours"
    assert "no is no" in str(here.server.requests[1].body["messages"][-1])
    assert "look at it first" in str(here.server.requests[2].body["messages"][-1])
    assert stops == 1
    assert "SECRET" in str(messages)
    ended = result_of(messages)
    assert (ended.subtype, ended.is_error, ended.terminal_reason) == (
        *("success", False),
        "hook_stopped",
    )


async def test_a_hook_that_fails_has_no_opinion_unless_it_is_to_block(house: Open) -> None:
    here = house(
        [
            *(reply(tool_use("Read", {"file_path": "a"})), reply("one")),
            *(reply(tool_use("Read", {"file_path": "a"})), reply("two")),
        ]
    )
    here.file("a", "text of a")

    async def broken(told: Any, tool_use_id: str | None, context: Any) -> Any:
        raise RuntimeError("hook bug")

    choices: tuple[Literal["block"] | None, ...] = (None, "block")
    for on_failure in choices:
        matcher = HookMatcher(hooks=[broken], on_failure=on_failure)
        await here.query("read", hooks={"PreToolUse": [matcher]})

    first, second = (here.server.requests[at].body["messages"][-1] for at in (1, 3))
    assert "text of a" in str(first)
    assert "text of a" not in str(second)


async def test_a_prompt_that_a_hook_blocks_costs_nothing(house: Open) -> None:
    here = house([])

    async def block(told: Any, tool_use_id: str | None, context: Any) -> Any:
        return {"decision": "block", "reason": "rude"}

    messages = await here.query("damn", hooks={"UserPromptSubmit": [HookMatcher(hooks=[block])]})

    ended = result_of(messages)
    assert (ended.num_turns, ended.is_error) == (0, False)
    assert "rude" in (ended.result or "")
    assert here.server.requests == ()
