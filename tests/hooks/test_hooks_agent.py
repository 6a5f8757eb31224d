"""Hooks of a whole session: prompts, the end of a run, questions and compactions."""

from __future__ import annotations

import orjson

from interlock.admission import PROMPT_BLOCKED
from interlock.options import Options, PermissionMode
from interlock.permissions import Answer, Decision, Question
from interlock.scripted import ScriptedServer, reply, status, tool_use
from phases.world.updates import HookStarted, Notice, Update
from tests.agent.support import MODEL, Room, living, sent, tell
from tests.hooks.sessions import notices, played
from tests.hooks.support import commands
from tests.waiting import until


async def test_a_blocked_prompt_was_never_said(room: Room) -> None:
    line = "grep -q secret && { echo 'no secrets' >&2; exit 2; }; true"
    hooks = commands(line, event="UserPromptSubmit")

    async with (
        ScriptedServer([reply("hello")]) as server,
        room.open(server, configured_hooks=hooks) as agent,
    ):
        shown: list[Update] = []
        refused = await agent.prompt("the secret is xyzzy", shown.append)
        told = await tell(agent, "hi")

    assert (refused.reason, refused.error, refused.messages) == (PROMPT_BLOCKED, None, 0)
    assert refused.text == "The prompt was blocked: no secrets"
    assert refused.text in [one.text for one in shown if isinstance(one, Notice)]
    assert told.ending == ("completed", None)
    assert len(server.requests) == 1
    assert b"xyzzy" not in orjson.dumps(server.requests[0].body)
    assert "xyzzy" not in agent.transcript_path.read_text()


async def test_a_prompt_that_is_interrupted_before_it_was_judged_is_not_taken_up(
    room: Room,
) -> None:
    hooks = commands("touch started; sleep 60", event="UserPromptSubmit")

    async with (
        ScriptedServer([]) as server,
        room.open(server, configured_hooks=hooks) as agent,
    ):
        summary = await agent.prompt(
            "go", lambda update: agent.interrupt() if isinstance(update, HookStarted) else None
        )

    assert summary.error == "aborted_streaming"
    assert not agent.transcript_path.exists() or "go" not in agent.transcript_path.read_text()
    assert server.requests == ()


async def test_what_hooks_say_at_the_start_stands_in_front_of_the_prompt(room: Room) -> None:
    hooks = (
        *commands("cat > start.json; echo use bun", event="SessionStart", matcher="startup"),
        *commands("echo monday", event="UserPromptSubmit"),
        *commands("cat > end.json", event="SessionEnd"),
    )

    async with (
        ScriptedServer([reply("one"), reply("two")]) as server,
        room.open(server, configured_hooks=hooks) as agent,
    ):
        await tell(agent, "first")
        await tell(agent, "second")
        agent.end_as("logout")

    first, second = ([block["text"] for block in sent(each)] for each in server.requests)
    assert ["use bun" in first[0], "monday" in first[1], first[2]] == [True, True, "first"]
    assert [text for text in second if "use bun" in text] == first[:1]
    assert second[-2:] == [first[1], "second"]
    assert orjson.loads((room.work / "start.json").read_bytes())["source"] == "startup"
    assert orjson.loads((room.work / "end.json").read_bytes())["reason"] == "logout"


async def test_a_stop_hook_sends_the_model_back_and_knows_that_it_did(room: Room) -> None:
    line = (
        "cat >> stops.jsonl; echo >> stops.jsonl;"
        " [ $(wc -l < stops.jsonl) -gt 1 ] || { echo 'tests fail' >&2; exit 2; }"
    )

    told, server = await played(
        room, [reply("done"), reply("now it is")], configured_hooks=commands(line, event="Stop")
    )

    assert told.ending == ("completed", None)
    assert told.trace.reasons == ("stop_hook_blocking",)
    assert sent(server.requests[1])[-1]["text"] == "tests fail"
    stops = [orjson.loads(one) for one in (room.work / "stops.jsonl").read_bytes().splitlines()]
    assert [one["stop_hook_active"] for one in stops] == [False, True]
    assert [one["last_assistant_message"] for one in stops] == ["done", "now it is"]


async def test_a_stop_hook_that_never_agrees_ends_the_run(room: Room) -> None:
    hooks = commands("echo again >&2; exit 2", event="Stop")

    told, server = await played(
        room,
        [reply("done")] * 9,
        configured_hooks=hooks,
        environ={"CLAUDE_CODE_STOP_HOOK_BLOCK_CAP": "2"},
    )

    assert told.ending == ("stop_hook_prevented", "stop_hook_prevented")
    words = told.summary.error_text or ""
    assert words.startswith("Stop hooks sent the model back to work")
    assert words.endswith(": again")
    assert len(server.requests) == 3


async def test_a_broken_stop_hook_ends_the_run_unchecked_and_costs_no_request(
    room: Room,
) -> None:
    told, server = await played(
        room, [reply("done")], configured_hooks=commands("./none", event="Stop")
    )

    assert told.ending == ("stop_hook_prevented", "stop_hook_prevented")
    assert "./none" in (told.summary.error_text or "")
    assert len(server.requests) == 1


async def test_stop_failure_hooks_hear_of_an_error_and_end_with_the_prompt(room: Room) -> None:
    hooks = (
        *commands("cat > failure.json", event="StopFailure", matcher="authentication"),
        *commands({"command": "sleep 60", "timeout": 0.3}, event="StopFailure"),
        *commands("touch stopped", event="Stop"),
    )

    refused = status(401, "authentication_error", "bad key")
    told, _ = await played(room, [refused], configured_hooks=hooks)

    assert told.ending == ("completed", "api_error")
    failure = orjson.loads((room.work / "failure.json").read_bytes())
    assert failure["error"] == "authentication"
    assert "bad key" in failure["error_details"]
    assert not (room.work / "stopped").exists()
    assert living(room.work) == []


async def test_hooks_hear_that_a_person_is_about_to_be_asked(room: Room) -> None:
    class Person:
        async def ask(self, question: Question, decision: Decision) -> Answer:
            await until((room.work / "asked.json").exists)
            return Answer(allowed=False, reason="no")

    hooks = commands("cat > .new; mv .new asked.json", event="Notification")

    await played(
        room,
        [reply(tool_use("Bash", {"command": "touch x"})), reply("done")],
        options=Options(model=MODEL),
        asker=Person(),
        configured_hooks=hooks,
    )

    asked = orjson.loads((room.work / "asked.json").read_bytes())
    assert asked["notification_type"] == "permission_prompt"
    assert "Bash" in asked["message"]


async def test_a_compaction_by_hand_can_be_blocked_and_is_told_its_focus(room: Room) -> None:
    line = "cat > compact.json; [ -e free ] || { echo 'export first' >&2; exit 2; }"
    hooks = (
        *commands(line, event="PreCompact", matcher="manual"),
        *commands("echo use bun", event="SessionStart", matcher="compact"),
    )
    answers = [reply("hello"), reply("<summary>we met</summary>"), reply("yes")]

    async with (
        ScriptedServer(answers) as server,
        room.open(server, configured_hooks=hooks) as agent,
    ):
        await tell(agent, "hi")
        problem = await agent.compact(lambda update: None, "the names")
        (room.work / "free").touch()
        made = await agent.compact(lambda update: None)
        await tell(agent, "and now?")

    assert problem == "a PreCompact hook blocks it: export first"
    assert made is None
    told = orjson.loads((room.work / "compact.json").read_bytes())
    assert (told["trigger"], told["custom_instructions"]) == ("manual", None)
    assert any("use bun" in block["text"] for block in sent(server.requests[-1]))
    assert not any("use bun" in block["text"] for block in sent(server.requests[0]))
    assert len(server.requests) == 3


async def test_a_person_who_may_do_everything_is_still_bound_by_a_guard(room: Room) -> None:
    options = Options(model=MODEL, permission_mode=PermissionMode.BYPASS_PERMISSIONS)

    told, _ = await played(
        room,
        [reply(tool_use("Bash", {"command": "touch x"})), reply("done")],
        options=options,
        configured_hooks=commands("exit 1"),
    )

    assert not (room.work / "x").exists()
    assert any("exit code 1" in line for line in notices(told))
