"""The executor: one truthful result for each call, whatever happens."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from interlock.options import PermissionMode
from interlock.permissions import Decision, Rules, Verdict
from interlock.tools import After, Before, built_in
from interlock.tools.calls import SecondResult, prepared
from interlock.tools.lifecycle import TurnCame
from phases.world.limits import Limits
from phases.world.loop import ToolUseContext
from phases.world.messages import Kind, Message, Text, ToolResult, ToolUse
from phases.world.updates import ToolProgress, Update
from tests.tools.places import real
from tests.tools.running import REPLY_ID, Button, bench, reply, result, step


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = real(tmp_path) / "work"
    folder.mkdir()
    return folder


def texts(results: list[ToolResult]) -> list[str]:
    return [result.text for result in results]


# --- results ---------------------------------------------------------------------------------


async def test_results_stand_in_the_order_of_the_calls_and_not_of_their_ends(
    folder: Path,
) -> None:
    async with bench(folder) as at:
        slow = at.step.gate("slow")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_open_after, at.step.begins("quick"), slow)
            results = await at.run(step("slow"), step("quick"), step("third"))

        assert [result.tool_use_id for result in results] == ["slow", "quick", "third"]
        assert at.recorded[-1].content == (results[0],)


async def test_each_result_is_a_message_that_names_its_reply(folder: Path) -> None:
    async with bench(folder) as at:
        await at.run(step("a"))

        assert at.recorded == [
            Message(
                id="00000000-0000-4000-8000-000000000001",
                role="user",
                kind=Kind.RESULT,
                content=(ToolResult("a", _text("did a")),),
                source=REPLY_ID,
            )
        ]
        assert ToolProgress("a", "progress of a") in at.shown


async def test_a_failing_an_unknown_and_a_misused_tool_are_answered_like_the_others(
    folder: Path,
) -> None:
    async with bench(folder) as at:
        results = await at.run(
            step("good"),
            step("bad", does="raise"),
            ToolUse(id="none", name="NoSuchTool", input={"x": 1}),
            ToolUse(id="odd", name="Step", input={"ID": "odd"}),
            ToolUse(id="broken", name="Step", input={}, problem="no JSON: line 1"),
        )

        assert [result.is_error for result in results] == [False, True, True, True, True]
        assert results[1].text == "Step failed: RuntimeError: broken tool"
        assert results[2].text == "There is no tool NoSuchTool. There are: Step."
        assert "`id` is missing; `ID` is not known" in results[3].text
        assert "no JSON: line 1" in results[4].text
        assert at.started == ["good", "bad"]


async def test_a_call_that_was_cut_does_not_run(folder: Path) -> None:
    async with bench(folder) as at:
        results = await at.run(step("whole"), step("cut"), cut=("cut",))

        assert results[0].text == "did whole"
        assert results[1].is_error
        assert "cut in the middle of this call" in results[1].text
        assert at.step.log == ["+whole", "-whole"]


async def test_a_second_result_is_a_fault_of_this_program(folder: Path) -> None:
    call = prepared(step("a"), {})
    with pytest.raises(SecondResult, match="not over yet"):
        call.answer(ToolResult("a", _text("too soon")))
    call.tell(TurnCame("no such tool"))
    call.answer(ToolResult("a", _text("no")))

    with pytest.raises(SecondResult, match="has a result already"):
        call.answer(ToolResult("a", _text("no again")))

    assert call.result == ToolResult("a", _text("no"))


async def test_a_tool_that_returns_and_then_breaks_has_one_result(folder: Path) -> None:
    async with bench(folder) as at:
        results = await at.run(step("a", does="unclean"), step("b"))

        assert texts(results) == ["Step failed: RuntimeError: broken clean-up", "did b"]
        assert len(at.recorded) == 2


async def test_two_calls_with_one_id_have_one_result(folder: Path) -> None:
    async with bench(folder) as at:
        results = await at.run(step("same"), step("same", safe=False))

        assert len(results) == 1


async def test_a_tool_that_takes_too_long_is_ended(folder: Path) -> None:
    async with bench(folder) as at:
        at.step.time_limit = 0.0
        at.step.gate("slow")

        (result,) = await at.run(step("slow"))

        assert result.is_error
        assert "took over 0 s" in result.text


async def test_every_result_passes_the_cap_and_the_whole_is_saved(folder: Path) -> None:
    async with bench(folder, limits=Limits(tool_output_cap=2_000)) as at:
        (result,) = await at.run(step("a/../b", does="long"))

        assert len(result.text) <= 2_000
        saved = folder.parent / "spill" / "a____b-0.txt"
        assert str(saved) in result.text
        assert saved.read_text() == "x" * 100_000


async def test_half_characters_and_empty_answers_do_not_reach_the_history(folder: Path) -> None:
    async with bench(folder) as at:
        results = await at.run(step("a", does="surrogate"), step("b", does="empty"))

        assert texts(results) == ["a\ufffdb", ""]
        assert results[1].content == ()


# --- early start -----------------------------------------------------------------------------


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


# --- permissions -----------------------------------------------------------------------------


async def test_a_denied_call_is_told_why_and_noted_and_the_others_run(folder: Path) -> None:
    async with bench(folder, mode=PermissionMode.DEFAULT) as at:
        results = await at.run(step("write", effects=True), step("read"))

        assert results[0].is_error
        assert "runs without anyone to ask" in results[0].text
        assert results[0].text.endswith("or with --permission-mode.)")  # and no second stop
        assert results[1].text == "did read"
        assert [denial.tool_use_id for denial in at.gate.denials] == ["write"]


async def test_nothing_is_made_outside_the_folder(folder: Path) -> None:
    outside = folder.parent / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("top\n")
    (folder.parent / "work-evil").mkdir()
    (folder.parent / "work-evil/f.txt").write_text("evil\n")
    (folder / "dirlink").symlink_to(outside)
    (folder / "filelink").symlink_to(outside / "secret.txt")
    (folder / "dangling").symlink_to(outside / "new.txt")
    calls = [
        ToolUse(id=f"r{at}", name="Read", input={"file_path": path})
        for at, path in enumerate(
            [
                "../outside/secret.txt",
                str(folder / "../outside/secret.txt"),
                "dirlink/secret.txt",
                "filelink",
                "../work-evil/f.txt",
            ]
        )
    ]
    calls += [
        ToolUse(id=f"w{at}", name="Write", input={"file_path": path, "content": "x"})
        for at, path in enumerate(["dangling", "dirlink/new2.txt"])
    ]
    calls += [ToolUse(id="g", name="Glob", input={"pattern": "../**"})]

    async with bench(folder, tools=built_in(), mode=PermissionMode.ACCEPT_EDITS) as at:
        results = await at.run(*calls)

    assert all(result.is_error for result in results)
    assert all("outside the working folder" in result.text for result in results)
    assert sorted(path.name for path in outside.iterdir()) == ["secret.txt"]


# --- interrupts ------------------------------------------------------------------------------


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


# --- the folder ------------------------------------------------------------------------------


async def test_the_folder_a_command_moved_to_counts_from_then_on(folder: Path) -> None:
    tools = built_in()
    async with bench(folder, tools=tools) as at:
        results = await at.run(
            ToolUse(id="m", name="Bash", input={"command": "mkdir sub; cd sub"}),
            ToolUse(id="w", name="Write", input={"file_path": "a.txt", "content": "x"}),
        )

        assert not results[1].is_error
        assert (folder / "sub/a.txt").exists()
        assert at.context.cwd == str(folder / "sub")
    tools["Bash"].close()


# --- hooks -----------------------------------------------------------------------------------


class Hooks:
    def __init__(self, before: Before | None = None, after: After | None = None) -> None:
        self._before, self._after = before or Before(), after

    def watches(self, tool: str) -> bool:
        return True

    async def before(self, call: ToolUse, context: ToolUseContext) -> Before:
        return self._before

    async def after(self, call: ToolUse, result: ToolResult, context: ToolUseContext) -> After:
        if self._after is None:
            raise RuntimeError("hook broke")
        return self._after


async def test_a_hook_can_block_and_change_and_comment_and_stop(folder: Path) -> None:
    no = Decision(verdict=Verdict.DENY, reason="a hook blocked it: not today")
    blocking = Hooks(Before(said=no), After())
    async with bench(folder, hooks=blocking) as at:
        at.executor.offer(step("a"))
        assert texts(await at.run(step("a"))) == [
            "Permission denied: a hook blocked it: not today."
        ]
        assert at.step.log == []

    changing = Hooks(Before(arguments={"id": "b"}), After(feedback="well done", stop="enough"))
    async with bench(folder, hooks=changing) as at:
        ran = await at.executor.run(reply(step("a")), at.context)
        assert at.recorded[0].content == (ToolResult("a", _text("did b", "well done")),)
        assert ran.hook_stopped == "enough"


async def test_a_hook_that_breaks_after_the_tool_makes_no_second_result(folder: Path) -> None:
    async with bench(folder, hooks=Hooks()) as at:
        (result,) = await at.run(step("a"))

        assert result.text == "did a\n(A hook failed after this call: hook broke)"
        assert not result.is_error


async def _open_after(event: anyio.Event, gate: anyio.Event) -> None:
    await event.wait()
    gate.set()


async def _press_after(event: anyio.Event, button: Button) -> None:
    await event.wait()
    button.press()


def _text(*said: str) -> tuple[Text, ...]:
    return tuple(Text(one) for one in said)
