"""`interlock memory`: what the model is told, from where, how large; `/memory` tells the same."""

from __future__ import annotations

import os

import pytest

from interlock.home import project_key
from tests.cli.shell import REAL, Shell
from tests.cli.test_cli_interactive import seated

CUT = (
    "only its beginning stands here: 200 of 201 lines, 1,400 of 1,407 bytes. Make the index "
    "shorter, or Read the rest"
)
BINARY = "it is no text, and left out"


def test_every_file_is_listed_with_its_origin_and_size(shell: Shell) -> None:
    (shell.folder / "CLAUDE.md").write_text("Use tabs. @more.md\n")
    (shell.folder / "more.md").write_text("More.")
    (shell.folder / "AGENTS.md").write_bytes(b"\0")
    (shell.folder / "sub").mkdir()
    (shell.folder / "sub" / "CLAUDE.md").write_text("Sub.")
    memory = shell.home / "projects" / project_key(shell.folder) / "memory"
    memory.mkdir(parents=True)
    (memory / "MEMORY.md").write_text("- fact\n" * 201)
    (memory / "topic.md").write_text("Topic.")

    ran = shell.run("memory", "sub", program=REAL)

    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines() == [
        f"memory: {memory}",
        f"  MEMORY.md: 201 lines, 1,407 bytes, about 350 tokens ({CUT})",
        "  topic.md: 6 bytes, read on demand",
        "note files, from the first request on",
        f"  {shell.folder}/CLAUDE.md: project, 19 bytes, about 4 tokens",
        f"  {shell.folder}/more.md: imported by {shell.folder}/CLAUDE.md, 5 bytes, about 1 tokens",
        f"  {shell.folder}/AGENTS.md: project, 1 byte, about 0 tokens ({BINARY})",
        "note files of what was worked with",
        f"  {shell.folder}/sub/CLAUDE.md: project, 4 bytes, about 1 tokens",
    ]


def test_what_is_no_file_and_what_a_rule_keeps_back_is_named(shell: Shell) -> None:
    (shell.folder / "CLAUDE.md").write_text("Use tabs. @.env\n")
    (shell.folder / ".env").write_text("SECRET=1")
    rules = shell.folder / ".claude" / "rules"
    rules.mkdir(parents=True)
    (rules / "odd.md").write_text("---\npaths: 5\n---\nOdd.")
    memory = shell.home / "projects" / project_key(shell.folder) / "memory"
    memory.mkdir(parents=True)
    os.mkfifo(memory / "MEMORY.md")
    settings = '{"permissions": {"deny": ["Read(.env)"]}}'

    ran = shell.run("memory", "--settings", settings, program=REAL)

    assert (ran.code, ran.err) == (0, "")
    assert "  MEMORY.md: it is a pipe, and no file\n" in ran.out
    assert "(@.env is left out: the rule Read(.env) (" in ran.out
    assert f"{rules}/odd.md: rule (paths: 5 is no pattern of files" in ran.out


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("nope", "no such file or folder: nope"),
        ("/etc", "/etc lies outside the project {folder}: no notes belong to it"),
        ("..", ".. lies outside the project {folder}: no notes belong to it"),
    ],
)
def test_a_path_that_no_note_can_belong_to_is_refused(shell: Shell, path: str, why: str) -> None:
    ran = shell.run("memory", path, program=REAL)

    assert (ran.code, ran.out) == (1, "")
    assert ran.err == f"interlock: {why.format(folder=shell.folder)}\n"


def test_settings_exclude_files_and_switch_the_memory_off(shell: Shell) -> None:
    (shell.folder / "CLAUDE.md").write_text("Use tabs.")
    settings = '{"claudeMdExcludes": ["CLAUDE.md"], "autoMemoryEnabled": false}'

    ran = shell.run("memory", "--settings", settings, program=REAL)

    assert ran.out.splitlines() == [
        "memory: switched off",
        "note files, from the first request on",
        "  none: CLAUDE.md and AGENTS.md are looked for from the top of the project down",
    ]


def test_a_repository_can_neither_switch_it_on_nor_move_it(shell: Shell) -> None:
    (shell.folder / ".claude").mkdir()
    (shell.folder / ".claude" / "settings.json").write_text(
        '{"autoMemoryEnabled": true, "autoMemoryDirectory": "/etc"}'
    )
    shell.home.mkdir()
    (shell.home / "settings.json").write_text('{"autoMemoryEnabled": false}')

    ran = shell.run("memory", program=REAL)

    assert ran.out.startswith("memory: switched off\n")
    assert "autoMemoryEnabled is switched on by the user's own settings only" in ran.err
    assert "autoMemoryDirectory is not taken from files of a project" in ran.err


def test_at_the_terminal_it_is_told_too(shell: Shell) -> None:
    (shell.folder / "CLAUDE.md").write_text("Use tabs.")
    with seated(shell, []) as (person, _):
        person.sees("/help lists the commands")
        person.types("/memory\r")
        person.sees("note files, from the first request on")
        person.sees("CLAUDE.md: project, 9 bytes")
        person.types("/context\r")
        person.sees("before the conversation, in this order: system prompt ")
        for name in ("memory ", "environment ", "tools ", "note files "):
            person.sees(f", {name}")
        person.types("/exit\r")
        assert person.ends() == 0
