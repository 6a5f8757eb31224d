"""The executor: what starts while the reply streams, and what an interrupt leaves."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from interlock.options import PermissionMode
from interlock.permissions import Rules
from interlock.tools import built_in
from phases.world.messages import Message, ToolUse
from phases.world.updates import ToolProgress, Update
from tests.tools.running import Button, bench, result, step, texts


async def test_a_call_without_effects_runs_while_the_reply_streams(folder: Path) -> None:
    async with bench(folder) as at:
        at.executor.offer(step("early"))
        await at.step.begins("early").wait()

        assert at.recorded == []  # its reply is not written yet
        assert texts(await at.run(step("early"))) == ["did early"]
        assert at.step.log == ["+early", "-early"]


@pytest.mark.parametrize(
    "call", [step("a", effects=True), step("a", safe=False)], ids=["effects", "unsafe"]
)
async def test_others_wait_for_the_whole_reply(folder: Path, call: ToolUse) -> None:
    async with bench(folder) as at:
        at.executor.offer(call)
        at.executor.offer(step("b"))
        await anyio.wait_all_tasks_blocked()
        expected = ["+b", "-b"] if call.input.get("effects") else []

        assert at.step.log == expected
        assert texts(await at.run(call, step("b"))) == ["did a", "did b"]


async def test_a_call_that_needs_approval_does_not_start_early(folder: Path) -> None:
    rules = Rules.parse(ask=["Step"])
    async with bench(folder, rules=rules, mode=PermissionMode.DEFAULT) as at:
        at.executor.offer(step("a"))
        await anyio.wait_all_tasks_blocked()

        assert at.step.log == []
        assert at.gate.denials == []


async def test_a_dropped_reply_is_never_heard_of_again(folder: Path) -> None:
    async with bench(folder) as at:
        at.step.gate("old")
        at.executor.offer(step("old"))
        await at.step.begins("old").wait()
        shown = len(at.shown)

        at.executor.drop()
        at.executor.begin(at.context)
        await anyio.wait_all_tasks_blocked()

        assert at.step.log == ["+old", "-old"]
        assert texts(await at.run(step("new"))) == ["did new"]
        assert [update for update in at.shown[shown:] if "old" in repr(update)] == []
        assert [message.content for message in at.recorded if "old" in repr(message)] == []


async def test_a_call_that_was_offered_and_is_not_in_the_reply_is_forgotten(
    folder: Path,
) -> None:
    async with bench(folder) as at:
        at.step.gate("gone")
        at.executor.offer(step("gone"))
        await at.step.begins("gone").wait()

        assert texts(await at.run(step("kept"))) == ["did kept"]


async def test_an_interrupt_is_told_truthfully_to_each_open_call(folder: Path) -> None:
    async with bench(folder) as at:
        at.step.gate("running")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_press_after, at.step.begins("running"), at.button)
            results = await at.run(
                step("done", safe=False), step("running", safe=False), step("later", safe=False)
            )

        assert texts(results) == [
            "did done",
            "Interrupted by the user while it ran; its effects are unknown.",
            "Interrupted by the user before it started.",
        ]
        assert [result.is_error for result in results] == [False, True, True]
        assert [message.content[0] for message in at.recorded] == results
        assert at.started == ["done", "running"]


async def test_an_interrupt_that_came_before_starts_nothing(folder: Path) -> None:
    async with bench(folder) as at:
        at.button.press()

        assert texts(await at.run(step("a"))) == ["Interrupted by the user before it started."]
        assert at.step.log == []


async def test_what_a_command_had_printed_is_kept(folder: Path) -> None:
    tools = built_in()
    begun = anyio.Event()

    def hear(update: Update) -> None:
        if isinstance(update, ToolProgress) and "half" in update.text:
            begun.set()

    async with bench(folder, tools=tools, on=hear) as at:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_press_after, begun, at.button)
            (result,) = await at.run(
                ToolUse(id="b", name="Bash", input={"command": "echo half; sleep 100"})
            )

        assert result.text.startswith(
            "Interrupted by the user while it ran; its effects are unknown."
            " Output until then:\nhalf"
        )
    tools["Bash"].close()


async def test_a_cancelled_run_ends_its_calls_and_writes_what_became_of_them(
    folder: Path,
) -> None:
    async with bench(folder) as at:
        at.step.gate("a")
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(at.run, step("a"))
                await at.step.begins("a").wait()
                scope.cancel()

        assert at.step.log == ["+a", "-a"]
        assert "its effects are unknown" in result(at.recorded[0]).text
        assert at.executor.drop() == tuple(at.recorded)


async def test_a_transcript_that_cannot_be_written_is_no_result_of_a_tool(folder: Path) -> None:
    def full(messages: tuple[Message, ...]) -> None:
        raise OSError(28, "no space left")

    async with bench(folder, record=full) as at:
        with pytest.raises(OSError, match="no space left"):
            await at.run(step("a"))


async def _press_after(event: anyio.Event, button: Button) -> None:
    await event.wait()
    button.press()
