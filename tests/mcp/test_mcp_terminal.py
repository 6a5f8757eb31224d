"""`/mcp` at a terminal, and the commands beside it that need one."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import httpx2
import pytest

from interlock.scripted import reply
from tests.cli.shell import REAL, Shell
from tests.cli.test_cli_interactive import seated
from tests.mcp.support import FAKE, GUARDED, listening


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


def config(**servers: object) -> str:
    return json.dumps({"mcpServers": servers})


def fake(*modes: str) -> dict[str, object]:
    return {"command": sys.executable, "args": ["-S", str(FAKE), *modes]}


def test_servers_are_looked_at_and_switched(shell: Shell) -> None:
    servers = config(good=fake(), bad=fake("crash"))
    with seated(shell, [reply("Hello.")], "--mcp-config", servers) as (person, model):
        person.sees("/help lists the commands")
        person.types("hello\r")
        person.sees("Hello.")
        person.types("/mcp\r")
        person.sees("good (flags) connected")
        person.sees("mcp__good__echo")
        person.sees("bad (flags) failed: it ended with exit code 7")
        person.types("/mcp disable good\r")
        person.sees("good (flags) disabled")
        person.types("/mcp enable good\r")
        person.sees("good (flags) connected")
        person.types("/mcp reconnect good\r")
        person.sees("good (flags) connected")
        person.types("/mcp reconnect nobody\r")
        person.sees("! no MCP server nobody; there are: good, bad")
        person.types("/mcp wish good\r")
        person.sees("! /mcp, or /mcp enable, disable or reconnect with a server's name")
        person.types("/exit\r")
        assert person.ends() == 0

        assert len(model.requests) == 1  # the model sees nothing of it


def test_without_servers_it_says_so(shell: Shell) -> None:
    with seated(shell, []) as (person, _):
        person.sees("/help lists the commands")
        person.types("/mcp\r")
        person.sees("no MCP servers")
        person.types("/exit\r")
        assert person.ends() == 0


def test_a_server_that_wants_a_login_gets_one_and_is_left_again(shell: Shell) -> None:
    with listening(GUARDED, "http") as base:
        url = f"{base}/mcp"
        added = shell.run("mcp", "add", "hub", "-s", "user", "-t", "http", url, program=REAL)
        before = shell.run("mcp", "list", program=REAL)
        login = shell.start("mcp", "login", "hub", program=REAL)
        assert login.stdout is not None
        address = next(
            line.strip() for line in map(bytes.decode, login.stdout) if "/authorize?" in line
        )
        page = httpx2.get(address, follow_redirects=True)
        rest, complaints = login.communicate(timeout=60)
        during = shell.run("mcp", "list", program=REAL)
        left = shell.run("mcp", "logout", "hub", program=REAL)
        again = shell.run("mcp", "logout", "hub", program=REAL)
        after = shell.run("mcp", "list", program=REAL)

    assert added.code == 0, added.err
    assert before.out.startswith(f"! hub (user)  {url}  needs-auth: wants to know who you are")
    assert len(before.out.splitlines()) == 1
    assert "you can close this page" in page.text
    assert (rest.decode().strip(), complaints, login.returncode) == ("hub lets you in", b"", 0)
    assert during.out == f"✓ hub (user)  {url}  connected, 1 tool\n"
    assert (left.code, again.code) == (0, 1)
    assert again.err == "interlock: nobody is logged in at the MCP server hub\n"
    assert "needs-auth" in after.out


def test_a_login_that_fails_is_one_line(shell: Shell) -> None:
    unknown = shell.run("mcp", "login", "hub", program=REAL)
    shell.run("mcp", "add", "here", "-s", "user", "--", "true", program=REAL)
    started = shell.run("mcp", "login", "here", program=REAL)
    with listening(GUARDED, "http") as base:
        url = f"{base}/mcp"
        program = {"type": "http", "url": url, "oauth": {"clientId": "nobody"}}
        (shell.home / "mcp.json").write_text(config(hub=program))
        login = shell.start("mcp", "login", "hub", program=REAL)
        assert login.stdout is not None
        address = next(
            line.strip() for line in map(bytes.decode, login.stdout) if "/authorize?" in line
        )
        httpx2.get(address, follow_redirects=True)
        _, refused = login.communicate(timeout=60)

    assert unknown.err == "interlock: no MCP server hub; there are: none\n"
    assert started.err == (
        "interlock: the MCP server here is started here, or lives here: there is no logging in"
        " at it\n"
    )
    assert refused.decode() == (
        "interlock: the MCP server hub does not log you in: the browser came back without leave:"
        " access_denied\n"
    )
