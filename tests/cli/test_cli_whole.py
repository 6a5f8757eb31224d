"""The whole program, as a script starts it, against a scripted model over real HTTP."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from interlock.scripted import Answer, ServerThread, reply, status, tool_use
from interlock.sessions import read_messages
from phases.world.messages import Kind
from tests.cli.shell import REAL, Ran, Shell

STREAM = ("--output-format", "stream-json", "--verbose")


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path, fresh=True)  # processes, just as a script starts them


def against(shell: Shell, answers: Sequence[Answer], *argv: str) -> tuple[Ran, int]:
    """Run the program; what it did, and how many requests it made."""
    with ServerThread(answers) as server:
        env = {"ANTHROPIC_BASE_URL": server.base_url, "INTERLOCK_MAX_RETRIES": "1"}
        ran = shell.run(*argv, program=REAL, env=env)
        return ran, len(server.requests)


def test_a_prompt_is_answered_and_its_run_can_be_looked_at(shell: Shell) -> None:
    (shell.folder / "notes.txt").write_text("remember the milk\n")
    answers = [
        reply("I look", tool_use("Read", {"file_path": str(shell.folder / "notes.txt")})),
        reply("There is milk."),
    ]

    ran, requests = against(shell, answers, "-p", "what is in notes.txt?", *STREAM)
    trace = shell.run("trace", "last", program=REAL)
    explained = shell.run("explain", "last", "--step", "3", program=REAL)
    replayed = shell.run("replay", "last", program=REAL)

    assert (ran.code, ran.err, requests) == (0, "", 2)
    assert [said["type"] for said in ran.lines] == [
        *("system", "assistant", "assistant", "user", "assistant", "result")
    ]
    assert "remember the milk" in str(ran.lines[3])
    assert ran.lines[-1]["result"] == "There is milk."
    assert (trace.code, explained.code, replayed.code) == (0, 0, 0)
    assert "needs_follow_up" in trace.out
    assert trace.out.splitlines()[-1].endswith("ended: completed")
    assert "not over" not in replayed.out
    assert replayed.out.endswith("the same to the byte\n")


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_refused_key_is_one_request_and_one_line(shell: Shell, form: str) -> None:
    refused = status(401, "authentication_error", "invalid x-api-key")

    ran, requests = against(shell, [refused], "-p", "hi", "--output-format", form)

    assert (ran.code, requests) == (1, 1)
    assert "invalid x-api-key" in ran.err
    assert ran.err.count("\n") == 1
    if form == "json":
        assert (ran.json["is_error"], ran.json["api_error_status"]) == (True, 401)
    else:
        assert ran.out == ""


def test_a_call_that_needs_a_permission_is_denied_at_once_without_a_terminal(
    shell: Shell,
) -> None:
    answers = [
        reply(tool_use("Bash", {"command": "echo needs-approval > out.txt"})),
        reply("It was refused, so I stop here."),
    ]

    ran, requests = against(shell, answers, "-p", "try", "--output-format", "json")

    assert (ran.code, requests) == (0, 2)
    assert [denial["tool_name"] for denial in ran.json["permission_denials"]] == ["Bash"]
    assert not (shell.folder / "out.txt").exists()


def test_turns_beyond_the_limit_are_not_asked_for(shell: Shell) -> None:
    answers = [
        reply(tool_use("Bash", {"command": "echo one"})),
        reply(tool_use("Bash", {"command": "echo two"})),
    ]

    ran, requests = against(
        shell, answers, "-p", "go", "--max-turns", "1", "--output-format", "json"
    )

    assert (ran.code, requests) == (1, 1)
    assert ran.json["subtype"] == "error_max_turns"
    assert ran.json["num_turns"] == 2
    assert "--max-turns" in ran.err


def test_ctrl_c_in_a_tool_leaves_a_history_that_can_be_gone_on_with(shell: Shell) -> None:
    answers: list[Any] = [reply(tool_use("Bash", {"command": "touch started; sleep 60"}))]
    with ServerThread(answers) as server:
        process = subprocess.Popen(
            [*REAL, "-p", "wait", "--allowedTools", "Bash(touch started; sleep 60)"],
            cwd=shell.folder,
            env=shell.environ(ANTHROPIC_BASE_URL=server.base_url),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        while process.poll() is None and not (shell.folder / "started").exists():
            with_pause(process)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)

    assert (process.returncode, out) == (130, b"")
    assert err == b"interlock: Interrupted while tools ran.\n"
    (path,) = shell.transcripts
    kinds = [message.kind for message in read_messages(path)]
    assert kinds == [Kind.PROMPT, Kind.REPLY, Kind.RESULT, Kind.INTERRUPTION]


def with_pause(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(timeout=0.05)
    except subprocess.TimeoutExpired:
        return


def test_a_dead_address_is_one_line(shell: Shell) -> None:
    dead = {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9", "INTERLOCK_MAX_RETRIES": "0"}

    ran = shell.run("-p", "hi", program=REAL, env=dead)

    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("interlock: cannot connect to http://127.0.0.1:9")
    assert ran.err.count("\n") == 1
