"""What a script can rely on: exit codes, one line on stderr, nothing but the result on stdout."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from interlock.sessions import read_messages
from phases.world.messages import Kind
from tests.cli.shell import FAKE, REAL, Shell
from tests.waiting import wait_until


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path, fresh=True)  # how a process begins and ends is what this is about


def test_a_whole_answer_is_on_stdout_alone_and_exits_0(shell: Shell) -> None:
    ran = shell.run("-p", "hi", env={"FAKE": "say:the answer"})

    assert (ran.code, ran.out, ran.err) == (0, "the answer\n", "")


ENDINGS = {
    "a bad key": ("completed|api_error|the API key was refused|authentication|401", "the API key"),
    "no connection": ("completed|api_error|cannot connect to x|connection|", "cannot connect"),
    "refusal": ("completed|refusal|The model declined to answer.||", "The model declined"),
    "a cut answer": ("completed|max_output_tokens|The answer was cut.||", "The answer was cut."),
    "max turns": ("max_turns|max_turns|Stopped after 2 turns (--max-turns).||", "Stopped after 2"),
    "the budget": (
        "budget_exhausted|budget_exhausted|The budget is used up.||",
        "The budget is used up.",
    ),
    "a stop hook": ("stop_hook_prevented|stop_hook_prevented|not on Fridays||", "not on Fridays"),
    "a broken phase": ("model_error|model_error|An internal error.||", "An internal error."),
}


@pytest.mark.parametrize(("ending", "line"), ENDINGS.values(), ids=ENDINGS)
def test_every_other_ending_exits_1_with_a_line_of_its_own(
    shell: Shell, ending: str, line: str
) -> None:
    ran = shell.run("-p", "hi", "--output-format", "json", env={"FAKE": f"end:{ending}"})

    assert ran.code == 1
    assert ran.json["is_error"] is True
    assert ran.err.startswith(f"interlock: {line}")
    assert ran.err.count("\n") == 1


def test_an_end_that_a_hook_asked_for_is_no_error(shell: Shell) -> None:
    ran = shell.run("-p", "hi", env={"FAKE": "end:hook_stopped||enough||"})

    assert (ran.code, ran.err) == (0, "")


def test_the_text_of_a_failed_run_is_no_result(shell: Shell) -> None:
    failed = shell.run("-p", "hi", env={"FAKE": "end:completed|api_error|down|server|500"})
    cut = shell.run("-p", "hi", env={"FAKE": "end:completed|max_output_tokens|cut||"})

    assert failed.out == ""
    assert cut.out == "as far as I came\n"


def test_no_key_is_told_before_anything_else(shell: Shell) -> None:
    ran = shell.run("-p", "hi", env={"ANTHROPIC_API_KEY": ""})

    assert (ran.code, ran.out) == (1, "")
    assert ran.err == "interlock: no API key: set ANTHROPIC_API_KEY\n"


def test_a_bad_setting_is_told_with_its_name(shell: Shell) -> None:
    ran = shell.run("-p", "hi", env={"INTERLOCK_MAX_RETRIES": "many"})

    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("interlock: INTERLOCK_MAX_RETRIES is 'many'; set a whole number")


def test_a_bug_is_one_line_and_its_traceback_only_on_request(shell: Shell) -> None:
    quiet = shell.run("-p", "hi", env={"FAKE": "break"})
    loud = shell.run("-p", "hi", env={"FAKE": "break", "INTERLOCK_DEBUG": "1"})

    assert (quiet.code, loud.code) == (1, 1)
    assert quiet.err == (
        "interlock: internal error: RuntimeError: a wheel came off "
        "(set INTERLOCK_DEBUG=1 to see where)\n"
    )
    assert "Traceback" in loud.err


def test_a_disk_that_is_full_for_the_transcript_is_one_line(shell: Shell) -> None:
    shell.home.write_text("a file where the folder should be")

    ran = shell.run("-p", "hi", "--output-format", "json")

    assert ran.code == 1
    assert ran.err.startswith(f"interlock: folder {shell.home}: cannot be written: ")
    assert ran.err.count("\n") == 1
    assert ran.json["is_error"] is True


# --- streams ---------------------------------------------------------------------------------


def test_an_open_pipe_on_stdin_is_not_waited_for(shell: Shell) -> None:
    process = shell.start("-p", "hi")
    try:
        code = process.wait(timeout=20)
        assert process.stdout is not None
        assert (code, process.stdout.read()) == (0, b"ok\n")
    finally:
        process.kill()
        process.communicate()


def test_a_reader_that_leaves_ends_the_run_quietly_with_the_session_saved(shell: Shell) -> None:
    process = shell.start("-p", "hi", env={"FAKE": "repeat:x"})
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdin is not None
    process.stdin.close()
    assert process.stdout.read(1) == b"x"
    process.stdout.close()

    code, err = process.wait(timeout=20), process.stderr.read()
    process.stderr.close()

    assert (code, err) == (141, b"")
    (path,) = shell.transcripts
    assert [message.kind for message in read_messages(path)] == [Kind.PROMPT, Kind.REPLY]


def test_a_poor_terminal_gets_the_same_bytes(shell: Shell) -> None:
    text = "日本語 👩‍👩‍👧 é"
    poor = {"LC_ALL": "C", "LANG": "C", "COLUMNS": "20", "PYTHONUTF8": "0", "TERM": ""}

    ran = shell.run("-p", text, env={"FAKE": "echo", "PYTHONCOERCECLOCALE": "0"} | poor)

    assert (ran.code, ran.out, ran.err) == (0, text + "\n", "")


@pytest.mark.parametrize("closed", ["<&-", "2>&-"])
def test_a_closed_stream_that_is_not_needed_is_no_trouble(shell: Shell, closed: str) -> None:
    done = subprocess.run(
        ["sh", "-c", f'"$@" {closed}', "sh", *FAKE, "-p", "hi"],
        env=shell.environ(),
        cwd=shell.folder,
        capture_output=True,
        timeout=30,
        check=False,
    )

    assert (done.returncode, done.stdout) == (0, b"ok\n")


@pytest.mark.parametrize("target", [">&-", ">/dev/full"])
def test_a_stdout_that_cannot_be_written_is_told_and_exits_1(shell: Shell, target: str) -> None:
    done = subprocess.run(
        ["sh", "-c", f'"$@" {target}', "sh", *FAKE, "-p", "hi"],
        env=shell.environ(),
        cwd=shell.folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=30,
        check=False,
    )

    assert done.returncode == 1
    assert done.stderr.startswith(b"interlock: ")
    assert done.stderr.count(b"\n") == 1


def test_what_a_library_prints_is_no_result(shell: Shell) -> None:
    ran = shell.run("-p", "hi", env={"FAKE": "print"})

    assert (ran.out, ran.err) == ("ok\n", "a library that prints\n")


# --- signals ---------------------------------------------------------------------------------


def waiting(shell: Shell, does: str = "wait") -> subprocess.Popen[bytes]:
    process = shell.start("-p", "hi", env={"FAKE": does})
    assert process.stdin is not None
    process.stdin.close()
    process.stdin = None
    begun = (shell.folder / "started").exists
    wait_until(begun if does == "wait" else lambda: shell.transcripts, process)
    return process


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["Ctrl-C", "SIGTERM"]
)
def test_a_signal_stops_the_run_and_the_transcript_is_whole(
    shell: Shell, number: signal.Signals, code: int
) -> None:
    process = waiting(shell)
    process.send_signal(number)
    out, err = process.communicate(timeout=20)

    assert (process.returncode, out) == (code, b"")
    assert err == b"interlock: Interrupted while the model answered.\n"
    (path,) = shell.transcripts
    kinds = [message.kind for message in read_messages(path)]
    assert kinds == [Kind.PROMPT, Kind.INTERRUPTION]


def test_the_second_ctrl_c_only_tells_and_the_third_leaves_at_once(shell: Shell) -> None:
    process = waiting(shell, "stubborn")
    assert process.stderr is not None
    told = []
    for _ in range(2):
        process.send_signal(signal.SIGINT)
        told.append(process.stderr.readline())
    assert process.poll() is None

    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)

    assert (process.returncode, err) == (130, b"")
    assert told == [
        b"told to stop\n",
        b"interlock: already stopping; once more to leave at once\n",
    ]
    (path,) = shell.transcripts
    assert [message.kind for message in read_messages(path)] == [Kind.PROMPT]


def test_a_run_that_does_not_stop_is_left_before_the_sender_kills(shell: Shell) -> None:
    process = waiting(shell, "stubborn")
    began = time.monotonic()
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=20)

    assert process.returncode == 143
    assert time.monotonic() - began < 5


# --- what costs nothing ----------------------------------------------------------------------


@pytest.mark.parametrize("flag", ["--help", "-h", "--version", "-v"])
def test_help_and_version_import_nothing_heavy(shell: Shell, flag: str) -> None:
    code = (
        "import sys; from interlock.cli.main import main; code = main([sys.argv[1]]);"
        "heavy = {'anthropic', 'cattrs', 'pydantic', 'structlog', 'transitions', 'anyio', 'attr'};"
        "print(sorted(heavy & set(sys.modules)), code)"
    )
    ran = shell.run("-c", code, flag, program=(REAL[0],))

    assert ran.out.splitlines()[-1] == "[] 0"


def test_a_run_is_assembled_without_what_only_others_need(shell: Shell) -> None:
    code = (
        "import sys, interlock.assembly, interlock.cli.headless;"
        "heavy = {'anthropic', 'h11', 'html', 'mcp', 'PIL', 'prompt_toolkit', 'pydantic', 'pypdf',"
        " 'starlette', 'structlog', 'tree_sitter', 'interlock.cli.stream_json',"
        " 'interlock.recording.player', 'interlock.recording.scrub'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    ran = shell.run("-c", code, program=(REAL[0],))

    assert ran.out == "[]\n"


@pytest.mark.parametrize("flag", ["-v", "--version"])
def test_the_version_begins_with_a_number(shell: Shell, flag: str) -> None:
    assert shell.run(flag, program=REAL).out == "0.1.0 (Interlock)\n"


def test_what_help_costs_is_told(
    shell: Shell, record_property: Callable[[str, object], None]
) -> None:
    before = os.times()
    ran = shell.run("--help", program=REAL)
    after = os.times()

    assert ran.code == 0
    assert "trace RUN" in ran.out
    spent = after.children_user + after.children_system
    spent -= before.children_user + before.children_system
    record_property("help_cpu_seconds", spent)  # told, not asserted: it is the machine's too


def test_a_reader_of_help_that_leaves_is_no_trouble(shell: Shell, tmp_path: Path) -> None:
    done = subprocess.run(
        ["sh", "-c", '"$@" | true', "sh", *REAL, "--help"],
        env=shell.environ(),
        cwd=tmp_path,
        capture_output=True,
        timeout=30,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, b"")
