"""Local plugins through the SDK: its option, what `init` says of them, and reading them anew."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import ProcessError, SystemMessage

from interlock.scripted import reply, tool_use
from tests.mcp.support import FAKE
from tests.plugins.writing import Written, plugin, runs
from tests.sdk.conftest import Open
from tests.sdk.house import line, of, result_of

PATIENT = {"MCP_TIMEOUT": "60000", "INTERLOCK_MCP_GRACE_S": "60"}  # servers start slowly, too


def local(*plugins: Written) -> dict[str, Any]:
    return {"plugins": [{"type": "local", "path": str(one.folder)} for one in plugins]}


@pytest.fixture
def demo(tmp_path: Path) -> Written:
    written = plugin(tmp_path / "plugins" / "demo-plugin")
    written.manifest(name="demo-plugin", version="1.0.0", author={"name": "us"})
    written.file("commands/greet.md", "# Greet\n\nGreet the user.\n")
    return written


async def test_a_plugin_that_a_program_names_is_in_the_init_message(
    house: Open, demo: Written
) -> None:
    here = house([reply("Hello!")])

    messages = await here.query("Hello!", max_turns=1, **local(demo))

    init = of(SystemMessage, messages)[0].data
    assert init["plugins"] == [{"name": "demo-plugin", "path": str(demo.folder)}]
    assert "demo-plugin:greet" in init["slash_commands"]
    assert "plugin_errors" not in init
    assert result_of(messages).result == "Hello!"


async def test_its_command_is_filled_in_its_tools_are_there_without_setting_sources(
    house: Open, demo: Written
) -> None:
    demo.skill("pdf")
    demo.agent("reviewer", description="Reviews.")
    demo.hooks(UserPromptSubmit=[runs("echo told by a hook")])
    demo.servers(echo={"command": sys.executable, "args": ["-S", str(FAKE), "readonly"]})
    tool = "mcp__plugin_demo-plugin_echo__echo"
    here = house([reply(tool_use(tool, {"text": "hi"})), reply("Done.")])

    messages = await here.query(
        "/demo-plugin:greet", setting_sources=[], allowed_tools=[tool], env=PATIENT, **local(demo)
    )

    init = of(SystemMessage, messages)[0].data
    assert {"name": "plugin:demo-plugin:echo", "status": "connected"} in init["mcp_servers"]
    assert tool in init["tools"]
    assert init["slash_commands"] == ["demo-plugin:greet", "demo-plugin:pdf"]
    assert "demo-plugin:reviewer" in init["agents"]
    first = str(here.server.requests[0].body["messages"])
    assert "Greet the user." in first
    assert "told by a hook" in first
    assert "- demo-plugin:pdf: " in first
    assert result_of(messages).permission_denials in (None, [])


async def test_a_broken_part_is_told_in_init_and_the_session_goes_on(
    house: Open, demo: Written, tmp_path: Path
) -> None:
    hooks = demo.file("hooks/hooks.json", "{")
    broken = plugin(tmp_path / "broken")
    manifest = broken.file(".claude-plugin/plugin.json", "no")
    here, lines = house([reply("Hello!")]), list[str]()

    messages = await here.query("Hello!", stderr=lines.append, **local(demo, broken))

    init = of(SystemMessage, messages)[0].data
    assert [one["name"] for one in init["plugins"]] == ["demo-plugin"]
    told = {one["plugin"]: one for one in init["plugin_errors"]}
    assert told["demo-plugin"]["type"] == "hook-load-failed"
    assert told["demo-plugin"]["message"].startswith(f"{hooks}:1:2: ")
    assert told["broken"]["type"] == "manifest-parse-error"
    assert told["broken"]["message"].startswith(f"{manifest}:1:1: ")
    assert len(lines) == 2
    assert result_of(messages).result == "Hello!"


async def test_a_folder_that_is_not_there_is_refused_in_one_line(house: Open) -> None:
    here, lines = house([]), list[str]()

    with pytest.raises(ProcessError) as raised:
        await here.query(
            "hi", stderr=lines.append, plugins=[{"type": "local", "path": "/nowhere"}]
        )

    assert raised.value.exit_code == 1
    assert lines == ["interlock: no such folder: /nowhere (--plugin-dir)"]


async def test_plugins_are_read_anew_when_a_host_asks_for_it(house: Open, demo: Written) -> None:
    here = house([reply("one"), reply("two"), reply("three")])
    demo.agent("old", description="Old.")
    served = {"command": sys.executable, "args": ["-S", str(FAKE)]}
    demo.servers(gone=served)
    host = await line(here, "--plugin-dir", str(demo.folder), **PATIENT)
    await host.prompt("first")
    before = await host.hear("system", "init")
    await host.hear("result")

    (demo.folder / "agents" / "old.md").unlink()
    demo.agent("new", description="New.")
    demo.command("later")
    demo.skill("pdf")
    demo.hooks(UserPromptSubmit=[runs("echo told by a hook")])
    demo.servers(echo=served, bad={"command": 1})
    answer = (await host.ask("reload_plugins"))["response"]
    await host.prompt("second")
    after = await host.hear("system", "init")
    await host.hear("result")
    await host.leave()

    assert before["agents"][-1] == "demo-plugin:old"
    assert [one["name"] for one in before["mcp_servers"]] == ["plugin:demo-plugin:gone"]
    assert answer["plugins"] == [{"name": "demo-plugin", "path": str(demo.folder)}]
    assert answer["error_count"] == 1
    commands = [one["name"] for one in answer["commands"]]
    assert commands == after["slash_commands"]
    assert {"demo-plugin:greet", "demo-plugin:later", "demo-plugin:pdf"} <= {*commands}
    assert "demo-plugin:new" in [one["name"] for one in answer["agents"]]
    assert "demo-plugin:old" not in after["agents"]
    assert [(one["name"], one["status"]) for one in answer["mcpServers"]] == [
        ("plugin:demo-plugin:echo", "connected")
    ]
    assert "mcp__plugin_demo-plugin_echo__echo" in after["tools"]
    second = str(here.server.requests[1].body["messages"])
    assert "told by a hook" in second
    assert "- new, or changed: demo-plugin:new: New." in second
    assert "new, or changed: demo-plugin:pdf" in second


async def test_without_plugins_reading_them_anew_finds_none(house: Open) -> None:
    host = await line(house([]))

    answer = await host.ask("reload_plugins")
    await host.leave()

    assert answer["response"]["plugins"] == []
    assert answer["response"]["error_count"] == 0
