"""Eight ways in which scripts start the program: code, mark and text agree, and none hangs."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from interlock.scripted import Answer, ServerThread, reply, status
from interlock.sessions import read_messages
from phases.world.messages import Kind
from tests.cli.shell import REAL, Shell

LIMIT_S = 60  # for a whole start on a busy machine; what hangs, hangs for ever


@contextmanager
def script(
    shell: Shell, line: str, answers: Sequence[Answer], **env: str
) -> Iterator[tuple[subprocess.CompletedProcess[bytes], ServerThread]]:
    """What a shell script makes of this line; `$CLI` is the program."""
    with ServerThread(answers) as server:
        done = subprocess.run(
            ["bash", "-c", line.replace("$CLI", '"$@"'), "script", *REAL],
            cwd=shell.folder,
            env=shell.environ(ANTHROPIC_BASE_URL=server.base_url, **env),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=LIMIT_S,
            check=False,
        )
        assert b"Traceback" not in done.stderr
        yield done, server


def test_a_refused_key_exits_1_with_the_reason_after_one_request(shell: Shell) -> None:
    refused = status(401, "authentication_error", "invalid x-api-key")

    with script(shell, "$CLI -p hi < /dev/null", [refused]) as (done, server):
        assert (done.returncode, done.stdout) == (1, b"")
        assert b"invalid x-api-key" in done.stderr
        assert len(server.requests) == 1


def test_an_api_error_is_one_json_object_whose_mark_agrees_with_the_exit_code(
    shell: Shell,
) -> None:
    bad = status(400, "invalid_request_error", "bad")

    with script(shell, "$CLI -p hi --output-format json", [bad, bad]) as (done, _):
        (line,) = done.stdout.splitlines()
        assert done.returncode == 1
        assert b'"is_error":true' in line
        assert b"bad" in line
        assert b"bad" in done.stderr


def test_an_open_standard_input_is_not_waited_for(shell: Shell) -> None:
    """The rule: beside a prompt, a pipe counts if data comes within a second."""
    line = "exec 3< <(exec sleep 600); $CLI -p hi <&3; code=$?; kill $!; exit $code"

    with script(shell, line, [reply("ok")]) as (done, _):
        assert (done.returncode, done.stdout) == (0, b"ok\n")
        assert b"nothing came on standard input" in done.stderr


def test_a_prompt_on_standard_input_runs_once(shell: Shell) -> None:
    with script(shell, "echo hi | $CLI", [reply("ok")]) as (done, server):
        assert (done.returncode, done.stdout, done.stderr) == (0, b"ok\n", b"")
        assert len(server.requests) == 1


def test_a_reader_that_leaves_ends_it_quietly_and_the_session_is_saved(shell: Shell) -> None:
    line = "$CLI -p hi | head -c 1; exit ${PIPESTATUS[0]}"

    with script(shell, line, [reply("x" * 200_000)]) as (done, _):
        assert done.returncode == 141
        assert (done.stdout, done.stderr) == (b"x", b"")
    (path,) = shell.transcripts
    assert [message.kind for message in read_messages(path)] == [Kind.PROMPT, Kind.REPLY]


def test_a_poor_terminal_gets_every_letter(shell: Shell) -> None:
    text = "日本語 👩‍👩‍👧 é"
    poor = {"LANG": "C", "LC_ALL": "C", "COLUMNS": "20", "PYTHONCOERCECLOCALE": "0"}

    with script(shell, "unset TERM; $CLI -p hi", [reply(text)], **poor) as (done, _):
        assert (done.returncode, done.stdout.decode(), done.stderr) == (0, f"{text}\n", b"")


def test_a_closed_standard_output_is_told_and_exits_1(shell: Shell) -> None:
    with script(shell, "$CLI -p hi >&-", [reply("ok")]) as (done, _):
        assert (done.returncode, done.stdout) == (1, b"")
        assert done.stderr.startswith(b"interlock: standard output is closed")


@pytest.mark.parametrize("prompt", ["''", "'  '"], ids=["empty", "blanks"])
def test_an_empty_prompt_is_refused_before_any_request(shell: Shell, prompt: str) -> None:
    with script(shell, f"$CLI -p {prompt}", []) as (done, server):
        assert (done.returncode, done.stdout) == (1, b"")
        assert done.stderr.startswith(b"interlock: no prompt: ")
        assert server.requests == ()
