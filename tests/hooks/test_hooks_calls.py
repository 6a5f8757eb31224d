"""Hooks of a whole session: what they do to calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import anyio
import orjson
import pytest

from interlock.hooks import HookMatcher, parse
from interlock.options import Options
from interlock.scripted import ScriptedServer, reply, tool_use
from phases.world.messages import Kind
from phases.world.updates import ToolStarted
from tests.agent.support import MODEL, Room, living, results, tell
from tests.hooks.sessions import played
from tests.hooks.support import commands
from tests.waiting import until

# Guards in every state they are found in, one for each tool.
GUARDS = {
    "PreToolUse": [
        {"matcher": "Write", "hooks": [{"type": "command", "command": "sleep 60", "timeout": 1}]},
        {"matcher": "Edit", "hooks": [{"type": "command", "command": "./no-such-hook.sh"}]},
        {
            "matcher": "Read",
            "hooks": [{"type": "command", "command": 'echo \'{"decision": "blo\'; exit 0'}],
        },
        {"matcher": "Glob", "hooks": [{"type": "command", "command": "echo denied >&2; exit 2"}]},
        {"matcher": "Grep", "hooks": [{"type": "command", "command": "echo denied >&2; exit 1"}]},
        {
            "matcher": "Bash",
            "hooks": [
                {"type": "command", "command": "exec 0<&-; true"},
                {"type": "command", "command": "yes | head -c 5000000"},
            ],
        },
    ]
}
CALLS = {
    "Write": {"file_path": "new.txt", "content": "x"},
    "Edit": {"file_path": "a.txt", "old_string": "alpha", "new_string": "omega"},
    "Read": {"file_path": "b.txt"},
    "Glob": {"pattern": "*"},
    "Grep": {"pattern": "alpha"},
    "Bash": {"command": "echo ran"},
}


async def test_guards_that_break_let_no_call_through(room: Room) -> None:
    calls = [
        tool_use(
            name,
            {
                key: str(room.work / value) if key == "file_path" else value
                for key, value in arguments.items()
            },
        )
        for name, arguments in CALLS.items()
    ]

    told, server = await played(
        room,
        [reply("I try all", *calls), reply("done")],
        configured_hooks=parse(GUARDS, "settings.json:2"),
    )

    told_to_model = [(text, failed) for _, text, failed in results(server.requests[1])]
    words = (
        "was ended at its time limit of 1 s",
        "failed with exit code 127",
        "printed JSON that cannot be read",
        "Permission denied: a hook forbids it: denied",
        "failed with exit code 1: denied",
    )
    for word, (text, _) in zip(words, told_to_model[:5], strict=True):
        assert word in text
    assert [failed for _, failed in told_to_model] == [True] * 5 + [False]
    assert told_to_model[5][0] == "ran"
    assert [one.call.name for one in told.updates if isinstance(one, ToolStarted)] == ["Bash"]
    assert (room.work / "a.txt").read_text() == "alpha\n"
    assert not (room.work / "new.txt").exists()
    assert len(told.summary.denials) == 5
    assert living(room.work) == []


async def test_a_hooks_allow_spares_the_question_but_lifts_no_rule(room: Room) -> None:
    def allow(call: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"hookSpecificOutput": {"permissionDecision": "allow"}}

    options = Options(model=MODEL, disallowed_tools=("Bash(touch b*)",))
    calls = [tool_use("Bash", {"command": f"touch {name}"}) for name in ("a", "b")]

    _, server = await played(
        room,
        [reply(*calls), reply("done")],
        options=options,
        hooks=[HookMatcher(event="PreToolUse", hooks=[allow])],
    )

    assert [failed for _, _, failed in results(server.requests[1])] == [False, True]
    assert (room.work / "a").exists()
    assert not (room.work / "b").exists()


async def test_a_changed_input_is_what_runs_and_is_judged_anew(room: Room) -> None:
    def rewrite(call: Mapping[str, Any]) -> Mapping[str, Any]:
        new = {"command": call["tool_input"]["command"].replace("old", "new")}
        return {"hookSpecificOutput": {"permissionDecision": "allow", "updatedInput": new}}

    options = Options(model=MODEL, disallowed_tools=("Bash(touch new2)",))
    calls = [tool_use("Bash", {"command": f"touch {name}"}) for name in ("old1", "old2")]

    _, server = await played(
        room,
        [reply(*calls), reply("done")],
        options=options,
        hooks=[HookMatcher(event="PreToolUse", hooks=[rewrite])],
    )

    assert [failed for _, _, failed in results(server.requests[1])] == [False, True]
    assert {path.name for path in room.work.iterdir()} == {"a.txt", "b.txt", "new1"}


@pytest.mark.parametrize("line", ["echo 'mind the style' >&2; exit 2", "exit 1", "./none"])
async def test_a_hook_after_the_call_adds_to_its_one_result(line: str, room: Room) -> None:
    hooks = commands({"command": line, "onFailure": "block"}, event="PostToolUse")

    _, server = await played(
        room,
        [reply(tool_use("Bash", {"command": "echo ran"})), reply("done")],
        configured_hooks=hooks,
    )

    ((_, text, failed),) = results(server.requests[1])
    assert text.startswith("ran\n")
    assert "mind the style" in text or "PostToolUse hook" in text
    assert not failed


async def test_a_call_that_failed_is_for_other_hooks(room: Room) -> None:
    hooks = (
        *commands("cat > ok.json", event="PostToolUse"),
        *commands("cat > failed.json", event="PostToolUseFailure"),
    )

    await played(
        room,
        [reply(tool_use("Bash", {"command": "echo why; exit 3"})), reply("done")],
        configured_hooks=hooks,
    )

    told = orjson.loads((room.work / "failed.json").read_bytes())
    assert "why" in told["error"]
    assert told["tool_response"]["is_error"]
    assert not (room.work / "ok.json").exists()


async def test_continue_false_ends_the_run_after_the_reply_is_answered(room: Room) -> None:
    line = """echo '{"continue": false, "stopReason": "not today"}'"""

    told, _ = await played(
        room,
        [reply(tool_use("Bash", {"command": "touch ran"}))],
        configured_hooks=commands(line),
    )

    assert told.ending == ("hook_stopped", None)
    assert told.summary.error_text == "not today"
    assert told.trace[-1].payload["hook_stopped"] == "not today"
    assert [message.kind for message in told.shown] == [Kind.PROMPT, Kind.REPLY, Kind.RESULT]
    assert not (room.work / "ran").exists()


async def test_an_interrupt_ends_the_hook_that_is_asked(room: Room) -> None:
    hooks = commands("trap '' TERM; touch started; sleep 60; sleep 60")
    answers = [reply(tool_use("Bash", {"command": "touch ran"})), reply("alive")]

    async with (
        ScriptedServer(answers) as server,
        room.open(server, configured_hooks=hooks) as agent,
    ):

        async def stop_once_it_runs() -> None:
            await until((room.work / "started").exists)
            agent.interrupt()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stop_once_it_runs)
            told = await tell(agent, "go")

        assert told.ending == ("aborted_tools", "aborted_tools")
        assert living(room.work) == []
        assert not (room.work / "ran").exists()
        assert (await tell(agent, "go on")).ending == ("completed", None)
    assert server.verdict() == ()
