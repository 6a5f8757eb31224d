"""How flags may be spelled, and what happens to those that cannot be."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from interlock.cli.flags import MODES, parse, run_parser, words_of
from interlock.cli.headless import options_of
from interlock.errors import UsageError
from interlock.options import Options, PermissionMode
from tests.cli.shell import FAKE, Shell


def options(*argv: str) -> Options:
    return options_of(parse(argv))


def test_every_flag_reaches_the_agent(tmp_path: Path) -> None:
    asked = options(
        *("-p", "hi", "--cwd", str(tmp_path), "--model", "m", "--fallback-model", "a,b"),
        *("--max-turns", "3", "--max-budget-usd", "0.5", "--system-prompt", ""),
        *("--append-system-prompt", "be kind", "--tools", "Read,Bash", "--permission-mode"),
        *("acceptEdits", "--allowedTools", "Read", "--disallowedTools", "Bash(rm:*)"),
        *("--session-id", "00000000-0000-4000-8000-00000000000A"),
        "--include-partial-messages",
    )

    assert asked == Options(
        cwd=tmp_path,
        model="m",
        fallback_models=("a", "b"),
        max_turns=3,
        max_budget_usd=0.5,
        system_prompt="",
        append_system_prompt="be kind",
        tools=("Read", "Bash"),
        allowed_tools=("Read",),
        disallowed_tools=("Bash(rm:*)",),
        permission_mode=PermissionMode.ACCEPT_EDITS,
        session_id="00000000-0000-4000-8000-00000000000a",
        include_partial_messages=True,
    )


@pytest.mark.parametrize(
    "argv",
    [
        ["--allowedTools", "Read,Bash(git log:*, x)"],
        ["--allowedTools=Read,Bash(git log:*, x)"],
        ["--allowed-tools", "Read Bash(git log:*, x)"],
        ["--allowed-tools=Read", "--allowedTools=Bash(git log:*, x)"],
        ["--allowedTools", "Read", "Bash(git log:*, x)", "--verbose"],
    ],
)
def test_a_list_may_be_spelled_in_many_ways(argv: list[str]) -> None:
    assert options("-p", "hi", *argv).allowed_tools == ("Read", "Bash(git log:*, x)")


def test_an_empty_list_of_tools_offers_none_and_default_offers_all() -> None:
    assert options("hi", "--tools", "").tools == ()
    assert options("hi", "--tools", "default").tools is None
    assert options("hi").tools is None


def test_an_unclosed_parenthesis_keeps_the_rest_together() -> None:
    assert words_of(["Bash(a, b", ") , Read"]) == ("Bash(a, b", ")", "Read")


@pytest.mark.parametrize(
    ("argv", "prompt"),
    [
        (["-p", "hi"], "hi"),
        (["hi", "-p"], "hi"),
        (["--print", "--", "--not a flag"], "--not a flag"),
        (["-p", "--", "--version"], "--version"),
        (["-p", "- a list"], "- a list"),
        (["--allowedTools", "Read", "--", "do it"], "do it"),
        (["fix", "the", "bug", "--verbose"], "fix the bug"),
        (["fix", "--verbose", "it"], "fix it"),
        (["-p"], None),
        (["-p", ""], ""),
    ],
)
def test_the_prompt_is_what_no_flag_takes(argv: list[str], prompt: str | None) -> None:
    assert parse(argv).prompt == prompt


@pytest.mark.parametrize(
    ("argv", "line"),
    [
        (["--max-turn", "3"], "unknown flag --max-turn; did you mean --max-turns?"),
        (["--frobnicate=3"], "unknown flag --frobnicate; see interlock --help"),
        (["hi", "--max-turns", "0"], "argument --max-turns: '0' is no whole number from 1 up"),
        (["hi", "--max-budget-usd=-1"], "'-1' is no amount above 0"),
        (["hi", "--permission-mode", "yolo"], "invalid choice: 'yolo'"),
        (["hi", "--session-id", "x"], "'x' is no UUID"),
        (["hi", "--model", " "], "argument --model: is empty"),
        (["hi", "--output-format", "stream-json"], "stream-json needs --verbose"),
    ],
)
def test_a_flag_that_cannot_be_is_named(argv: list[str], line: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(argv)

    assert line in str(caught.value)


def test_the_modes_of_the_flag_are_those_of_the_agent() -> None:
    assert tuple(mode.value for mode in PermissionMode) == MODES


def test_a_folder_that_is_not_there_is_refused() -> None:
    with pytest.raises(UsageError, match=r"no such folder: /nowhere \(--cwd\)"):
        options("hi", "--cwd", "/nowhere")


def test_an_empty_folder_is_no_folder() -> None:
    with pytest.raises(UsageError, match="--cwd is empty"):
        options("hi", "--cwd", "")


@pytest.mark.parametrize("code", ["129 hangup", "130 Ctrl-C", "141 reader gone", "143 SIGTERM"])
def test_help_names_every_exit_code_and_the_way_out_at_once(code: str) -> None:
    told = run_parser().format_help()

    assert code in told
    assert "a third leaves at once" in told


def test_a_bad_flag_leaves_stdout_empty_and_exits_1(shell: Shell) -> None:
    ran = shell.run("--max-turn", "3", "hi")

    assert (ran.code, ran.out) == (1, "")
    assert ran.err == "interlock: unknown flag --max-turn; did you mean --max-turns?\n"


# --- the prompt ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argv", "stdin", "prompt"),
    [
        ([], b"from the pipe\n", "from the pipe"),
        (["-p"], b"from the pipe\n", "from the pipe"),
        (["-p", "sum up:"], b"a\nb\n", "sum up:\n\na\nb"),
        (["-p", "hi"], b"", "hi"),
        (["-p", "caf\u00e9"], b"\xff\xc3\xa9", "caf\u00e9\n\n\ufffd\u00e9"),
    ],
)
def test_argument_and_standard_input_make_one_prompt(
    shell: Shell, argv: list[str], stdin: bytes, prompt: str
) -> None:
    ran = shell.run(*argv, stdin=stdin, env={"FAKE": "echo"})

    assert (ran.code, ran.out) == (0, prompt + "\n")


def test_a_file_on_standard_input_is_read_whole(shell: Shell) -> None:
    (shell.folder / "input").write_text("x" * 100_000)
    done = subprocess.run(
        ["sh", "-c", '"$@" < input', "sh", *FAKE, "-p", "count"],
        env=shell.environ(FAKE="echo"),
        cwd=shell.folder,
        capture_output=True,
        timeout=30,
        check=False,
    )

    assert done.stdout.decode() == "count\n\n" + "x" * 100_000 + "\n"


@pytest.mark.parametrize("argv", [["-p", ""], ["-p"], [], ["-p", " \n"]])
def test_no_prompt_is_refused_before_any_request(shell: Shell, argv: list[str]) -> None:
    ran = shell.run(*argv)

    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("interlock: no prompt: give one as an argument or on standard input")
    assert shell.transcripts == []


def test_a_prompt_that_a_list_flag_took_is_missed_with_a_hint(shell: Shell) -> None:
    ran = shell.run("-p", "--allowedTools", "Read", "do it")

    assert ran.err == (
        "interlock: no prompt: --allowedTools takes every word behind it; put the prompt first, "
        "or behind a --\n"
    )
