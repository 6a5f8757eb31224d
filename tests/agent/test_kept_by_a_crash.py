"""The real process killed in the middle of a call: what a resume tells of it is the truth."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from interlock.open_calls import (
    FINISHED,
    NOT_STARTED,
    STARTED,
    STARTED_READING,
    UNKNOWN,
    closed,
)
from interlock.options import Options, PermissionMode, Resume
from interlock.scripted import Answer, ScriptedServer, ServerThread, reply, tool_use
from interlock.sessions import fork, read_messages
from tests.agent.support import MODEL, Room, results, sent, tell
from tests.waiting import wait_until

COMMAND = (sys.executable, "-m", "interlock")
ROOT = Path(__file__).parents[2]
FREE = PermissionMode.BYPASS_PERMISSIONS


def killed(room: Room, answers: Sequence[Answer], *, at: str) -> None:
    """Run the program on these answers, and kill it once there is a file of this name."""
    killed_once(room, answers, (room.work / at).exists)


def killed_once(room: Room, answers: Sequence[Answer], ready: Callable[[], bool]) -> None:
    with ServerThread(answers) as server:
        env = {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": str(room.home),
            "INTERLOCK_HOME": str(room.home),
            "PYTHONPATH": str(ROOT),
            "ANTHROPIC_API_KEY": "key",
            "ANTHROPIC_BASE_URL": server.base_url,
        }
        process = subprocess.Popen(
            [*COMMAND, "-p", "go", "--model", MODEL, "--permission-mode", FREE.value],
            cwd=room.work,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        wait_until(ready, process)
        process.send_signal(signal.SIGKILL)
        process.communicate()


async def test_what_ran_what_waited_and_what_was_done_are_told_apart_after_a_kill(
    room: Room,
) -> None:
    runs = room.work / "runs"
    lines = {
        "done": f"cd /; export KEPT=yes; echo one >> {runs}",
        "runs": f"echo two >> {runs}; touch {room.work}/here; sleep 60",
        "waits": f"echo three >> {runs}",
    }
    calls = [tool_use("Bash", {"command": line}, id=id_) for id_, line in lines.items()]
    killed(room, [reply(*calls)], at="here")

    answers = [reply(tool_use("Bash", {"command": "echo $KEPT in $PWD"})), reply("I see.")]
    async with ScriptedServer(answers) as server:
        options = Options(resume=Resume(), permission_mode=FREE)
        async with room.open(server, options=options) as agent:
            await tell(agent, "go on")
        async with room.open(server, options=options) as agent:
            again = agent._messages

    assert results(server.requests[0]) == [
        ("done", "(no output)", False),
        ("runs", STARTED, True),
        ("waits", NOT_STARTED, True),
    ]
    assert results(server.requests[1])[0][1] == "yes in /"  # kept while the prompt ran
    assert runs.read_text() == "one\ntwo\n"
    assert sum(STARTED in str(message) for message in again) == 1
    assert server.verdict() == ()
    assert len(sent(server.requests[0])) == 8  # prompt, three calls, three results, prompt


@pytest.mark.parametrize(
    ("edge", "words"),
    [
        ("", NOT_STARTED),
        ('"Began"', STARTED_READING),
        ('"Returned"', FINISHED.format(how="well")),
    ],
)
async def test_a_crash_at_each_record_of_a_call_is_told_as_what_it_was(
    room: Room, edge: str, words: str
) -> None:
    """As if the process had ended right behind the record, before anything else was written."""
    path = room.work / "a.txt"
    answers = [reply(tool_use("Read", {"file_path": str(path)}, id="look")), reply("ok")]
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        await tell(agent, "look")
    (calls,) = agent.paths.runs.glob("*.calls.jsonl")
    lines = calls.read_text().splitlines(keepends=True)
    at = next((n for n, line in enumerate(lines) if edge and edge in line), 0)
    calls.write_text("".join(lines[: at + 1]))
    history = read_messages(agent.transcript_path)[:2]

    (one,) = closed(history, agent.paths.runs)

    assert words in str(one.result.content)
    assert closed((*history, one.result), agent.paths.runs) == ()


async def test_where_a_record_is_damaged_nothing_is_claimed_of_a_call(room: Room) -> None:
    """The line that is lost may be the one that said that the call had begun."""
    path = room.work / "a.txt"
    answers = [reply(tool_use("Read", {"file_path": str(path)}, id="look")), reply("ok")]
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        await tell(agent, "look")
    (calls,) = agent.paths.runs.glob("*.calls.jsonl")
    header, *lines = calls.read_bytes().splitlines(keepends=True)
    history = read_messages(agent.transcript_path)[:2]
    told = []

    for at in range(len(lines)):
        calls.write_bytes(b"".join([header, *lines[:at], b"{damaged\n", *lines[at + 1 :]]))
        (one,) = closed(history, agent.paths.runs)
        told.append(UNKNOWN in str(one.result.content))

    assert len(told) > 3
    assert all(told)


def paid(room: Room) -> list[Path]:
    return [*room.home.glob("projects/*/*/costs.jsonl")]


@pytest.mark.parametrize(
    ("lines", "prompt_tokens"), [(2, 100), (3, 200)], ids=["in a tool", "in an answer"]
)
async def test_a_session_that_was_killed_has_cost_all_that_the_server_had_told_of(
    room: Room, lines: int, prompt_tokens: int
) -> None:
    counts = {"input_tokens": 100, "output_tokens": 30}
    waits = reply(tool_use("Bash", {"command": "sleep 60"}), usage=counts)
    goes_on = reply(tool_use("Bash", {"command": "true"}), usage=counts)
    endless = reply("and so on", usage=counts, drip_s=60)
    answers = [waits] if lines == 2 else [goes_on, endless]

    def so_many() -> bool:
        return any(path.read_bytes().count(b"\n") == lines for path in paid(room))

    killed_once(room, answers, so_many)
    async with (
        ScriptedServer([]) as server,
        room.open(server, options=Options(resume=Resume(), permission_mode=FREE)) as agent,
    ):
        use = agent.spent[MODEL]

    assert use.usage.input_tokens == prompt_tokens
    assert use.usage.output_tokens >= 30
    assert use.cost is not None
    assert use.cost > 0


async def test_a_branch_whose_process_was_killed_as_it_began_still_knows_what_had_run(
    room: Room,
) -> None:
    runs = room.work / "runs"
    lines = {
        "runs": f"echo one >> {runs}; touch {room.work}/here; sleep 60",
        "waits": f"echo two >> {runs}",
    }
    calls = [tool_use("Bash", {"command": line}, id=id_) for id_, line in lines.items()]
    killed(room, [reply(*calls)], at="here")
    (first,) = room.home.glob("projects/*/*.jsonl")
    # Copied, and then it was gone: the branch has its transcript and nothing else.
    branch = first.with_name("00000000-0000-4000-8000-0000000000bb.jsonl")
    fork(first, branch, branch.stem)

    async with ScriptedServer([reply("I see.")]) as server:
        options = Options(resume=Resume(session=branch.stem), permission_mode=FREE)
        async with room.open(server, options=options) as agent:
            await tell(agent, "go on")

    assert results(server.requests[0]) == [("runs", STARTED, True), ("waits", NOT_STARTED, True)]
    assert server.verdict() == ()
