"""How calls end when they do not run to their own end, and what each is told of it."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import anyio
import pytest

from fsm import Step
from interlock.options import PermissionMode
from interlock.permissions import Decision, Rules
from interlock.permissions.ask import Answer
from interlock.permissions.decision import Question
from interlock.tools import After, Before, built_in
from interlock.tools.calls import prepared
from interlock.tools.lifecycle import Aborted, CallFacts, CallState, Judged
from phases.world.limits import Limits
from phases.world.loop import ToolUseContext
from phases.world.messages import ToolResult, ToolUse
from phases.world.updates import ToolProgress, ToolRunning, ToolStarted, Update
from tests.tools.running import Bench, bench, step

T = TypeVar("T")


def bash(name: str, command: str) -> ToolUse:
    return ToolUse(id=name, name="Bash", input={"command": command})


def told(at: Bench, call: str, outcome: type[T]) -> T:
    """What the machine of this call was told, of this kind, last."""
    mine = [one.outcome for one in at.steps if one.before.id == call]
    return [one for one in mine if isinstance(one, outcome)][-1]


# --- the record ------------------------------------------------------------------------------


async def test_why_a_call_was_permitted_or_denied_is_in_its_record(folder: Path) -> None:
    rules = Rules.parse(allow=["Step"], deny=["Bash(rm:*)"])
    tools = built_in()
    async with bench(folder, tools=tools, rules=rules, mode=PermissionMode.DEFAULT) as at:
        await at.run(step("ok", effects=True), bash("no", "rm -r x"), bash("asks", "make"))

        assert told(at, "ok", Judged) == Judged(
            allowed=True, reason="the rule Step allows it", rule="Step"
        )
        assert told(at, "no", Judged) == Judged(
            allowed=False, reason="the rule Bash(rm:*) forbids it", rule="Bash(rm:*)"
        )
        assert "without anyone to ask" in told(at, "asks", Judged).reason
        assert at.path("ok") == ["queued", "checking", "permitted", "running", "done"]
        assert at.path("no") == at.path("asks") == ["queued", "checking", "denied"]


async def test_what_keeps_the_question_from_being_put_is_a_failure_and_no_denial(
    folder: Path,
) -> None:
    read = ToolUse(id="r", name="Read", input={"file_path": "a\0b"})
    async with bench(folder, tools=built_in()) as at:
        (result,) = await at.run(read)

        assert result.is_error
        assert told(at, "r", Judged).broke
        assert at.path("r") == ["queued", "checking", "failed"]
        assert at.gate.denials == []


async def test_that_a_call_begins_is_written_before_its_tool_starts(folder: Path) -> None:
    order: list[str] = []

    def taken(step: Step[CallFacts]) -> None:
        if step.edge.destination is CallState.RUNNING:
            order.extend([f"written {step.before.id}", *at.step.log])

    async with bench(folder, taken=taken) as at:
        await at.run(step("a", effects=True, safe=False), step("b", effects=True, safe=False))

    assert order == ["written a", "written b", "+a", "-a"]


async def test_a_call_whose_beginning_cannot_be_written_does_not_begin(folder: Path) -> None:
    def full(step: Step[CallFacts]) -> None:
        if step.edge.destination is CallState.RUNNING:
            raise OSError(28, "no space left")

    async with bench(folder, taken=full) as at:
        with pytest.raises(OSError, match="no space left"):
            await at.run(step("a", effects=True))

        assert at.step.log == []


async def test_a_limit_of_the_executor_and_one_of_the_tools_own_are_both_told(
    folder: Path,
) -> None:
    tools = built_in()
    slow = ToolUse(id="own", name="Bash", input={"command": "sleep 60", "timeout": 1})
    async with bench(folder, tools=tools) as at:
        at.step.time_limit = 0.0
        at.step.gate("slow")
        results = await at.run(step("slow"), slow)

        assert at.path("slow")[-1] == at.path("own")[-1] == "timed_out"
        assert "took over 0 s" in results[0].text
        assert "Ended at the time limit of 0.001 s" in results[1].text
    tools["Bash"].close()


# --- siblings --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "safe", "effects"),
    [("make", False, True), ("git status", True, True), ("cat x", True, False)],
)
async def test_the_line_of_a_command_says_whether_it_runs_beside_others(
    command: str, safe: bool, effects: bool
) -> None:
    facts = prepared(bash("b", command), built_in()).facts

    assert (facts.safe, facts.effects) == (safe, effects)


async def test_one_that_fails_ends_those_that_run_beside_it_and_says_so(folder: Path) -> None:
    tools = built_in()
    (folder / "a.txt").write_text("alpha\n")
    begun = anyio.Event()

    def on(update: Update) -> None:
        if isinstance(update, ToolProgress) and update.tool_use_id == "follows":
            begun.set()

    calls = (
        bash("follows", "tail -f a.txt"),
        step("read"),
        bash("fails", "cat missing.txt"),
        bash("next", "echo later > b.txt"),
    )
    over = anyio.Event()

    def taken(step: Step[CallFacts]) -> None:
        if step.edge.destination is CallState.ABORTED:
            over.set()

    async with bench(folder, tools=tools, on=on, taken=taken) as at:
        at.executor.offer(calls[0])  # `tail` has printed before `cat` begins
        await begun.wait()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_open_after, over, at.step.gate("read"))
            results = await at.run(*calls)

        assert [one.is_error for one in results] == [True, False, True, False]
        assert results[0].text == (
            "Cancelled while it ran, because the Bash call fails beside it failed. Output until"
            " then:\nalpha"
        )
        assert results[1].text == "did read"
        assert "missing.txt" in results[2].text
        assert told(at, "follows", Aborted).because == "the Bash call fails beside it failed"
        assert at.path("follows")[-2:] == ["running", "aborted"]
        assert at.path("next")[-1] == "done"  # it was not beside it
    tools["Bash"].close()


async def test_a_sibling_that_waits_for_a_place_does_not_run_any_more(folder: Path) -> None:
    async with bench(folder, limits=Limits(max_concurrent_tools=1)) as at:
        at.step.falls_with_siblings = True
        results = await at.run(step("fails", does="raise"), step("waits"))

        assert results[1].text == (
            "Not run: cancelled because the Step call fails beside it failed."
        )
        assert at.path("waits") == ["queued", "checking", "permitted", "aborted"]
        assert at.started == ["fails"]


async def test_a_sibling_that_a_person_is_asked_about_is_asked_about_no_longer(
    folder: Path,
) -> None:
    rules = Rules.parse(allow=["Step"])
    (folder / "a.txt").write_text("alpha\n")
    tools = built_in()
    silent = Silent()
    async with bench(
        folder, tools=tools, rules=rules, mode=PermissionMode.DEFAULT, asker=silent
    ) as at:
        at.step.falls_with_siblings = True
        gate = at.step.gate("fails")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_open_after, silent.asked, gate)
            results = await at.run(step("fails", does="raise"), bash("asks", "cat a.txt"))

        assert results[1].text.startswith("Not run: cancelled because the Step call fails")
        assert at.path("asks") == ["queued", "checking", "aborted"]
        assert at.gate.denials == []
    tools["Bash"].close()


async def test_a_denied_call_takes_nobody_with_it(folder: Path) -> None:
    rules = Rules.parse(deny=["Bash(cat:*)"], allow=["Step"])
    tools = built_in()
    async with bench(folder, tools=tools, rules=rules, mode=PermissionMode.DEFAULT) as at:
        at.step.falls_with_siblings = True
        results = await at.run(bash("no", "cat x"), step("runs"))

        assert [one.is_error for one in results] == [True, False]
    tools["Bash"].close()


# --- interrupts ------------------------------------------------------------------------------


async def test_an_interrupt_finds_each_call_where_it_stands(folder: Path) -> None:
    async with bench(folder, limits=Limits(max_concurrent_tools=1)) as at:
        at.step.gate("runs")

        async def press() -> None:
            await at.step.begins("runs").wait()
            await anyio.wait_all_tasks_blocked()
            at.button.press()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(press)
            results = await at.run(step("runs"), step("waits"), step("queued", safe=False))

        assert at.path("runs") == ["queued", "checking", "permitted", "running", "interrupted"]
        assert at.path("waits") == ["queued", "checking", "permitted", "interrupted"]
        assert at.path("queued") == ["queued", "interrupted"]
        assert [one.text.startswith("Interrupted by the user") for one in results] == [True] * 3


async def test_an_interrupt_while_a_person_is_asked_is_no_denial(folder: Path) -> None:
    silent = Silent()
    async with bench(folder, mode=PermissionMode.DEFAULT, asker=silent) as at:

        async def press() -> None:
            await silent.asked.wait()
            at.button.press()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(press)
            (result,) = await at.run(step("asks", effects=True))

        assert result.text == "Interrupted by the user before it started."
        assert at.path("asks") == ["queued", "checking", "interrupted"]
        assert at.gate.denials == []


async def test_a_result_whose_hooks_are_cut_short_is_still_the_result(folder: Path) -> None:
    hooks = SlowHooks()
    async with bench(folder, hooks=hooks) as at:

        async def press() -> None:
            await hooks.told.wait()
            at.button.press()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(press)
            (result,) = await at.run(step("a"))

        assert result.text == "did a"
        assert at.path("a")[-1] == "done"


async def test_a_dropped_reply_leaves_the_record_of_what_had_begun(folder: Path) -> None:
    async with bench(folder) as at:
        at.step.gate("old")
        at.executor.offer(step("old"))
        at.executor.offer(step("writes", effects=True))
        await at.step.begins("old").wait()

        at.executor.drop()

        assert at.path("old") == ["queued", "checking", "permitted", "running", "aborted"]
        assert at.path("writes") == ["queued", "queued", "aborted"]
        assert told(at, "old", Aborted).because == "its reply was dropped"


# --- signs of life ---------------------------------------------------------------------------


async def test_a_call_that_runs_long_gives_signs_of_life_until_it_ends(folder: Path) -> None:
    seen: list[ToolRunning] = []
    twice = anyio.Event()

    def on(update: Update) -> None:
        if isinstance(update, ToolRunning):
            seen.append(update)
            if len(seen) == 2:
                twice.set()

    async with bench(folder, limits=Limits(tool_heartbeat_s=0.01), on=on) as at:
        gate = at.step.gate("slow")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_open_after, twice, gate)
            await at.run(step("slow"), step("quick"))
        kinds = [type(one) for one in at.shown if getattr(one, "call", step("slow")).id == "slow"]

    assert {one.call.id for one in seen} == {"slow"}
    assert 0.01 <= seen[0].seconds < seen[1].seconds
    assert kinds.index(ToolStarted) < kinds.index(ToolRunning)


# --- people and hooks ------------------------------------------------------------------------


class Silent:
    """A person who is asked and never answers."""

    def __init__(self) -> None:
        self.asked = anyio.Event()

    async def ask(self, question: Question, decision: Decision) -> Answer:
        self.asked.set()
        await anyio.sleep_forever()
        raise AssertionError("nobody wakes it")


class SlowHooks:
    """Hooks that never come to their end once the tool has run."""

    def __init__(self) -> None:
        self.told = anyio.Event()

    def watches(self, tool: str) -> bool:
        return True

    async def before(self, call: ToolUse, context: ToolUseContext) -> Before:
        return Before()

    async def after(self, call: ToolUse, result: ToolResult, context: ToolUseContext) -> After:
        self.told.set()
        await anyio.sleep_forever()
        raise AssertionError("nobody wakes it")


async def _open_after(event: anyio.Event, gate: anyio.Event) -> None:
    await event.wait()
    gate.set()
