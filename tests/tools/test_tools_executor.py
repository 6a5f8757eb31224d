"""The executor: one truthful result for each call, permitted or not, with what hooks say to it."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from interlock.options import PermissionMode
from interlock.permissions import Decision, Verdict
from interlock.tools import After, Before, built_in
from interlock.tools.calls import SecondResult, prepared
from interlock.tools.lifecycle import TurnCame
from phases.world.limits import Limits
from phases.world.loop import ToolUseContext
from phases.world.messages import Kind, Message, Text, ToolResult, ToolUse
from phases.world.updates import ToolProgress
from tests.tools.running import REPLY_ID, bench, reply, step, texts


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


def _text(*said: str) -> tuple[Text, ...]:
    return tuple(Text(one) for one in said)
