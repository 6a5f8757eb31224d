"""After a kill: what became of each child is told once, and nothing is started again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import orjson
import pytest

from interlock.agents.kept import kept
from interlock.options import Options, PermissionMode, Resume
from interlock.scripted import ScriptedServer, reply, tool_use
from interlock.scripted.server import ScriptedServer as Server
from interlock.worktrees import all_of
from tests.agent.support import Room, results, sent, tell
from tests.agents.families import by_prompt, hand, of
from tests.waiting import until
from tests.worktrees.repositories import ALONE, repository

ROOT = Path(__file__).parents[2]
FREE = PermissionMode.BYPASS_PERMISSIONS
SLEEPS = reply(tool_use("Bash", {"command": "touch here; sleep 600"}))


def start(room: Room, server: Server) -> subprocess.Popen[bytes]:
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(room.home),
        "INTERLOCK_HOME": str(room.home),
        "ANTHROPIC_API_KEY": "key",
        "ANTHROPIC_BASE_URL": server.base_url,
        "PYTHONPATH": str(ROOT),
    }
    flags = ["-p", "go", "--permission-mode", FREE.value, "--model", "claude-sonnet-4-5"]
    return subprocess.Popen(
        [sys.executable, "-m", "interlock", *flags],
        cwd=room.work,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


async def killed(room: Room, server: Server, *, results_there: int) -> None:
    """Kill the program once a child is at work and so many others have their result."""
    process = start(room, server)

    def at_work() -> bool:
        there = len([*room.home.rglob("agent-*.result.json")])
        return (room.work / "here").exists() and there >= results_there

    await until(lambda: at_work() or process.poll() is not None)
    assert process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert (room.work / "here").exists()


async def test_what_a_killed_child_left_in_its_worktree_is_told_once(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in ALONE.items():
        monkeypatch.setenv(name, value)
    repository(room.work)
    works = f"echo half > half.txt; touch {room.work}/here; sleep 600"
    scripts = {
        "go": [reply(hand("it", isolation="worktree"))],
        "it": [reply(tool_use("Bash", {"command": works}))],
    }
    async with ScriptedServer(by_prompt(scripts)) as server:
        await killed(room, server, results_there=0)
    (tree,) = all_of(room.home)
    options = Options(resume=Resume(), permission_mode=FREE)
    async with ScriptedServer(lambda request: reply("I see.")) as server:
        for words in ("and?", "and now?"):
            async with room.open(server, options=options) as agent:
                await tell(agent, words)

    first, second = (str(sent(request)) for request in server.requests)
    assert first.count("untracked: half.txt") == 1
    assert first.count(f"Its worktree is {tree.path}, on the branch {tree.branch}") == 1
    assert second.count("untracked: half.txt") == 1
    assert (tree.path / "half.txt").read_text() == "half\n"


async def test_a_result_on_disk_is_told_and_one_that_had_begun_is_told_as_such(
    room: Room,
) -> None:
    answers = by_prompt(
        {
            "go": [reply(hand("quick", id_="q"), hand("slow", id_="s")), reply("I see.")],
            "quick": [reply("the quick report")],
            "slow": [SLEEPS],
        }
    )
    options = Options(resume=Resume(), permission_mode=FREE)
    async with ScriptedServer(answers) as server:
        await killed(room, server, results_there=1)
        before = len(server.requests)
        # As if it had come no further than to the disk.
        (transcript,) = room.home.glob("projects/*/*.jsonl")
        lines = transcript.read_bytes().splitlines(keepends=True)
        transcript.write_bytes(b"".join(line for line in lines if b'"tool_result"' not in line))
        async with room.open(server, options=options) as agent:
            await tell(agent, "and?")

    (request,) = server.requests[before:]
    quick, slow = results(request)
    assert quick[0] == "q"
    assert "the quick report" in quick[1]
    assert quick[1].startswith("The program was ended before you were told")
    assert not quick[2]
    assert slow[:1] == ("s",)
    assert "the program was ended while the agent" in slow[1]
    assert "It was not started again" in slow[1]
    assert slow[2]
    assert str(sent(request)).count("the quick report") == 1


@pytest.mark.parametrize("finished", [True, False])
async def test_a_background_agent_is_told_by_a_note_and_only_once(
    room: Room, finished: bool
) -> None:
    scripts = {
        "go": [
            reply(hand("it", run_in_background=True)),
            reply(tool_use("Bash", {"command": "touch here; sleep 600"})) if finished else SLEEPS,
        ],
        "it": [reply("the report")] if finished else [SLEEPS],
    }
    async with ScriptedServer(by_prompt(scripts)) as server:
        await killed(room, server, results_there=int(finished))
    options = Options(resume=Resume(), permission_mode=FREE)
    async with ScriptedServer(lambda request: reply("I see.")) as server:
        async with room.open(server, options=options) as agent:
            await tell(agent, "and?")
        async with room.open(server, options=options) as agent:
            await tell(agent, "and now?")

    words = "the report" if finished else "the program was ended while the agent"
    first, second = (str(sent(request)) for request in server.requests)
    assert first.count(words) == 1
    assert second.count(words) == 1
    assert of(server.requests, "it") == []


async def test_files_that_a_crash_has_cut_say_nothing_and_break_nothing(room: Room) -> None:
    folder = room.home / "subagents"
    folder.mkdir(parents=True)
    (folder / "agent-1.meta.json").write_text("{")
    (folder / "agent-2.meta.json").write_bytes(orjson.dumps({"agentType": "x", "toolUseId": "t"}))
    (folder / "agent-2.result.json").write_text("[]")

    found = {one.agent_id: one for one in kept(folder)}

    assert found["1"].tool_use_id == ""
    assert found["2"].tool_use_id == "t"
    assert found["2"].result is None
