"""Plugins at work: what they bring is called by its name, and bound by the rules of all others."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import orjson
import pytest

from interlock import Init
from interlock.scripted import Answer, ServerThread, reply, tool_use
from interlock.testing import scene
from tests.cli.shell import REAL, Ran, Shell
from tests.cli.test_cli_interactive import seated
from tests.mcp.support import FAKE
from tests.plugins.writing import Written, plugin, runs

BYPASS = ("--permission-mode", "bypassPermissions")
STREAM = ("--output-format", "stream-json", "--verbose")
PATIENT = {"MCP_TIMEOUT": "60000", "INTERLOCK_MCP_GRACE_S": "60"}


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


@pytest.fixture
def demo(shell: Shell) -> Written:
    """In a folder whose name the shell would take for two words, and a command between them."""
    written = plugin(shell.folder / "my $(touch hit) plugins" / "demo")
    written.manifest(name="demo", version="1.0.0")
    return written


class Said:
    """A run with a plugin, and what the model was sent."""

    def __init__(self, shell: Shell, demo: Written, *answers: Answer) -> None:
        self.shell, self.demo, self.answers = shell, demo, answers or (reply("Done."),)
        self.requests: list[Any] = []

    def run(self, *arguments: str, **env: str) -> Ran:
        with ServerThread(list(self.answers)) as server:
            told = self.shell.run(
                *("-p", *arguments, "--plugin-dir", str(self.demo.folder)),
                program=REAL,
                env={"ANTHROPIC_BASE_URL": server.base_url, **PATIENT, **env},
            )
            self.requests = [request.body for request in server.requests]
        return told

    @property
    def told(self) -> str:
        """All that the model was told, as text."""
        return "\n".join(orjson.dumps(body["messages"]).decode() for body in self.requests)


def test_a_command_is_its_text_with_arguments_and_the_files_of_its_plugin(
    shell: Shell, demo: Written
) -> None:
    demo.file("names.txt", "Ada")
    demo.command(
        "greet", "Greet $1 from ${CLAUDE_PLUGIN_ROOT} and @${CLAUDE_PLUGIN_ROOT}/names.txt"
    )
    said = Said(shell, demo)

    ran = said.run("/demo:greet Bob")

    assert (ran.code, ran.out) == (0, "Done.\n")
    assert f"Greet Bob from {demo.folder} and " in said.told
    assert "1\\tAda" in said.told


def test_files_of_a_plugin_can_be_read_and_its_commands_lend_rules_for_its_scripts(
    shell: Shell, demo: Written
) -> None:
    demo.file("deep/notes.txt", "Ada")
    plain = plugin(shell.folder / "plain")
    plain.file("who", "#!/bin/sh\necho from the script\n").chmod(0o755)
    plain.command(
        "who",
        "It is !`${CLAUDE_PLUGIN_ROOT}/who`",
        allowed_tools="Bash(${CLAUDE_PLUGIN_ROOT}/who)",
    )
    said = Said(
        shell,
        demo,
        reply(tool_use("Read", {"file_path": str(demo.folder / "deep" / "notes.txt")})),
        reply("Done."),
    )
    demo.skill("pdf")

    ran = said.run("/plain:who", "--plugin-dir", str(plain.folder))

    assert ran.err == ""
    assert "It is from the script" in said.told
    assert "Ada" in str(said.requests[1]["messages"][-1])


def test_a_skill_is_listed_fetched_and_found_by_the_last_part_of_its_name(
    shell: Shell, demo: Written
) -> None:
    demo.skill("pdf", "Read ${CLAUDE_PLUGIN_ROOT}/pages.", name="other-name")
    said = Said(shell, demo, reply(tool_use("Skill", {"skill": "pdf"})), reply("Done."))

    said.run("go")

    assert "- demo:pdf: Use it for pdf." in said.told
    assert f"Read {demo.folder}/pages." in said.told


def test_an_agent_is_started_by_its_name_and_told_its_prompt(shell: Shell, demo: Written) -> None:
    demo.agent("reviewer", "You review for ${CLAUDE_PLUGIN_ROOT}.", description="Reviews.")
    call = {"description": "d", "prompt": "Look.", "subagent_type": "demo:reviewer"}
    said = Said(shell, demo, reply(tool_use("Agent", call)), reply("Fine."), reply("Done."))

    said.run("go")

    assert f"You review for {demo.folder}." in str(said.requests[1]["system"])


def test_an_agent_gets_no_rights_hooks_or_servers_from_its_plugin(
    shell: Shell, demo: Written
) -> None:
    path = demo.agent(
        "eager", description="e", permissionMode="bypassPermissions", color="green", hooks="{a: 1}"
    )
    call = {"description": "d", "prompt": "p", "subagent_type": "demo:eager"}
    write = reply(tool_use("Bash", {"command": "touch made"}))
    said = Said(shell, demo, reply(tool_use("Agent", call)), write, reply("No."), reply("Done."))

    ran = said.run("go")

    assert not (shell.folder / "made").exists()
    assert ran.err.splitlines() == [
        f"interlock: plugin demo: {path}:5: hooks has no effect in an agent of a plugin",
        f"interlock: plugin demo: {path}:3: permissionMode has no effect in an agent of a plugin",
    ]


def test_hooks_run_with_the_plugins_folder_whatever_it_is_called(
    shell: Shell, demo: Written
) -> None:
    demo.file("check", 'echo "$1: $CLAUDE_PLUGIN_ROOT" >> "$2/log"')
    line = 'sh "${CLAUDE_PLUGIN_ROOT}/check" '
    demo.hooks(
        SessionStart=[runs(f'{line} start "$CLAUDE_PROJECT_DIR"')],
        Stop=[runs(f'{line} stop "$CLAUDE_PROJECT_DIR"')],
    )

    Said(shell, demo).run("go")

    log = (shell.folder / "log").read_text().splitlines()
    assert log == [f"start: {demo.folder}", f"stop: {demo.folder}"]
    assert not (shell.folder / "hit").exists()


def test_the_same_hook_of_two_plugins_runs_for_each(shell: Shell, demo: Written) -> None:
    other = plugin(shell.folder / "other")
    for each in (demo, other):
        each.hooks(Stop=[runs('echo "$CLAUDE_PLUGIN_ROOT" >> log')])

    Said(shell, demo).run("go", "--plugin-dir", str(other.folder))

    assert set((shell.folder / "log").read_text().splitlines()) == {
        str(demo.folder),
        str(other.folder),
    }


def test_a_plain_folder_stands_in_single_quotes_too(shell: Shell) -> None:
    plain = plugin(shell.folder / "plain")
    plain.hooks(Stop=[runs("echo '${CLAUDE_PLUGIN_ROOT}' > log")])

    Said(shell, plain).run("go")

    assert (shell.folder / "log").read_text() == f"{plain.folder}\n"


def test_where_settings_switch_hooks_off_those_of_plugins_are_too(
    shell: Shell, demo: Written
) -> None:
    demo.hooks(Stop=[runs("touch ran")])

    Said(shell, demo).run("go", "--settings", '{"disableAllHooks": true}')

    assert not (shell.folder / "ran").exists()


def test_hooks_that_cannot_be_understood_cost_a_line_each_and_no_others(
    shell: Shell, demo: Written
) -> None:
    demo.hooks(
        Stop=[runs("touch first"), {"hooks": [{"type": "prompt"}]}, runs("touch last")],
        Sleeping=[runs("true")],
        PreToolUse="x",
    )

    ran = Said(shell, demo).run("go")

    assert (shell.folder / "first").exists()
    assert (shell.folder / "last").exists()
    lines = ran.err.splitlines()
    assert ["hooks.Stop[1].hooks[0].type" in lines[0], "Sleeping" in lines[1]] == [True, True]
    assert "hooks.PreToolUse" in lines[2]
    assert all(line.startswith("interlock: plugin demo: ") for line in lines)
    assert len(lines) == 3


def with_server(demo: Written, mode: str = "readonly") -> None:
    demo.file("server.py", FAKE.read_text())
    args = ["-S", "${CLAUDE_PLUGIN_ROOT}/server.py", mode]
    demo.servers(echo={"command": sys.executable, "args": args, "trusted": True})


CALL = reply(tool_use("mcp__plugin_demo_echo__echo", {"text": "hello"}))


@pytest.mark.parametrize(
    ("rules", "allowed"),
    [
        ((), False),
        (("--allowedTools", "mcp__plugin_demo_echo"), True),
        (("--allowedTools", "mcp__plugin_demo_echo__echo"), True),
        (
            ("--permission-mode", "bypassPermissions", "--disallowedTools", "mcp__plugin_demo"),
            True,
        ),
        (
            (
                "--permission-mode",
                "bypassPermissions",
                "--disallowedTools",
                "mcp__plugin_demo_echo",
            ),
            False,
        ),
    ],
)
def test_tools_of_its_servers_have_its_name_and_need_permission(
    shell: Shell, demo: Written, rules: tuple[str, ...], allowed: bool
) -> None:
    with_server(demo)
    said = Said(shell, demo, CALL, reply("Done."))

    ran = said.run("go", *STREAM, *rules)

    denials = ran.lines[-1]["permission_denials"]
    assert (denials == []) is allowed, denials


def test_servers_of_plugins_are_not_there_where_only_those_of_a_flag_are_wanted(
    shell: Shell, demo: Written
) -> None:
    with_server(demo)

    ran = Said(shell, demo).run("go", *STREAM, "--strict-mcp-config")

    assert ran.lines[0]["mcp_servers"] == []


def test_what_cannot_be_used_is_told_and_all_else_goes_on(shell: Shell, demo: Written) -> None:
    demo.command("greet")
    demo.skill("greet")
    demo.agent("none")
    bad = demo.file("commands/bad.md", b"\0")
    servers = demo.servers(db={"command": 3}, far={"command": "${NOT_SET}"})

    ran = Said(shell, demo).run("go", *STREAM)

    init = ran.lines[0]
    assert init["plugins"] == [{"name": "demo", "path": str(demo.folder)}]
    assert init["slash_commands"] == ["demo:greet"]
    assert [one["type"] for one in init["plugin_errors"]] == [
        *("component-load-failed",) * 3,
        *("mcp-config-invalid",) * 2,
    ]
    words = [one["message"] for one in init["plugin_errors"]]
    assert words[0] == f"{bad}: it is no text; it is left out"
    assert words[1].endswith("a second demo:greet, left out; rename one")
    assert words[3].startswith(f"{servers}:1:16: 'db' has no command")
    assert ran.err.splitlines() == [f"interlock: plugin demo: {each}" for each in words]
    assert ran.lines[-1]["result"] == "Done."


def test_all_of_it_is_listed_in_init_and_nothing_without_plugins(
    shell: Shell, demo: Written
) -> None:
    demo.command("greet")
    demo.skill("pdf")
    demo.agent("reviewer", description="Reviews.")

    init = Said(shell, demo).run("go", *STREAM, "--setting-sources=").lines[0]

    assert init["slash_commands"] == ["demo:greet", "demo:pdf"]
    assert "demo:pdf" in init["skills"]
    assert init["agents"][-1] == "demo:reviewer"
    assert "plugin_errors" not in init


@pytest.mark.parametrize("given", [("--plugin-dir", "gone"), ("--plugin-dir=gone",)])
def test_a_folder_that_is_not_there_is_refused(shell: Shell, given: tuple[str, ...]) -> None:
    ran = shell.run("-p", "go", *given, program=REAL)

    assert (ran.code, ran.out) == (1, "")
    assert ran.err == "interlock: no such folder: gone (--plugin-dir)\n"


def test_a_folder_may_be_written_from_the_users_own(shell: Shell, demo: Written) -> None:
    demo.command("greet")
    below = demo.folder.relative_to(shell.folder)

    ran = shell.run("skills", f"--plugin-dir=~/{below}", program=REAL)

    assert ran.out.splitlines()[0] == "/demo:greet: no description"


def test_lists_say_which_plugin_something_comes_from(shell: Shell, demo: Written) -> None:
    greet = demo.command("greet", description="Greets.")
    demo.agent("reviewer", description="Reviews.")
    demo.file(".mcp.json", "x")
    flags = ("--plugin-dir", str(demo.folder))

    skills = shell.run("skills", *flags, program=REAL)
    agents = shell.run("agents", *flags, program=REAL)

    assert skills.out.splitlines()[:2] == [
        "/demo:greet: Greets.",
        f"  plugin demo command, for you and the model; {greet}",
    ]
    assert skills.out.splitlines()[2].startswith(f"! plugin demo: {demo.folder}/.mcp.json:1:1: ")
    assert "demo:reviewer  (plugin demo)" in agents.out.splitlines()
    assert (skills.code, agents.code) == (1, 1)


def test_at_the_terminal_they_are_listed_with_their_plugin_and_called(
    shell: Shell, demo: Written
) -> None:
    demo.command("greet", "Greet them.", description="Greets.")

    flags = ("--plugin-dir", str(demo.folder))
    with seated(shell, [reply("Hello, you.")], *flags) as (person, server):
        person.sees("/help lists the commands")
        person.types("/help\r")
        person.sees("Greets. (plugin demo)")
        person.types("/demo:greet\r")
        person.sees("Hello, you.")
        person.types("/exit\r")
        assert person.ends() == 0

        assert "Greet them." in str(server.requests[0].body["messages"])


async def test_a_program_gives_plugins_as_folders(tmp_path: Path) -> None:
    demo = plugin(tmp_path / "demo")
    demo.command("greet", "Greet them.")
    demo.file("hooks/hooks.json", "{")

    async with scene([reply("Hello.")], tmp_path) as place:
        ran = await place.run("/demo:greet", place.options(plugins=demo.folder.as_posix()))
        sent = str(place.server.requests[0].body["messages"])

    (init,) = (one for one in ran.messages if isinstance(one, Init))
    assert (init.plugins, init.commands) == (("demo",), ("demo:greet",))
    assert "Greet them." in sent
