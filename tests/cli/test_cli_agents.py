"""Sub-agents as a user of the command line, and a program that reads its output, see them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import (
    ResultMessage,
    TaskNotificationMessage,
    TaskProgressMessage,
    TaskStartedMessage,
)
from claude_agent_sdk._internal.message_parser import parse_message

from interlock.scripted import reply, tool_use
from interlock.scripted.thread import ServerThread
from tests.agents.families import by_prompt, hand
from tests.cli.shell import REAL, Ran, Shell

SCRIPTS = {
    "go": [reply(hand("look", kind="reviewer", id_="toolu_go")), reply("all is well")],
    "look": [
        reply({"type": "text", "text": "I look."}, tool_use("Read", {"file_path": "a.txt"})),
        reply("the report"),
    ],
}
REVIEWER = '{"reviewer": {"description": "Reviews.", "prompt": "You review."}}'


def run(shell: Shell, *flags: str, scripts: Any = None) -> Ran:
    (shell.folder / "a.txt").write_text("alpha\n")
    with ServerThread(by_prompt(scripts or SCRIPTS)) as server:
        return shell.run(
            "-p",
            "go",
            "--model",
            "claude-sonnet-4-5",
            *flags,
            program=REAL,
            env={"ANTHROPIC_BASE_URL": server.base_url},
        )


def put(shell: Shell, name: str, text: str) -> Path:
    path = shell.folder / ".claude" / "agents" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_programs_are_told_of_a_child_by_the_call_that_started_it(shell: Shell) -> None:
    ran = run(shell, "--agents", REVIEWER, "--output-format", "stream-json", "--verbose")

    assert ran.code == 0
    init, *lines = ran.lines
    assert "reviewer" in init["agents"]
    below = [line for line in lines if line.get("parent_tool_use_id") == "toolu_go"]
    assert [line["type"] for line in below] == ["user", "assistant", "user"]
    assert below[0]["message"]["content"] == [{"type": "text", "text": "look"}]
    assert below[1]["message"]["content"][0]["name"] == "Read"
    assert below[2]["message"]["content"][0]["type"] == "tool_result"
    started, ended = (
        next(line for line in lines if line.get("subtype") == name)
        for name in ("task_started", "task_notification")
    )
    assert (started["task_type"], started["tool_use_id"]) == ("local_agent", "toolu_go")
    assert (ended["task_id"], ended["status"]) == (started["task_id"], "completed")
    assert ended["usage"]["tool_uses"] == 1
    assert Path(ended["output_file"]).is_file()
    assert lines[-1]["type"] == "result"
    assert lines[-1]["result"] == "all is well"
    assert all({"uuid", "session_id"} <= set(line) for line in lines)


BELOW = {
    "go": [reply(hand("look", kind="reviewer", id_="toolu_go")), reply("all is well")],
    "look": [reply(hand("deeper", id_="toolu_below")), reply("the report")],
    "deeper": [
        reply(tool_use("Read", {"file_path": "a.txt"}), tool_use("Glob", {"pattern": "*"})),
        reply("deep down"),
    ],
}


def parsed(ran: Ran) -> list[Any]:
    """Every line, read as the SDK's own parser reads it: it raises where a key is missing."""
    return [message for line in ran.lines if (message := parse_message(line)) is not None]


def test_the_sdk_follows_children_of_children_by_frames_it_can_read(shell: Shell) -> None:
    ran = run(
        shell,
        *("--agents", REVIEWER, "--output-format", "stream-json", "--verbose"),
        scripts=BELOW,
    )

    messages = parsed(ran)
    started = [each for each in messages if isinstance(each, TaskStartedMessage)]
    assert [each.tool_use_id for each in started] == ["toolu_go", "toolu_below"]
    progress = [each for each in messages if isinstance(each, TaskProgressMessage)]
    assert [(each.tool_use_id, each.last_tool_name) for each in progress] == [
        ("toolu_go", "Agent"),
        ("toolu_below", "Read"),
        ("toolu_below", "Glob"),
    ]
    assert [each.usage["tool_uses"] for each in progress] == [1, 1, 2]
    ended = [each for each in messages if isinstance(each, TaskNotificationMessage)]
    assert [each.tool_use_id for each in ended] == ["toolu_below", "toolu_go"]
    assert {each.status for each in ended} == {"completed"}
    below = [line for line in ran.lines if line.get("parent_tool_use_id") == "toolu_below"]
    assert [line["type"] for line in below] == ["user", "assistant", "assistant", "user", "user"]


def test_the_sdk_sees_a_child_in_the_background_begin_and_end(shell: Shell) -> None:
    scripts = {
        "go": [reply(hand("look", run_in_background=True)), reply("started")],
        "look": [reply(tool_use("Bash", {"command": "sleep 600"}))],
    }
    ran = run(
        shell,
        *("--permission-mode", "bypassPermissions", "--output-format", "stream-json"),
        "--verbose",
        scripts=scripts,
    )

    kinds = [type(message) for message in parsed(ran)]
    assert kinds[-1] is ResultMessage
    (ended,) = [each for each in parsed(ran) if isinstance(each, TaskNotificationMessage)]
    assert ended.status == "stopped"
    assert kinds.count(TaskStartedMessage) == 1


def test_the_sdk_sees_a_command_in_the_background_as_a_task(shell: Shell) -> None:
    command = {"command": "true", "run_in_background": True}
    scripts = {
        "go": [
            reply(tool_use("Bash", command, id="toolu_go")),
            reply(tool_use("TaskOutput", {"task_id": "bash_1", "block": True})),
            reply("it has ended"),
        ]
    }
    ran = run(
        shell,
        *("--permission-mode", "bypassPermissions", "--output-format", "stream-json"),
        "--verbose",
        scripts=scripts,
    )

    (started,) = [each for each in parsed(ran) if isinstance(each, TaskStartedMessage)]
    (ended,) = [each for each in parsed(ran) if isinstance(each, TaskNotificationMessage)]
    assert (started.task_type, started.tool_use_id) == ("local_bash", "toolu_go")
    assert (ended.task_id, ended.status) == (started.task_id, "completed")


def test_a_person_sees_the_progress_of_a_child_in_short_lines(shell: Shell) -> None:
    ran = run(shell, "--agents", REVIEWER, "--verbose")

    assert ran.out == "all is well\n"
    lines = ran.err.splitlines()
    assert "  ▷ reviewer: do look" in lines
    assert '    reviewer ● Read {"file_path":"a.txt"}' in lines
    (end,) = [line for line in lines if line.startswith("  ✓ reviewer: do look (1 call, ")]
    assert "tokens" in end


def test_what_still_runs_in_the_background_is_ended_and_told(shell: Shell) -> None:
    scripts = {
        "go": [reply(hand("look", run_in_background=True)), reply("started")],
        "look": [reply(tool_use("Bash", {"command": "sleep 600"}))],
    }
    ran = run(shell, "--permission-mode", "bypassPermissions", scripts=scripts)

    assert ran.out == "started\n"
    assert "(do look) was stopped after" in ran.err


def test_agents_lists_the_types_with_where_each_comes_from(shell: Shell) -> None:
    put(
        shell, "reviewer.md", "---\nname: reviewer\ndescription: Reviews.\ntools: Read, LS\n---\nR"
    )
    bad = put(shell, "bad.md", "no front matter")

    ran = shell.run("agents", program=REAL)

    assert ran.code == 1
    assert "reviewer  (project, .claude/agents/reviewer.md)" in ran.out
    assert "tools: Read, LS (not here: LS); its parent's model" in ran.out
    assert "general-purpose  (built in)" in ran.out
    (line,) = ran.err.splitlines()
    assert line.startswith(f"interlock: {bad}:1: it has no front matter")


def test_agents_are_listed_for_programs_too(shell: Shell) -> None:
    ran = shell.run("agents", "--json", "--agents", REVIEWER, program=REAL)

    listed = {one["name"]: one for one in json.loads(ran.out)}
    assert set(listed) == {"general-purpose", "Explore", "Plan", "reviewer"}
    assert listed["reviewer"]["origin"] == "--agents"


def test_a_types_file_is_used_by_a_run_and_a_bad_one_is_told_before_it(shell: Shell) -> None:
    put(shell, "reviewer.md", "---\nname: reviewer\ndescription: Reviews.\n---\nYou review.")
    put(shell, "bad.md", "---\nname: bad\n---\nBad.")

    ran = run(shell)

    assert ran.out == "all is well\n"
    assert "bad.md:1: it has no description" in ran.err


def test_a_type_whose_file_must_not_be_read_is_left_out_and_named(shell: Shell) -> None:
    path = shell.folder / ".claude" / "agents" / "closed.md"
    path.parent.mkdir(parents=True)
    path.write_text("---\nname: closed\ndescription: SECRET\n---\nSECRET")
    with ServerThread([reply("Hello.")]) as server:
        env = {"ANTHROPIC_BASE_URL": server.base_url}
        rule = "Read(.claude/agents/**)"
        ran = shell.run("-p", "hi", "--disallowedTools", rule, program=REAL, env=env)
        told = str(server.requests[0].body)
    (shell.folder / ".claude" / "settings.json").write_text(
        '{"permissions": {"deny": ["Read(.claude/agents/**)"]}}'
    )
    listed = shell.run("agents", program=REAL)

    assert (ran.code, "SECRET" in told) == (0, False)
    assert f"{path}: left out: the rule {rule} (the flag --disallowedTools) forbids it" in ran.err
    assert "closed" not in listed.out
    assert f"{path}: left out: the rule {rule} (" in listed.err


def test_no_files_are_read_where_no_source_is_chosen(shell: Shell) -> None:
    put(shell, "reviewer.md", "---\nname: reviewer\ndescription: Reviews.\n---\nYou review.")

    ran = run(shell, "--setting-sources=", "--output-format", "stream-json", "--verbose")

    assert "reviewer" not in ran.lines[0]["agents"]


def test_the_tree_of_the_last_run_is_shown(shell: Shell) -> None:
    assert run(shell, "--agents", REVIEWER).code == 0

    tree = shell.run("trace", "last", "--tree", program=REAL)

    chain, root, child = tree.out.splitlines()
    assert chain.startswith("chain ")
    assert "depth 0: 2 turns" in root
    assert child.startswith("└─ reviewer ")
    assert "(do look), depth 1: 2 turns" in child
    agent_id = child.split()[2]
    assert shell.run("trace", agent_id, program=REAL).code == 0
    assert "not over" not in shell.run("explain", agent_id, program=REAL).out
    assert "all agree" in shell.run("replay", agent_id, program=REAL).out


@pytest.mark.parametrize("given", ["{", '{"x": {"description": "d"}}'])
def test_types_that_cannot_be_used_are_refused_before_any_request(
    shell: Shell, given: str
) -> None:
    ran = shell.run("-p", "go", "--agents", given, program=REAL)

    assert ran.code == 1
    assert ran.out == ""
    (line,) = ran.err.splitlines()
    assert line.startswith("interlock: --agents")
