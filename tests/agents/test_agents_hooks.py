"""Hooks of a session run for its children too, and are told for whom."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from interlock.hooks import HookMatcher
from interlock.scripted import ScriptedServer, reply, tool_use
from tests.agent.support import Room, results, tell
from tests.agents.families import by_prompt, children, hand, of

LOOK = reply(tool_use("Read", {"file_path": "a.txt"}))


async def test_one_that_begins_reads_what_hooks_have_to_say(room: Room) -> None:
    heard: list[Mapping[str, Any]] = []

    def starts(told: Mapping[str, Any]) -> dict[str, Any]:
        heard.append(told)
        context = {"hookEventName": "SubagentStart", "additionalContext": "The tests are slow."}
        return {"hookSpecificOutput": context}

    hooks = [HookMatcher(event="SubagentStart", matcher="Explore", hooks=[starts])]
    answers = by_prompt(
        {
            "go": [reply(hand("it", kind="Explore"), hand("other")), reply("done")],
            "it": [reply("seen")],
            "other": [reply("seen")],
        }
    )
    async with ScriptedServer(answers) as server, room.open(server, hooks=hooks) as agent:
        await tell(agent, "go")
        left = children(agent)

    assert "The tests are slow." in of(server.requests, "it")[0].raw.decode()
    assert "The tests are slow." not in of(server.requests, "other")[0].raw.decode()
    (told,) = heard
    assert (told["agent_id"], told["agent_type"]) == (left["do it"].agent_id, "Explore")


async def test_a_stop_hook_of_children_sends_one_back_to_work(room: Room) -> None:
    heard: list[Mapping[str, Any]] = []

    def stops(told: Mapping[str, Any]) -> dict[str, Any] | None:
        heard.append(told)
        if told["stop_hook_active"]:
            return None
        return {"decision": "block", "reason": "Name the file."}

    def never(told: Mapping[str, Any]) -> dict[str, Any]:
        raise AssertionError("the main agent's hook, for a child")

    hooks = [
        HookMatcher(event="SubagentStop", matcher="general-purpose", hooks=[stops]),
        HookMatcher(event="SubagentStop", matcher="Explore", hooks=[never]),
    ]
    answers = by_prompt(
        {
            "go": [reply(hand("it")), reply("done")],
            "it": [reply("Somewhere."), reply("In a.txt.")],
        }
    )
    async with ScriptedServer(answers) as server, room.open(server, hooks=hooks) as agent:
        await tell(agent, "go")
        left = children(agent)["do it"]

    assert results(of(server.requests, "go")[1])[0][1].startswith("In a.txt.")
    assert "Name the file." in of(server.requests, "it")[1].raw.decode()
    assert len(heard) == 2
    paths = agent.paths.agent(left.agent_id)
    assert heard[0]["agent_transcript_path"] == str(paths.transcript)
    assert heard[0]["agent_id"] == left.agent_id
    assert heard[0]["last_assistant_message"] == "Somewhere."


async def test_hooks_on_tools_hear_which_agent_calls(room: Room) -> None:
    heard: list[tuple[str, str | None]] = []

    def before(told: Mapping[str, Any]) -> None:
        heard.append((told["tool_name"], told.get("agent_type")))

    hooks = [HookMatcher(event="PreToolUse", hooks=[before])]
    answers = by_prompt({"go": [reply(hand("it")), reply("ok")], "it": [LOOK, reply("seen")]})
    async with ScriptedServer(answers) as server, room.open(server, hooks=hooks) as agent:
        await tell(agent, "go")

    assert heard == [("Agent", None), ("Read", "general-purpose")]


@pytest.mark.parametrize("matcher", ["Task", "Agent", "^Task$"])
@pytest.mark.parametrize("called", ["Task", "Agent"])
async def test_a_guard_holds_under_both_names_of_the_tool(
    room: Room, matcher: str, called: str
) -> None:
    def deny(told: Mapping[str, Any]) -> dict[str, Any]:
        said = {"hookEventName": "PreToolUse", "permissionDecision": "deny"}
        return {"hookSpecificOutput": {**said, "permissionDecisionReason": "not today"}}

    hooks = [HookMatcher(event="PreToolUse", matcher=matcher, hooks=[deny])]
    call = tool_use(called, {"description": "x", "prompt": "it"})
    answers = by_prompt({"go": [reply(call), reply("ok")]})
    async with ScriptedServer(answers) as server, room.open(server, hooks=hooks) as agent:
        await tell(agent, "go")

    assert "not today" in results(server.requests[1])[0][1]
    assert not agent.paths.agents.exists()
