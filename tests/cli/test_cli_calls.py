"""The tool calls of a run, looked at from the command line; real tools, real HTTP."""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest

from interlock.call_records import beside
from interlock.scripted import Answer, ServerThread, reply, tool_use
from tests.cli.shell import REAL, Ran, Shell
from tests.waiting import wait_until

BYPASS = ("--permission-mode", "bypassPermissions")
DONE = reply("Done.")


def bash(id_: str, command: str, **more: object) -> Mapping[str, Any]:
    return tool_use("Bash", {"command": command, **more}, id=id_)


def against(shell: Shell, answers: Sequence[Answer], *argv: str, **env: str) -> Ran:
    with ServerThread(answers) as server:
        return shell.run(
            *("-p", "go", *argv),
            program=REAL,
            env={"ANTHROPIC_BASE_URL": server.base_url, **env},
        )


def look(shell: Shell, *argv: str) -> Ran:
    return shell.run(*argv, program=REAL)


def lines_of_calls(told: str) -> list[str]:
    """The lines of a story that are about calls, without their times."""
    lines = [line for line in told.splitlines() if line.startswith("     ")]
    return [line[17:] for line in lines]


def trace_of(shell: Shell) -> Path:
    (path,) = shell.home.glob("projects/*/*/runs/*.trace.jsonl")
    return path


@pytest.fixture
def mixed(shell: Shell) -> Ran:
    """A run in which calls come to different ends."""
    calls = (
        bash("toolu_denied", "rm -r src"),
        bash("toolu_slow", "sleep 60", timeout=1),
        bash("toolu_good", "echo hello"),
        tool_use("NoSuchTool", {}, id="toolu_none"),
    )
    rules = ("--allowedTools", "Bash(sleep:*)", "--disallowedTools", "Bash(rm:*)")
    return against(shell, [reply(*calls), DONE], *rules)


def test_each_call_stands_under_its_turn_with_what_became_of_it_and_why(
    shell: Shell, mixed: Ran
) -> None:
    told = look(shell, "trace", "last")

    assert (mixed.code, told.code, told.err) == (0, 0, "")
    lines = told.out.splitlines()
    (tools,) = [n for n, line in enumerate(lines) if "  tools  " in line]
    assert lines_of_calls(told.out) == lines_of_calls("\n".join(lines[tools + 1 : tools + 5]))
    denied, slow, good, none = lines_of_calls(told.out)
    assert denied == (
        "Bash toolu_denied  queued > checking > denied  the rule Bash(rm:*) "
        "(the flag --disallowedTools) forbids it"
    )
    assert slow.startswith("Bash toolu_slow  queued > checking > permitted > running > timed_out")
    assert slow.endswith(
        "s; the rule Bash(sleep:*) (the flag --allowedTools) allows it; over its limit"
    )
    assert good.startswith("Bash toolu_good  queued > checking > permitted > running > done")
    assert good.endswith("s; the command only looks")
    assert none == "NoSuchTool toolu_none  queued > failed  no such tool"


def test_a_story_names_the_calls_that_did_not_run_to_their_own_end(
    shell: Shell, mixed: Ran
) -> None:
    story = look(shell, "explain", "last").out
    step = look(shell, "explain", "last", "--step", "4").out
    call = look(shell, "explain", "last", "--call", "toolu_denied").out

    paragraphs = [" ".join(one.split()) for one in story.split("\n\n")]
    assert (
        "The call Bash toolu_denied was denied while checking: the rule Bash(rm:*) (the flag "
        "--disallowedTools) forbids it. "
        "The call Bash toolu_slow ran out of time while running: over its limit (the rule "
        "Bash(sleep:*) (the flag --allowedTools) allows it)."
    ) in paragraphs
    assert "toolu_good" not in story
    assert "  Bash toolu_good  queued > checking" in step
    assert "checking, told Judged, went to denied (denied)" in call
    assert "not_allowed: Whether a hook, a rule, the mode or a person said no." in call


def test_decisions_about_calls_are_taken_again(shell: Shell, mixed: Ran) -> None:
    told = look(shell, "replay", "last")

    assert told.code == 0
    assert told.out.splitlines()[1].endswith("steps of 4 calls, all agree")


def test_a_record_of_a_call_that_was_changed_is_found(shell: Shell, mixed: Ran) -> None:
    path = beside(trace_of(shell))
    path.write_text(path.read_text().replace('"not_allowed",true', '"not_allowed",false'))

    told = look(shell, "replay", "last")

    assert told.code == 1
    assert "steps of its calls agree\nBash toolu_denied: step" in told.out
    assert "guard not_allowed changed its mind: False -> True" in told.out


def test_a_run_without_records_of_its_calls_reads_as_before(shell: Shell, mixed: Ran) -> None:
    with_calls = look(shell, "trace", "last").out
    beside(trace_of(shell)).unlink()

    told = look(shell, "trace", "last")

    assert told.code == 0
    assert told.out.splitlines() == [
        line for line in with_calls.splitlines() if not line.startswith("     ")
    ]
    assert [line.split(": ")[1] for line in look(shell, "replay", "last").out.splitlines()] == [
        "14 steps, all agree",
        "run again, 14 steps, the same to the byte",
    ]
    assert look(shell, "explain", "last").code == 0
    assert "no calls are recorded beside it" in look(shell, "explain", "last", "--call", "x").err


def test_json_prints_both_files(shell: Shell, mixed: Ran) -> None:
    told = look(shell, "trace", "last", "--json")

    headers = [one["machine"] for one in told.lines if "format" in one]
    assert headers == ["loop", "tool_call"]
    assert "rm -r src" not in told.out  # what was said is in the transcript


def changed(shell: Shell, at: int, **change: object) -> Path:
    """The file of calls, with one record of `toolu_slow` changed."""
    path = beside(trace_of(shell))
    lines = path.read_bytes().splitlines()
    line = [n for n, each in enumerate(lines) if b'"call":"toolu_slow"' in each][at]
    lines[line] = orjson.dumps(orjson.loads(lines[line]) | change)
    path.write_bytes(b"\n".join(lines) + b"\n")
    return path


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"payload": {"call": "x", "under": 4}}, "how call x began cannot be read"),
        (
            {"payload": {"call": "x", "under": 4, "facts": {"id": 1, "x": 2}}},
            "how call x began cannot be read",
        ),
        ({"payload": None}, "belongs to no call"),
        ({"sequence": 99}, "record 99 is out of its place"),
        ({"source": None}, "its source is a NoneType"),
    ],
    ids=["unknown call", "other facts", "no payload", "gap", "damaged"],
)
def test_a_record_of_calls_that_cannot_be_read_costs_one_call(
    shell: Shell, mixed: Ran, change: dict[str, object], problem: str
) -> None:
    path = changed(shell, 1, **change)

    told, again = look(shell, "trace", "last"), look(shell, "replay", "last")

    assert (told.code, told.err.count("\n")) == (1, 1)
    assert str(path) in told.err
    assert problem in told.err
    assert "Bash toolu_good  queued > checking > permitted > running > done" in told.out
    assert again.code == 1
    assert "Bash toolu_slow cannot be decided: a record of it is missing" in again.out
    assert again.out.count("cannot be decided") == 1


def test_a_call_whose_first_record_is_damaged_is_left_out_and_told_once(
    shell: Shell, mixed: Ran
) -> None:
    changed(shell, 0, source=None)

    told, again = look(shell, "trace", "last"), look(shell, "replay", "last")

    assert told.err.count("how call toolu_slow began cannot be read: it is left out") == 1
    assert "toolu_slow" not in told.out
    assert again.code == 1
    assert "calls, all agree" in again.out


def test_four_calls_have_four_results_in_their_order_in_one_message(shell: Shell) -> None:
    (shell.folder / "a.txt").write_text("alpha\n")
    calls = (
        bash("toolu_1", "sleep 0.6; echo first"),
        bash("toolu_2", "sleep 0.3; exit 3"),
        tool_use("Read", {"file_path": str(shell.folder / "a.txt")}, id="toolu_3"),
        tool_use("NoSuchTool", {"x": 1}, id="toolu_4"),
    )
    with ServerThread([reply(*calls), reply("all four answered")]) as server:
        ran = shell.run(
            *("-p", "go", *BYPASS), program=REAL, env={"ANTHROPIC_BASE_URL": server.base_url}
        )
        sent = server.requests[-1].body["messages"]

    assert (ran.code, ran.out) == (0, "all four answered\n")
    results = sent[-1]["content"]
    assert [one["tool_use_id"] for one in results] == ["toolu_1", "toolu_2", "toolu_3", "toolu_4"]
    assert [one.get("is_error", False) for one in results] == [False, True, False, True]
    assert [one["role"] for one in sent] == ["user", "assistant", "user"]


def test_what_had_begun_when_the_process_was_killed_is_known(shell: Shell) -> None:
    calls = (
        bash("toolu_1", "touch begun; sleep 60"),
        bash("toolu_2", "touch never"),
    )
    with ServerThread([reply(*calls)]) as server:
        process = shell.start(
            *("-p", "go", *BYPASS), program=REAL, env={"ANTHROPIC_BASE_URL": server.base_url}
        )
        assert process.stdin is not None
        process.stdin.close()
        wait_until((shell.folder / "begun").exists, process)
        process.send_signal(signal.SIGKILL)
        process.wait()
        for pipe in (process.stdout, process.stderr):
            assert pipe is not None
            pipe.close()

    told = look(shell, "trace", "last")

    begun, waiting = lines_of_calls(told.out)
    assert begun.startswith("Bash toolu_1  queued > checking > permitted > running  ")
    assert begun.endswith("not over when the trace stops")
    assert waiting == "Bash toolu_2  queued  not over when the trace stops"
    assert not (shell.folder / "never").exists()
    assert look(shell, "replay", "last").code == 0


def test_a_silent_call_gives_signs_of_life(shell: Shell) -> None:
    answers = [reply(bash("toolu_1", "sleep 0.5")), DONE]
    stream = ("--output-format", "stream-json", "--verbose")

    ran = against(shell, answers, *BYPASS, *stream, INTERLOCK_TOOL_HEARTBEAT_S="0.1")

    signs = [one for one in ran.lines if one["type"] == "tool_progress"]
    assert signs
    assert {*signs[0]} == {
        *("type", "uuid", "session_id", "tool_use_id", "tool_name", "parent_tool_use_id"),
        "elapsed_time_seconds",
    }
    assert (signs[0]["tool_use_id"], signs[0]["tool_name"]) == ("toolu_1", "Bash")
    assert 0 < signs[0]["elapsed_time_seconds"] <= signs[-1]["elapsed_time_seconds"]
