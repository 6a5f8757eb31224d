"""From outside: the whole command, killed or not, leaves no server behind; and serves its own."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path

import anyio
import pytest

from interlock.scripted import ScriptedServer
from tests.agent.support import living
from tests.cli.shell import REAL, Shell
from tests.mcp.support import FAKE, calls
from tests.waiting import until


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


def config(*modes: str, **more: object) -> str:
    server = {"command": sys.executable, "args": ["-S", str(FAKE), *modes], **more}
    return json.dumps({"mcpServers": {"fake": server}})


async def test_killed_without_a_chance_it_leaves_no_server_behind(shell: Shell) -> None:
    (shell.folder / "work").mkdir()
    work = shell.folder / "work"
    async with ScriptedServer(calls(("mcp__fake__echo", {}))) as model:
        environ = {"ANTHROPIC_BASE_URL": model.base_url, "INTERLOCK_MCP_GRACE_S": "60"}
        process = shell.start(
            "-p", "go", "--cwd", str(work), "--mcp-config", config("mute", "child"),
            "--permission-mode", "bypassPermissions", program=REAL, env=environ,
        )  # fmt: skip
        try:
            await until(lambda: model.requests)
            assert any("fake_server" in one for one in living(work))
        finally:
            process.send_signal(signal.SIGKILL)
            process.communicate()
        await until(lambda: not living(work))


async def test_headless_without_a_required_server_fails_in_one_line(shell: Shell) -> None:
    given = config("crash", required=True)
    async with ScriptedServer(calls()) as model:
        ran = await anyio.to_thread.run_sync(
            lambda: shell.run(
                "-p", "go", "--mcp-config", given,
                program=REAL, env={"ANTHROPIC_BASE_URL": model.base_url},
            )
        )  # fmt: skip

    assert ran.code == 1
    assert "the MCP server fake is needed and not there: it ended with exit code 7" in ran.err
    assert model.requests == ()


def test_our_own_tools_are_served_behind_permissions(shell: Shell) -> None:
    (shell.folder / "a.txt").write_text("alpha\n")
    process = shell.start("mcp", "serve", program=REAL)
    assert process.stdin is not None
    assert process.stdout is not None

    def ask(id_: int, method: str, **params: object) -> dict[str, object]:
        said = {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}
        process.stdin.write(json.dumps(said).encode() + b"\n")  # type: ignore[union-attr]
        process.stdin.flush()  # type: ignore[union-attr]
        answer = json.loads(process.stdout.readline())  # type: ignore[union-attr]
        return answer["result"]  # type: ignore[no-any-return]

    try:
        client = {"name": "x", "version": "1"}
        ask(1, "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=client)
        process.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        names = [tool["name"] for tool in ask(2, "tools/list")["tools"]]  # type: ignore[attr-defined]
        read = ask(3, "tools/call", name="Read", arguments={"file_path": "a.txt"})
        write = {"file_path": "b.txt", "content": "b"}
        written = ask(4, "tools/call", name="Write", arguments=write)
    finally:
        process.stdin.close()
        process.wait(timeout=30)
        process.stdout.close()
        process.stderr.close()  # type: ignore[union-attr]

    assert {"Read", "Write", "Bash"} <= set(names)
    assert "alpha" in read["content"][0]["text"]  # type: ignore[index]
    assert written["isError"]
    assert not (shell.folder / "b.txt").exists()
