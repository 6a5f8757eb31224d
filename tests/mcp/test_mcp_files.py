"""Which servers a session has: files, flags, trust, and the commands that change the files."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from attrs import define

from interlock.errors import ConfigurationError
from interlock.mcp import BadDefinition, Scope, parsed
from interlock.mcp_files import Allowed, servers
from interlock.scripted import ScriptedServer
from interlock.settings import Settings
from interlock.tools import Person, UserAnswer, UserQuestion
from tests.agent.support import Room, tell
from tests.cli.shell import REAL, Shell
from tests.mcp.support import FAKE, Answering, calls, tools_of


@define
class Typing:
    """A person who answers in these words, one after another."""

    left: list[str]

    async def answer(self, questions: Sequence[UserQuestion]) -> Sequence[UserAnswer] | None:
        return [UserAnswer(words=self.left.pop(0)) for _ in questions]


def write(path: Path, **named: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"mcpServers": named}))


def names(found: Any) -> tuple[list[str], list[str]]:
    return [one.name for one in found.definitions], [one.name for one in found.unstarted]


def test_variables_are_filled_in_and_a_missing_one_is_told() -> None:
    raw = {"command": "${WHERE:-/bin}/x", "args": ["${A}", "${B:-}"], "env": {"K": "${A}"}}

    made = parsed("s", raw, scope=Scope.USER, environ={"A": "1"})

    assert (made.command, made.args, dict(made.env)) == ("/bin/x", ("1", ""), {"K": "1"})
    with pytest.raises(BadDefinition, match=r"names \$\{A\}, which is not set"):
        parsed("s", raw, scope=Scope.USER, environ={})


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        ([], "is no object"),
        ({}, "has no command"),
        ({"type": "smoke"}, "stdio, http, sse"),
        ({"type": ["stdio"]}, "stdio, http, sse"),
        ({"type": "http", "url": "https://x", "oauth": {"grant": [1]}}, "has the grant"),
        ({"type": "http", "url": "ftp://x"}, "begins with https"),
        ({"command": "x", "args": "y"}, "list of strings"),
        ({"command": "x", "url": "http://x"}, "does not know"),
        ({"command": "x", "timeout": 0}, "milliseconds"),
    ],
)
def test_a_definition_that_cannot_be_used_says_why(raw: Any, why: str) -> None:
    with pytest.raises(BadDefinition, match=why):
        parsed("s", raw, scope=Scope.USER, environ={})


def test_a_project_cannot_vouch_for_its_own_server() -> None:
    raw = {"command": "x", "trusted": True}

    assert parsed("s", raw, scope=Scope.USER, environ={}).trusted
    assert not parsed("s", raw, scope=Scope.PROJECT, environ={}).trusted


def test_the_nearer_definition_counts_and_a_projects_waits_for_a_yes(tmp_path: Path) -> None:
    home, work = tmp_path / "home", tmp_path / "work"
    write(work / ".mcp.json", theirs={"command": "x"}, mine={"command": "evil"})
    own = {"mcpServers": {"mine": {"command": "user"}, "other": {"command": "user"}}}
    own["projects"] = {str(work): {"mcpServers": {"mine": {"command": "local"}}}}  # type: ignore[dict-item]
    home.mkdir()
    (home / "mcp.json").write_text(json.dumps(own))

    found = servers(work, home, environ={})

    assert names(found) == (["mine", "other"], ["theirs"])
    assert found.definitions[0].command == "local"
    all_named = Allowed(named=frozenset({"theirs"}))
    assert names(servers(work, home, environ={}, allowed=all_named))[0] == [
        "mine",
        "theirs",
        "other",
    ]
    never = Allowed(all=True, never=frozenset({"theirs"}))
    assert names(servers(work, home, environ={}, allowed=never))[1] == ["theirs"]


def test_a_flags_servers_go_first_and_alone_if_strict(tmp_path: Path) -> None:
    home, work = tmp_path / "home", tmp_path / "work"
    write(home / "mcp.json", a={"command": "user"}, b={"command": "user"})
    work.mkdir()
    given = ['{"mcpServers": {"a": {"command": "flag"}}}']

    found = servers(work, home, environ={}, given=given)

    assert [(one.name, one.command) for one in found.definitions] == [("a", "flag"), ("b", "user")]
    assert names(servers(work, home, environ={}, given=given, strict=True))[0] == ["a"]


def test_a_file_that_is_broken_is_told_with_its_place(tmp_path: Path) -> None:
    (tmp_path / ".mcp.json").write_text('{\n "mcpServers": [1]}')

    with pytest.raises(ConfigurationError, match=r"\.mcp\.json:2:16: is a list"):
        servers(tmp_path, tmp_path / "home", environ={})


def test_one_bad_definition_leaves_the_others(tmp_path: Path) -> None:
    write(tmp_path / "home" / "mcp.json", bad={"command": 7}, good={"command": "x"})

    found = servers(tmp_path, tmp_path / "home", environ={})

    assert names(found) == (["good"], ["bad"])
    assert "mcp.json:1:" in found.unstarted[0].problem


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"x": {"command": "a"}}', "has no mcpServers, and 'x' means nothing here"),
        ("", "is empty"),
        ('{"mcpServers": {"s": {"command": "a", "bogus": 1}}}', "s: 'bogus' means nothing here"),
        ('{"mcpServers": {"s": {"command": "a", "ENV": {}}}}', "s: 'ENV' means nothing here"),
        (
            '{"mcpServers": {"s": {"command": "a", "timeOut": 1}}}',
            "s: 'timeOut' means nothing here; 'timeout' does",
        ),
    ],
)
def test_what_a_projects_file_says_for_nothing_is_told(
    tmp_path: Path, text: str, why: str
) -> None:
    (tmp_path / ".mcp.json").write_text(text)

    (told,) = servers(tmp_path, tmp_path / "home", environ={}).warnings

    assert told.startswith(f"{tmp_path}/.mcp.json:")
    assert why in told


@pytest.mark.parametrize("text", ["{}", '{"mcpServers": {}}', '{"mcpServers": {}, "inputs": []}'])
def test_a_file_that_means_no_server_is_not_told(tmp_path: Path, text: str) -> None:
    (tmp_path / ".mcp.json").write_text(text)

    assert servers(tmp_path, tmp_path / "home", environ={}).warnings == ()


def test_a_flag_that_gives_no_servers_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="--mcp-config: has no mcpServers"):
        servers(tmp_path, tmp_path, environ={}, given=['{"x": {"command": "a"}}'])


async def test_a_person_is_asked_once_and_their_yes_is_remembered(room: Room) -> None:
    write(room.work / ".mcp.json", theirs={"command": sys.executable, "args": ["-S", str(FAKE)]})
    yes = Answering("Start it")
    await _with_person(room, yes)
    again = Answering("Never")

    offered = await _with_person(room, again)

    assert "mcp__theirs__echo" in offered
    assert len(yes.asked) == 1
    assert str(FAKE) in yes.asked[0]
    assert again.asked == []


@pytest.mark.parametrize(
    ("words", "started", "remembered"),
    [("y", True, True), ("Yes", True, True), ("n", False, False), ("never", False, True)],
)
async def test_words_of_a_person_are_their_yes_or_no(
    room: Room, words: str, started: bool, remembered: bool
) -> None:
    write(room.work / ".mcp.json", theirs={"command": sys.executable, "args": ["-S", str(FAKE)]})
    person = Typing([words])

    offered = await _with_person(room, person)
    again = Typing(["y"])
    await _with_person(room, again)

    assert ("mcp__theirs__echo" in offered) == started
    assert (again.left == ["y"]) == remembered


async def test_a_person_whose_answer_says_neither_is_asked_again(room: Room) -> None:
    write(room.work / ".mcp.json", theirs={"command": sys.executable, "args": ["-S", str(FAKE)]})
    person = Typing(["what is it?", "y"])

    assert "mcp__theirs__echo" in await _with_person(room, person)
    assert person.left == []


async def test_without_a_person_a_projects_server_is_not_started(room: Room) -> None:
    write(room.work / ".mcp.json", theirs={"command": "touch", "args": ["started"]})

    offered = await _with_person(room, None)

    assert not [name for name in offered if name.startswith("mcp__")]
    assert not (room.work / "started").exists()


async def _with_person(room: Room, person: Person | None) -> list[str]:
    """Two prompts in the room, and the tools that the second offered."""
    from interlock.assembly import open_agent
    from interlock.options import Options
    from interlock.permissions import NobodyAsks

    found = servers(room.work, room.home, environ={})
    async with ScriptedServer(calls()) as model:
        settings = Settings.of(
            {
                "INTERLOCK_HOME": str(room.home),
                "ANTHROPIC_API_KEY": "key",
                "ANTHROPIC_BASE_URL": model.base_url,
                "MCP_TIMEOUT": "60000",
            }
        )
        options = Options(cwd=room.work, mcp=found)
        async with open_agent(options, settings, asker=NobodyAsks(), person=person) as agent:
            await tell(agent, "one")
            await agent.servers.settled()
            await tell(agent, "two")
        return tools_of(model.requests[-1])


# --- the commands -----------------------------------------------------------------------------


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


def test_a_server_is_added_seen_and_removed_and_the_rest_of_the_file_stays(shell: Shell) -> None:
    shell.home.mkdir()
    file = shell.home / "mcp.json"
    before = (
        "{\n    // no"
        if False
        else '{\n    "mcpServers": {"old": {"command": "nope"}},\n\n    "x": 1\n}\n'
    )
    file.write_text(before)
    arguments = ("--", sys.executable, "-S", str(FAKE))

    added = shell.run("mcp", "add", "new", "-s", "user", *arguments, program=REAL)
    listed = shell.run("mcp", "list", program=REAL)
    got = shell.run("mcp", "get", "new", program=REAL)
    removed = shell.run("mcp", "remove", "new", program=REAL)

    assert (added.code, listed.code, got.code, removed.code) == (0, 0, 0, 0)
    assert "✓ new (user)" in listed.out
    assert "✗ old (user)  nope  failed: there is no program nope" in listed.out
    assert "mcp__new__echo" in got.out
    assert file.read_text() == before


@pytest.mark.parametrize(
    "words",
    [
        "add hub {url} -t http -s user",
        "add hub -t http {url} -s user",
        "add -t http hub -s user {url}",
        "add -s user -t http hub {url}",
        "add -s user hub -t http -- {url}",
        "add hub {url} -s user",
    ],
)
def test_flags_of_add_may_stand_anywhere(shell: Shell, words: str) -> None:
    added = shell.run("mcp", *words.format(url="https://a.example/mcp").split(), program=REAL)

    assert added.code == 0, added.err
    found = json.loads((shell.home / "mcp.json").read_text())
    assert found == {"mcpServers": {"hub": {"type": "http", "url": "https://a.example/mcp"}}}


def test_a_name_that_is_taken_is_not_added_again(shell: Shell) -> None:
    shell.run("mcp", "add", "one", "-s", "user", "-e", "KEY=precious", "--", "a", program=REAL)
    again = shell.run("mcp", "add", "one", "-s", "user", "--", "b", program=REAL)
    nearer = shell.run("mcp", "add", "one", "--", "b", program=REAL)
    shell.run("mcp", "remove", "one", "-s", "user", program=REAL)
    behind = shell.run("mcp", "add", "one", "-s", "user", "--", "c", program=REAL)

    file = shell.home / "mcp.json"
    assert again.code == 1
    assert again.err == (
        f"interlock: one is in {file} (user) already: interlock mcp remove one -s user takes it"
        " out, or choose another name\n"
    )
    assert (nearer.code, nearer.err) == (0, "")
    assert (behind.code, behind.err) == (
        0,
        f"interlock: in this project one of {file} (local) goes before it\n",
    )


def test_what_a_file_says_for_nothing_is_told_by_list_and_by_a_run(shell: Shell) -> None:
    (shell.folder / ".mcp.json").write_text('{"x": {"command": "a"}}')

    listed = shell.run("mcp", "list", program=REAL)
    ran = shell.run("-p", program=REAL)  # without a prompt it ends at once

    assert "has no mcpServers" in listed.err
    assert "has no mcpServers" in ran.err


def test_what_cannot_be_added_is_one_line(shell: Shell) -> None:
    none = shell.run("mcp", "add", "x", program=REAL)
    both = shell.run("mcp", "add", "x", "http://a", "-t", "http", "-e", "A=1", program=REAL)
    unknown = shell.run("mcp", "remove", "x", program=REAL)
    odd = shell.run("mcp", "add", "a b", "--", "x", program=REAL)
    bare = shell.run("mcp", "add", "x", "program", "--utc", program=REAL)

    assert odd.err == (
        "interlock: 'a b' is no name for a server: write it with letters, digits, - and _\n"
    )
    assert "a command with flags stands behind a --" in bare.err
    assert (odd.code, bare.code) == (1, 1)
    assert none.err == "interlock: no command: interlock mcp add NAME -- COMMAND [ARG...]\n"
    assert both.err.startswith("interlock: --env is for servers that are started")
    assert unknown.err == "interlock: no MCP server x in any file that is written to\n"
    assert (none.code, both.code, unknown.code) == (1, 1, 1)
