"""What else a skill's front matter does: effort, hooks, the files it is for, its shell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from interlock.options import Options, PermissionMode
from interlock.scripted import ScriptedServer, reply, tool_use
from tests.agent.support import Room, results, tell
from tests.skills.writing import skill

ABLE = Options(model="claude-sonnet-5-5", permission_mode=PermissionMode.BYPASS_PERMISSIONS)
HOOKED = """---
description: Ships it.
hooks:
  PreToolUse:
    - matcher: Bash
      hooks:
        - type: command
          command: echo seen >> hooked; exit 2
---
How to ship.
"""


def fetched(name: str) -> Any:
    return reply(tool_use("Skill", {"skill": name}))


def bash(line: str) -> Any:
    return reply(tool_use("Bash", {"command": line}))


async def test_its_effort_is_that_of_the_prompt_it_is_called_in(room: Room, mine: Path) -> None:
    skill(mine, "quick", effort="low")
    script = [reply("Quickly."), reply("As always.")]
    async with ScriptedServer(script) as server, room.open(server, options=ABLE) as agent:
        await tell(agent, "/quick")
        await tell(agent, "and now?")

    one, two = server.requests
    assert one.body["output_config"] == {"effort": "low"}
    assert "output_config" not in two.body
    assert server.verdict() == ()


async def test_its_effort_is_that_of_an_agent_that_runs_it(room: Room, mine: Path) -> None:
    skill(mine, "apart", context="fork", effort="max")
    script = [fetched("apart"), reply("done there"), reply("I see.")]
    async with ScriptedServer(script) as server, room.open(server, options=ABLE) as agent:
        await tell(agent, "go")

    efforts = [request.body.get("output_config") for request in server.requests]
    assert efforts == [None, {"effort": "max"}, None]


async def test_a_model_that_knows_no_effort_is_not_sent_one(room: Room, mine: Path) -> None:
    skill(mine, "quick", effort="low")
    async with ScriptedServer([reply("Quickly.")]) as server, room.open(server) as agent:
        await tell(agent, "/quick")

    assert "output_config" not in server.requests[0].body


async def test_its_hooks_run_from_when_it_is_fetched_until_the_prompt_is_over(
    room: Room, mine: Path
) -> None:
    skill(mine, "ship").write_text(HOOKED)
    script = [bash("echo 1"), fetched("ship"), bash("echo 2"), reply("done"), bash("echo 3")]
    async with (
        ScriptedServer([*script, reply("done")]) as server,
        room.open(server) as agent,
    ):
        await tell(agent, "go")
        await tell(agent, "and again")

    before, during, after = (results(server.requests[at])[0] for at in (1, 3, 5))
    assert (before[1], during[2], after[1]) == ("1", True, "3")
    assert (room.work / "hooked").read_text() == "seen\n"


async def test_hooks_of_skills_do_not_run_where_settings_switch_them_off(
    room: Room, mine: Path
) -> None:
    skill(mine, "ship").write_text(HOOKED)
    off = Options(permission_mode=PermissionMode.BYPASS_PERMISSIONS, lent_hooks=False)
    script = [fetched("ship"), bash("echo 2"), reply("done")]
    async with ScriptedServer(script) as server, room.open(server, options=off) as agent:
        await tell(agent, "go")

    assert results(server.requests[2])[0][1] == "2"


async def test_a_skill_with_hooks_that_nobody_understands_is_not_used(
    room: Room, mine: Path
) -> None:
    skill(mine, "ship").write_text(HOOKED.replace("PreToolUse", "BeforeTool"))
    async with (
        ScriptedServer([fetched("ship"), reply("I see.")]) as server,
        room.open(server) as agent,
    ):
        await tell(agent, "go")

    ((_, said, bad),) = results(server.requests[1])
    assert bad
    assert "BeforeTool" in said


async def test_one_for_some_files_is_told_once_one_of_them_is_worked_with(
    room: Room, mine: Path
) -> None:
    skill(mine, "forms", description="How forms are made.", paths="src/**/*.tsx, *.css")
    for name in ("a.py", "src/deep/form.tsx"):
        (room.work / name).parent.mkdir(parents=True, exist_ok=True)
        (room.work / name).write_text("x")
    script = [
        reply(tool_use("Read", {"file_path": "a.py"})),
        reply(tool_use("Read", {"file_path": "src/deep/form.tsx"})),
        reply(tool_use("Read", {"file_path": "src/deep/form.tsx"})),
        reply("done"),
    ]
    async with ScriptedServer(script) as server, room.open(server) as agent:
        await tell(agent, "go")

    told = ["How forms are made." in str(request.body) for request in server.requests]
    assert told == [False, False, True, True]
    assert str(server.requests[3].body).count("How forms are made.") == 1


async def test_commands_for_another_shell_are_not_run(room: Room, mine: Path) -> None:
    skill(mine, "win", "It is !`echo unix > ran`.", shell="powershell")
    async with (
        ScriptedServer([fetched("win"), reply("I see.")]) as server,
        room.open(server) as agent,
    ):
        await tell(agent, "go")

    assert (
        "It is [not run: it is written for another shell than bash]."
        in results(server.requests[1])[0][1]
    )
    assert not (room.work / "ran").exists()
