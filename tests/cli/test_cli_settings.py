"""Settings files as a user of the command line meets them, against a scripted model."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from interlock.scripted import Answer, ServerThread, reply, tool_use
from phases.world.messages import Json
from tests.cli.shell import REAL, Ran, Shell

STREAM = ("--output-format", "stream-json", "--verbose")


def write(path: Path, content: Json) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content, indent=1))


def against(
    shell: Shell, answers: Sequence[Answer], *argv: str, env: Mapping[str, str] | None = None
) -> tuple[Ran, list[Json]]:
    """Run the program; what it did, and the bodies of its requests."""
    with ServerThread(answers) as server:
        whole = {"ANTHROPIC_BASE_URL": server.base_url, **(env or {})}
        ran = shell.run("-p", "go", *argv, program=REAL, env=whole)
        return ran, [request.body for request in server.requests]


def results(bodies: list[Json]) -> list[str]:
    """What the model was told about its calls, in the last request."""
    blocks = [block for message in bodies[-1]["messages"] for block in message["content"]]
    return [json.dumps(block["content"]) for block in blocks if block["type"] == "tool_result"]


@pytest.fixture
def project(shell: Shell) -> Path:
    """The working folder, with something to protect in it."""
    for name in (".env", "sub/.env.local", "secrets/a", "open.txt"):
        write(shell.folder / name, f"KEY of {name}")
    (shell.folder / "link").symlink_to(".env")
    return shell.folder


DENY_PATHS = {
    "permissions": {
        "allow": ["Read"],
        "deny": ["Read(./.env)", "Read(**/.env*)", "Read(secrets/**)"],
    }
}


def test_deny_rules_of_a_file_bind_from_the_first_call_whatever_the_path_is_called(
    shell: Shell, project: Path
) -> None:
    write(project / ".claude" / "settings.json", DENY_PATHS)
    named = [
        *(f"{project}/.env", "./.env", ".env", f"{project}/sub/.env.local"),
        *(f"{project}/sub/../.env", f"{project}//.env", f"{project}/secrets/a", f"{project}/link"),
    ]
    calls = [tool_use("Read", {"file_path": path}) for path in named]
    search = tool_use("Grep", {"pattern": "KEY", "path": str(project), "output_mode": "content"})
    edit = tool_use("Edit", {"file_path": f"{project}/.env", "old_string": "K", "new_string": "k"})

    # The recording of the run would lie in the folder that is searched, and name the files.
    ran, bodies = against(shell, [reply(*calls, search, edit), reply("done")], "--no-record")

    *reads, found, edited = results(bodies)
    assert ran.code == 0
    assert len(reads) == len(named)
    assert not any("KEY" in read for read in [*reads, edited])
    assert "KEY of open.txt" in found
    assert ".env" not in found
    assert "secrets" not in found


def test_they_bind_a_session_in_a_subfolder_too(shell: Shell, project: Path) -> None:
    (project / ".git").mkdir()
    write(project / ".claude" / "settings.json", DENY_PATHS)
    named = [f"{project}/.env", f"{project}/secrets/a", f"{project}/sub/.env.local"]
    calls = [tool_use("Read", {"file_path": path}) for path in named]

    flags, env = ("--cwd", "sub", "--allowedTools", "Read"), {"HOME": str(shell.home)}
    ran, bodies = against(shell, [reply(*calls), reply("done")], *flags, env=env)

    assert ran.code == 0
    assert not any("KEY" in result for result in results(bodies))


def test_an_allow_rule_and_variables_of_files_reach_commands(shell: Shell) -> None:
    write(shell.home / "settings.json", {"env": {"COLOUR": "green", "PAGER": "less"}})
    write(
        shell.folder / ".claude" / "settings.json",
        {"permissions": {"allow": ["Bash(printenv:*)"]}, "env": {"SIZE": "large"}},
    )
    call = tool_use("Bash", {"command": "printenv COLOUR SIZE"})

    _, bodies = against(shell, [reply(call), reply("done")], env={"COLOUR": "red"})

    (result,) = results(bodies)
    assert "green\\nlarge" in result


def test_the_mode_and_the_model_of_a_file_count(shell: Shell) -> None:
    write(
        shell.folder / ".claude" / "settings.local.json",
        {"model": "claude-x", "permissions": {"defaultMode": "acceptEdits"}},
    )
    call = tool_use("Write", {"file_path": str(shell.folder / "new.txt"), "content": "hi"})

    _, bodies = against(shell, [reply(call), reply("done")])

    assert (shell.folder / "new.txt").read_text() == "hi"
    assert bodies[0]["model"] == "claude-x"


def test_a_further_folder_counts_as_the_working_folder_does(shell: Shell, tmp_path: Path) -> None:
    write(tmp_path / "beside" / "notes.txt", "milk")
    work = tmp_path / "work"
    work.mkdir()
    write(
        work / ".claude" / "settings.json",
        {"permissions": {"additionalDirectories": ["../beside"]}},
    )
    call = tool_use("Read", {"file_path": str(tmp_path / "beside" / "notes.txt")})

    _, bodies = against(shell, [reply(call), reply("done")], "--cwd", str(work))

    (result,) = results(bodies)
    assert "milk" in result


def test_settings_may_be_given_on_the_command_line(shell: Shell) -> None:
    write(shell.home / "settings.json", {"model": "of-the-user"})

    _, given = against(shell, [reply("hi")], "--settings", '{"model": "of-the-flag"}')
    _, none = against(shell, [reply("hi")], "--setting-sources", "")

    assert given[0]["model"] == "of-the-flag"
    assert none[0]["model"] not in ("of-the-user", "of-the-flag")


def test_the_key_may_come_from_a_helper(shell: Shell) -> None:
    write(shell.home / "settings.json", {"apiKeyHelper": "echo key-of-helper"})

    ran, bodies = against(shell, [reply("hi")], env={"ANTHROPIC_API_KEY": ""})

    assert (ran.code, len(bodies)) == (0, 1)


def test_bad_settings_are_refused_at_the_start_a_line_each(shell: Shell) -> None:
    write(shell.home / "settings.json", '{"model": "m",}')
    write(
        shell.folder / ".claude" / "settings.json",
        {"permissons": {"deny": ["Read(.env)"]}},
    )

    ran, bodies = against(shell, [reply("hi")])

    where = "interlock: .claude/settings.json"
    assert (ran.code, ran.out, bodies, shell.transcripts) == (1, "", [], [])
    assert ran.err.splitlines() == [
        f'{where}:2:2: permissons is no setting; rules stand in "permissions"',
        "interlock: home/settings.json:1:14: a comma before }; take the comma out",
    ]


def test_a_rule_that_cannot_be_read_is_refused_with_file_and_line(shell: Shell) -> None:
    write(shell.folder / ".claude" / "settings.json", {"permissions": {"deny": ["Bash(rm"]}})

    ran, bodies = against(shell, [reply("hi")])

    assert (ran.code, bodies) == (1, [])
    assert ran.err.startswith("interlock: .claude/settings.json:4:4: permissions.deny: 'Bash(rm'")


def test_what_is_left_out_is_told_and_the_run_goes_on(shell: Shell) -> None:
    write(
        shell.folder / ".claude" / "settings.json",
        {"permissions": {"defaultMode": "bypassPermissions"}, "env": {"PATH": "/x"}},
    )

    ran, bodies = against(shell, [reply("hi")])

    where, why = "interlock: .claude/settings.json", "is not taken from files of a project"
    assert (ran.code, ran.out, len(bodies)) == (0, "hi\n", 1)
    assert ran.err.splitlines() == [
        f"{where}:3:18: permissions.defaultMode bypassPermissions {why}",
        f"{where}:6:11: env.PATH {why}; put it into your own settings",
    ]


def test_an_unknown_source_is_refused(shell: Shell) -> None:
    ran = shell.run("-p", "go", "--setting-sources", "user,team", program=REAL)

    assert (ran.code, ran.out) == (1, "")
    assert ran.err == (
        "interlock: --setting-sources: no source 'team'; choose from user,project,local\n"
    )


def test_a_rule_with_a_misspelt_tool_is_warned_of_with_its_line(shell: Shell) -> None:
    rules = {"permissions": {"deny": ["bash(rm:*)", "TheirTool"]}}
    write(shell.folder / ".claude" / "settings.json", rules)

    ran, _ = against(shell, [reply("fine")])

    assert ran.code == 0
    assert "'bash(rm:*)' matches nothing: no tool is called bash; Bash is" in ran.err
    assert "settings.json:" in ran.err
