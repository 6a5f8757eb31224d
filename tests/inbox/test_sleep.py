"""Sleep: waits on the clock, wakes for what it may read, and reads what could wait."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from interlock.inbox import Mail, Mode, Priority, Waiting
from interlock.options import Options, PermissionMode
from interlock.scripted import ScriptedServer, reply, tool_use
from interlock.testing import FakeClock, SequentialIds
from interlock.tools import FileReads, Output, Sleep, Tool, ToolContext, built_in
from phases.world.limits import Limits
from phases.world.updates import ToolStarted, Update
from tests.agent.support import MODEL, Room, tell
from tests.inbox.looking import Standstill, last_said

ASLEEP = Options(
    model=MODEL, tools=("Sleep", "Read"), permission_mode=PermissionMode.BYPASS_PERMISSIONS
)


def context(limits: Limits | None = None) -> ToolContext:
    here = Path("/")
    return ToolContext(
        cwd=here, root=here, limits=limits or Limits(), reads=FileReads(), spill=here
    )


async def test_it_sleeps_as_long_as_it_was_asked_to() -> None:
    clock = FakeClock()
    sleep = Sleep(Mail(Waiting(SequentialIds())), clock)

    output = await sleep.run({"seconds": 90}, context())

    assert clock.slept == [90]
    assert output == Output("Slept 90 s. Nothing arrived.")


async def test_one_call_is_bounded_and_says_so() -> None:
    clock = FakeClock()
    sleep = Sleep(Mail(Waiting(SequentialIds())), clock)

    output = await sleep.run({"seconds": 9_999}, context(Limits(max_sleep_s=60)))

    assert clock.slept == [60]
    assert output == Output("Slept 60 s (the longest one call may: 60 s). Nothing arrived.")


@pytest.mark.parametrize("priority", Priority)
@pytest.mark.parametrize("mode", Mode)
async def test_it_ends_early_when_something_to_read_arrives(
    priority: Priority, mode: Mode
) -> None:
    waiting = Waiting(SequentialIds())
    sleep = Sleep(Mail(waiting), Standstill())

    async with anyio.create_task_group() as tasks:

        async def arrive() -> None:
            await anyio.wait_all_tasks_blocked()
            waiting.add("/compact")
            waiting.add("for a child", mode=Mode.TASK_NOTIFICATION, agent_id="child")
            await anyio.wait_all_tasks_blocked()
            waiting.add("task 3 ended", mode=mode, priority=priority)

        tasks.start_soon(arrive)
        output = await sleep.run({"seconds": 3_000}, context())

    assert output == Output("Woken after 0 s: something arrived.")


async def test_what_is_there_already_is_not_slept_over() -> None:
    waiting, clock = Waiting(SequentialIds()), FakeClock()
    waiting.add("task 3 ended", mode=Mode.TASK_NOTIFICATION)

    output = await Sleep(Mail(waiting), clock).run({"seconds": 3_000}, context())

    assert (output.content, clock.slept) == ("Woken after 0 s: something arrived.", [])


async def test_a_child_wakes_for_its_own_news_only() -> None:
    waiting, clock = Waiting(SequentialIds()), FakeClock()
    waiting.add("words of the user")

    slept = await Sleep(Mail(waiting, "child"), clock).run({"seconds": 5}, context())
    waiting.add("task ended", mode=Mode.TASK_NOTIFICATION, agent_id="child")
    woken = await Sleep(Mail(waiting, "child"), clock).run({"seconds": 5}, context())

    assert [slept.content, woken.content] == [
        "Slept 5 s. Nothing arrived.",
        "Woken after 0 s: something arrived.",
    ]


def test_it_changes_nothing_and_yet_what_stands_behind_it_waits() -> None:
    sleep: Tool = Sleep(Mail(Waiting(SequentialIds())), FakeClock())

    assert not sleep.effects({"seconds": 1})
    assert not sleep.concurrency_safe({"seconds": 1})


def test_it_is_not_offered_unless_assembly_gives_it() -> None:
    sleep = Sleep(Mail(Waiting(SequentialIds())), FakeClock())

    assert "Sleep" not in built_in()
    assert built_in(sleep=sleep)["Sleep"] is sleep


async def test_a_sleeping_agent_is_woken_and_reads_what_could_wait(room: Room) -> None:
    async with (
        ScriptedServer([reply(tool_use("Sleep", {"seconds": 3_000})), reply("It is done.")]) as s,
        room.open(s, options=ASLEEP, clock=Standstill()) as agent,
    ):

        def arrive(update: Update, number: int) -> None:
            if isinstance(update, ToolStarted):
                agent.queue("no hurry", "later")
                agent.waiting.add("task 3 ended", mode=Mode.TASK_NOTIFICATION)

        told = await tell(agent, "wait for task 3", on=arrive)

        assert told.ending == ("completed", None)
        assert last_said(s.requests[1]) == [
            ("tool_result", "Woken after 0 s: something arrived."),
            ("text", "task 3 ended"),
            ("text", "no hurry"),
        ]
        assert s.verdict() == ()


async def test_an_interrupt_breaks_a_sleep(room: Room) -> None:
    async with (
        ScriptedServer([reply(tool_use("Sleep", {"seconds": 3_000}))]) as server,
        room.open(server, options=ASLEEP, clock=Standstill()) as agent,
    ):
        told = await tell(
            agent,
            "wait",
            on=lambda update, _: agent.interrupt() if isinstance(update, ToolStarted) else None,
        )

    assert told.ending == ("aborted_tools", "aborted_tools")
