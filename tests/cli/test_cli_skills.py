"""Skills and commands on the command line: `interlock skills`, `-p "/name"`, at the terminal."""

from __future__ import annotations

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from interlock.cli.completing import Completing
from interlock.scripted import ServerThread, reply
from tests.agent.support import sent
from tests.cli.shell import REAL, Shell
from tests.cli.test_cli_interactive import seated
from tests.skills.writing import command, skill


def test_all_are_listed_with_their_origin_and_what_is_odd(shell: Shell) -> None:
    mine = shell.folder / ".claude"
    review = skill(shell.home, "review", description="How reviews are done.", colour="red")
    taken = skill(mine, "review")
    fix = command(mine, "fix", argument_hint="[issue]")
    bad = command(mine, "bad")
    bad.write_bytes(b"\0")

    ran = shell.run("skills", program=REAL)

    assert (ran.code, ran.err) == (1, "")
    assert ran.out.splitlines() == [
        "/fix [issue]: no description",
        f"  project command, for you alone; {fix}",
        "/review: How reviews are done.",
        f"  user skill, for you and the model; {review}",
        f"! {taken}: not used, user skill /review goes before it",
        f"! {review}:3: colour: no such key, it has no effect",
        f"! {bad}: it is no text",
    ]


def test_one_called_like_a_command_of_the_program_is_said_to_be_hidden(shell: Shell) -> None:
    mine = shell.folder / ".claude"
    help_, model = skill(mine, "help"), command(mine, "model")

    ran = shell.run("skills", program=REAL)

    assert ran.out.splitlines()[-2:] == [
        f"! {help_}: /help is a command of interlock itself; the model alone can use it",
        f"! {model}: /model is a command of interlock itself; nobody can use it",
    ]


def test_one_that_must_not_be_read_is_left_out_and_named(shell: Shell) -> None:
    path = skill(shell.folder / ".claude", "key")
    settings = shell.folder / ".claude" / "settings.json"
    settings.write_text('{"permissions": {"deny": ["Read(.claude/skills/key/**)"]}}')

    ran = shell.run("skills", program=REAL)

    assert "/key" not in ran.out.splitlines()[0]
    assert f"! {path}: left out: the rule Read(.claude/skills/key/**) (" in ran.out


def test_without_any_it_says_where_they_lie(shell: Shell) -> None:
    ran = shell.run("skills", program=REAL)

    assert (ran.code, ran.out.startswith("no skills and no commands: they lie in")) == (0, True)


def test_a_command_is_run_headless(shell: Shell) -> None:
    command(shell.folder / ".claude", "fix", "Fix issue $1.")
    with ServerThread([reply("Fixed.")]) as server:
        env = {"ANTHROPIC_BASE_URL": server.base_url}
        ran = shell.run("-p", "/fix 12", program=REAL, env=env)

        assert (ran.code, ran.out) == (0, "Fixed.\n")
        assert "Fix issue 12." in str(sent(server.requests[0]))


@pytest.mark.parametrize(
    ("prompt", "line"),
    [
        ("/fx 12", "no command /fx; did you mean /fix?"),
        ("/exit", "/exit is a command of the session at a terminal"),
        ("/make", "make was not run: its command `touch made`: "),
    ],
)
def test_what_cannot_be_run_is_one_line_and_no_request(
    shell: Shell, prompt: str, line: str
) -> None:
    command(shell.folder / ".claude", "fix")
    command(shell.folder / ".claude", "make", "!`touch made`")
    with ServerThread([]) as server:
        env = {"ANTHROPIC_BASE_URL": server.base_url}
        ran = shell.run("-p", prompt, program=REAL, env=env)

        assert (ran.code, ran.out, len(server.requests)) == (1, "", 0)
    assert line in ran.err
    assert len(ran.err.splitlines()) == 1
    assert "Do not try" not in ran.err  # which is a word for the model


def test_a_denied_command_says_to_a_person_what_permits_it(shell: Shell) -> None:
    command(shell.folder / ".claude", "make", "!`touch made`")

    ran = shell.run("-p", "/make", program=REAL)

    assert ran.err == (
        "interlock: make was not run: its command `touch made`: commands need approval, and this"
        " session runs without anyone to ask. (Permit it with --allowedTools 'Bash' or with"
        " --permission-mode.)\n"
    )


def test_at_the_terminal_they_are_listed_completed_and_run(shell: Shell) -> None:
    mine = shell.folder / ".claude"
    command(mine, "fix", "Fix issue $1.", description="Fixes one.", argument_hint="[issue]")
    with seated(shell, [reply("Fixed it.")]) as (person, server):
        person.sees("/help lists the commands")
        person.types("/help\r")
        person.sees("/fix [issue]")
        person.sees("Fixes one. (project)")
        person.types("/fxi 12\r")
        person.sees("! no command /fxi; did you mean /fix?")
        person.types("/fi\t")
        person.sees("/fi")
        person.sees("x")  # completed
        person.types(" 12\r")
        person.sees("Fixed it.")
        person.types("/exit\r")
        assert person.ends() == 0

        assert "Fix issue 12." in str(sent(server.requests[0]))


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("/", ["cost", "fix"]),
        ("/f", ["fix"]),
        ("look at /f", []),
        ("see @", ["docs/", "x.md"]),
        ("see @docs/r", ["readme.md"]),
        ("see @.h", [".hidden"]),
        ("ada@d", []),
        ("see @none/", []),
    ],
)
def test_the_tab_key_offers_commands_and_files(
    shell: Shell, line: str, offered: list[str]
) -> None:
    (shell.folder / "docs").mkdir()
    for name in ("docs/readme.md", "x.md", ".hidden"):
        (shell.folder / name).write_text("")
    completing = Completing(lambda: {"fix": "Fixes.", "cost": "Costs."}, shell.folder)

    found = completing.get_completions(Document(line), CompleteEvent())

    assert [one.text for one in found] == offered
