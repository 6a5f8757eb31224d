"""What a type brings for its agents alone: hooks, effort."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from interlock.agents.definition import AgentDefinition, BadDefinition, definition_of
from interlock.agents.files import found
from interlock.options import Options, PermissionMode
from interlock.scripted import ScriptedServer, reply, tool_use
from tests.agent.support import Room, results, tell
from tests.agents.families import by_prompt, hand, of

OPTIONS = Options(model="claude-sonnet-5-5", permission_mode=PermissionMode.BYPASS_PERMISSIONS)


def typed(**fields: Any) -> Options:
    one = {"name": "careful", "description": "Careful.", "prompt": "You are careful.", **fields}
    return evolve(OPTIONS, agents=(definition_of(one, origin="code"),))


def on(event: str, command: str, matcher: str = "") -> dict[str, Any]:
    return {event: [{"matcher": matcher, "hooks": [{"type": "command", "command": command}]}]}


def bash(line: str) -> Any:
    return reply(tool_use("Bash", {"command": line}))


async def test_its_hooks_run_for_its_agents_alone(room: Room) -> None:
    options = typed(hooks=on("PreToolUse", "echo no >&2; exit 2", "Bash"))
    scripts = {
        "go": [
            bash("echo main"),
            reply(hand("work", kind="careful")),
            bash("echo main"),
            reply(""),
        ],
        "work": [bash("echo child"), reply(hand("below")), reply("done")],
        "below": [bash("echo below"), reply("done")],
    }
    async with (
        ScriptedServer(by_prompt(scripts)) as server,
        room.open(server, options=options) as agent,
    ):
        await tell(agent, "go")

    go = of(server.requests, "go")
    assert [results(go[at])[0][1] for at in (1, 3)] == ["main", "main"]
    ((_, said, bad),) = results(of(server.requests, "work")[1])
    assert bad
    assert "no" in said
    assert results(of(server.requests, "below")[1])[0][1] == "below"


async def test_what_it_says_to_stop_is_said_at_the_end_of_such_an_agent(room: Room) -> None:
    once = "test -e asked || { touch asked; echo name the file >&2; exit 2; }"
    options = typed(hooks=on("Stop", once))
    scripts = {
        "go": [reply(hand("work", kind="careful")), reply("I see.")],
        "work": [reply("it is done"), reply("it is in a.txt")],
    }
    async with (
        ScriptedServer(by_prompt(scripts)) as server,
        room.open(server, options=options) as agent,
    ):
        await tell(agent, "go")

    assert len(of(server.requests, "work")) == 2
    assert "name the file" in str(of(server.requests, "work")[1].body)
    assert results(of(server.requests, "go")[1])[0][1].startswith("it is in a.txt")
    assert len(of(server.requests, "go")) == 2


async def test_its_effort_is_sent_for_its_agents_alone(room: Room) -> None:
    scripts = {
        "go": [reply(hand("work", kind="careful")), reply("I see.")],
        "work": [reply("done")],
    }
    async with (
        ScriptedServer(by_prompt(scripts)) as server,
        room.open(server, options=typed(effort="low")) as agent,
    ):
        await tell(agent, "go")

    (child,) = of(server.requests, "work")
    assert child.body["output_config"] == {"effort": "low"}
    assert all("output_config" not in each.body for each in of(server.requests, "go"))
    assert server.verdict() == ()


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"effort": "huge"}, "effort 'huge' is unknown"),
        ({"hooks": on("BeforeTool", "true")}, "BeforeTool"),
        ({"hooks": "run.sh"}, "hooks"),
    ],
    ids=["effort", "event", "no object"],
)
def test_what_cannot_be_understood_is_refused(fields: dict[str, Any], problem: str) -> None:
    with pytest.raises(BadDefinition, match=problem):
        typed(**fields)


def test_keys_without_effect_are_named_with_their_lines(tmp_path: Path) -> None:
    path = tmp_path / ".claude" / "agents" / "one.md"
    path.parent.mkdir(parents=True)
    path.write_text(
        "---\nname: one\ndescription: One.\ncolor: red\ninitialPrompt: Hello.\n"
        "x-mine: 1\nmaxTurn: 3\n---\nYou are one."
    )

    seen = found(tmp_path, tmp_path / "home")

    assert isinstance(seen.types["one"], AgentDefinition)
    assert seen.notes == [
        f"{path}:4: color has no effect here",
        f"{path}:5: initialPrompt has no effect here",
        f"{path}:6: x-mine is no key of an agent, it has no effect",
    ]
    assert seen.warnings == [
        f"{path}:7: maxTurn is no key of an agent, it has no effect; did you mean maxTurns?"
    ]
