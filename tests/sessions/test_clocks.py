"""A clock that is set during a run, by a day back or forward, changes no order and no decision."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import attrs
import pytest

from interlock.open_calls import STARTED, closed
from interlock.options import Options, PermissionMode, Resume
from interlock.scripted import ScriptedServer, reply, tool_use
from interlock.sessions import Transcript, read_messages
from interlock.testing import FakeClock
from interlock.tools import tool
from phases.world.messages import Kind, Text
from tests.agent.support import MODEL, Room, tell
from tests.sessions.conversations import prompt, uuid
from tests.sessions.conversations import reply as said

FREE = Options(permission_mode=PermissionMode.BYPASS_PERMISSIONS, model=MODEL)
DAY = 86_400.0
JUMPS = pytest.mark.parametrize("jump", [-DAY, DAY], ids=["back", "forward"])


@JUMPS
async def test_a_history_is_read_in_the_order_in_which_it_was_written(
    tmp_path: Path, jump: float
) -> None:
    times = iter([1e9, 1e9 + jump, 1e9 + jump / 2, 1e9 + 2 * jump])
    path = tmp_path / "x.jsonl"
    transcript = Transcript(path, session_id=uuid(0), cwd=tmp_path, now=lambda: next(times))
    history = (prompt(1), said(2, Text("a")), prompt(3), said(4, Text("b")))

    await transcript.record(history)
    transcript.close()

    assert read_messages(path) == history


@JUMPS
async def test_a_run_in_which_the_clock_is_set_ends_well_and_is_gone_on_with(
    room: Room, jump: float
) -> None:
    clock = FakeClock()

    @tool
    def set_clock() -> str:
        """Sets the clock."""
        clock.now += jump
        return "set"

    answers = [reply("I do.", tool_use("set_clock", {})), reply("Done."), reply("Still here.")]
    async with ScriptedServer(answers) as server:
        async with room.open(server, options=FREE, tools=[set_clock], clock=clock) as agent:
            first = await tell(agent, "set it")
        again = attrs.evolve(FREE, resume=Resume())
        async with room.open(server, options=again, clock=clock) as agent:
            second = await tell(agent, "and now?")

    assert [first.ending, second.ending] == [("completed", None)] * 2
    assert 0 <= first.summary.duration_s < DAY / 2
    assert [record.sequence for record in first.trace] == list(range(len(first.trace.records)))
    assert server.verdict() == ()


async def test_the_run_that_knows_of_a_call_is_found_whatever_the_time_of_its_file(
    room: Room,
) -> None:
    """The newest run looks like the oldest: what it says of its open call counts all the same."""
    kept: list[bytes] = []

    @tool
    def change() -> str:
        """Changes something."""
        kept.extend(path.read_bytes() for path in files(room.home))
        return "changed"

    answers = [reply("Hello."), reply("I do.", tool_use("change", {})), reply("Done.")]
    async with (
        ScriptedServer(answers) as server,
        room.open(server, options=attrs.evolve(FREE, record=False), tools=[change]) as agent,
    ):
        await tell(agent, "hi")
        await tell(agent, "change it")
        last, runs = agent.paths.transcript, agent.paths.runs
    for path, content in zip(files(room.home), kept, strict=True):
        path.write_bytes(content)  # as a kill in the middle of the call would leave them
    (newest,) = runs.glob("*.calls.jsonl")
    os.utime(newest.with_name(newest.name.replace(".calls.", ".trace.")), (1, 1))

    made = closed(read_messages(last), runs)

    assert [message.kind for message in read_messages(last)][-1] is Kind.REPLY
    assert STARTED in str(made[0].result)


def files(home: Path) -> Sequence[Path]:
    return sorted(home.glob("projects/*/**/*.jsonl"))
