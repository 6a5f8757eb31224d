"""What stops the program from outside: the run is closed, and what it started is ended."""

from __future__ import annotations

import os
import signal
import subprocess
import termios
from pathlib import Path

import pytest

from interlock.scripted import Answer, ServerThread, reply, tool_use
from interlock.sessions import read_messages
from phases.world.messages import Kind
from tests.agent.support import living, unanswered
from tests.cli.shell import REAL, Shell
from tests.cli.test_cli_interactive import PATIENCE_S, seated
from tests.waiting import wait_until

FREE = ("--permission-mode", "bypassPermissions")
SIGNALS = [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]


def slow(line: str = "sleep 600") -> Answer:
    """A call that says when it has begun, and has a child in the background besides."""
    return reply("I do.", tool_use("Bash", {"command": f"sleep 601 & touch here; {line}"}))


def begun(shell: Shell, process: subprocess.Popen[bytes]) -> None:
    wait_until((shell.folder / "here").exists, process)


def start(shell: Shell, server: ServerThread, *argv: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*REAL, "-p", "go", *FREE, *argv],
        cwd=shell.folder,
        env=shell.environ(ANTHROPIC_BASE_URL=server.base_url),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def closed_well(shell: Shell) -> None:
    """The one call has its truthful result, and nothing runs any more."""
    (path,) = shell.transcripts
    kinds = [message.kind for message in read_messages(path)]
    assert kinds == [Kind.PROMPT, Kind.REPLY, Kind.RESULT, Kind.INTERRUPTION]
    assert unanswered(path) == []
    assert "Interrupted by the user" in path.read_text()
    assert living(shell.folder) == []


@pytest.mark.parametrize(("number", "code"), SIGNALS)
def test_a_signal_in_a_call_closes_it_and_ends_what_it_started(
    shell: Shell, number: signal.Signals, code: int
) -> None:
    with ServerThread([slow()]) as server:
        process = start(shell, server)
        begun(shell, process)
        process.send_signal(number)
        out, err = process.communicate(timeout=PATIENCE_S)

    assert (process.returncode, out) == (code, b"")
    assert err.endswith(b"interlock: Interrupted while tools ran.\n")
    closed_well(shell)


def test_a_second_signal_does_not_change_the_exit_code(shell: Shell) -> None:
    """Until the very end: Python gives signals back while it shuts down."""
    with ServerThread([slow()]) as server:
        process = start(shell, server)
        begun(shell, process)
        process.send_signal(signal.SIGTERM)
        assert process.stderr is not None
        told = b""
        while b"Interrupted while tools ran" not in told:
            told += process.stderr.readline()
        while process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE_S)

    assert process.returncode == 143
    closed_well(shell)


def test_a_reader_that_leaves_in_a_call_ends_the_run_as_an_interrupt(shell: Shell) -> None:
    """As `interlock … | head -1` does."""
    with ServerThread([slow("until test -e go; do sleep 0.05; done")]) as server:
        process = start(shell, server, "--output-format", "stream-json", "--verbose")
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        begun(shell, process)
        process.stdout.close()
        (shell.folder / "go").touch()
        code, err = process.wait(PATIENCE_S), process.stderr.read()
        process.stderr.close()

    assert (code, err) == (141, b"")
    assert len(server.requests) == 1
    (path,) = shell.transcripts
    assert unanswered(path) == []
    assert living(shell.folder) == []


# --- at the terminal -------------------------------------------------------------------------


@pytest.mark.parametrize("busy", [False, True], ids=["idle", "in a call"])
def test_a_terminal_that_is_closed_ends_the_session_and_saves_it(shell: Shell, busy: bool) -> None:
    with seated(shell, [slow()], *FREE) as (person, _):
        person.sees("/help lists the commands")
        if busy:
            person.types("work\r")
            begun(shell, person.process)
        nobody = os.open(os.devnull, os.O_RDWR)
        os.dup2(nobody, person.screen)  # closes the terminal
        os.close(nobody)

        assert person.process.wait(PATIENCE_S) == 129
    if busy:
        closed_well(shell)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_terminal_is_as_it_was(shell: Shell, number: signal.Signals) -> None:
    with seated(shell, [slow()], *FREE) as (person, _):
        person.sees("/help lists the commands")
        person.types("work\r")
        begun(shell, person.process)
        raw = termios.tcgetattr(person.screen)[3]
        person.process.send_signal(number)
        if number == signal.SIGINT:
            person.sees("Interrupted")
            person.types("/exit\r")
        person.ends()
        after = termios.tcgetattr(person.screen)[3]

    assert not raw & termios.ECHO
    assert after & termios.ECHO
    assert after & termios.ICANON
    closed_well(shell)


# --- two at once -----------------------------------------------------------------------------


def test_of_two_that_begin_one_session_at_once_one_does_and_the_other_is_told(
    shell: Shell,
) -> None:
    for number in range(4):
        session = f"11111111-2222-4333-8444-55555555555{number}"
        with ServerThread([reply("Mine."), reply("Mine too.")]) as server:
            both = [start(shell, server, "--session-id", session) for _ in range(2)]
            ends = [process.communicate(timeout=2 * PATIENCE_S) for process in both]
        codes = [process.returncode for process in both]

        assert sorted(codes) == [0, 1]
        (line,) = ends[codes.index(1)][1].decode().splitlines()[-1:]
        assert "another process" in line or "exists already" in line
        (path,) = (one for one in shell.transcripts if one.stem == session)
        assert [message.kind for message in read_messages(path)] == [Kind.PROMPT, Kind.REPLY]


def test_a_lock_dies_with_its_process_and_is_not_copied_with_its_folder(
    shell: Shell, tmp_path: Path
) -> None:
    with ServerThread([slow(), reply("Free."), reply("Free too.")]) as server:
        process = start(shell, server)
        begun(shell, process)
        copy = tmp_path / "copy"
        subprocess.run(["cp", "-a", str(shell.home), str(copy)], check=True)
        env = {"ANTHROPIC_BASE_URL": server.base_url}
        refused = shell.run("-p", "more", "--continue", program=REAL, env=env)
        elsewhere = shell.run(
            "-p", "more", "--continue", program=REAL, env={**env, "INTERLOCK_HOME": str(copy)}
        )
        process.kill()
        process.communicate()
        after = shell.run("-p", "more", "--continue", program=REAL, env=env)

    assert (refused.code, refused.err.count("\n")) == (1, 1)
    assert "another process is writing this session: end that one, or go on in a branch" in (
        refused.err
    )
    assert (elsewhere.code, after.code) == (0, 0)
