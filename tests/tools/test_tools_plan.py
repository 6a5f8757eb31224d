"""Plan mode: nothing changes until a person has approved the plan they were shown."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from attrs import define, field

from interlock.options import PermissionMode
from interlock.permissions import Answer, Asker, Decision, NobodyAsks, Question
from interlock.planning import Planning
from interlock.tools import built_in, names
from phases.world.messages import ToolResult, ToolUse
from tests.tools.places import Place
from tests.tools.running import Bench, bench


@define
class Says:
    """A person who gives one answer, and what they were shown."""

    answer: Answer
    shown: list[str | None] = field(factory=list)

    async def ask(self, question: Question, decision: Decision) -> Answer:
        self.shown.append(await question.preview() if question.preview else None)
        return self.answer


YES = Answer(allowed=True, reason="the user allowed it")
NO = Answer(allowed=False, reason="the user said no: first the tests")


@define
class Late:
    """Plan mode of a gate that is made after its tools."""

    to: Planning | None = None

    @property
    def active(self) -> bool:
        assert self.to is not None
        return self.to.active

    def enter(self) -> str | None:
        assert self.to is not None
        return self.to.enter()

    def leave(self, plan: str) -> str:
        assert self.to is not None
        return self.to.leave(plan)


@asynccontextmanager
async def session(place: Place, mode: PermissionMode, asker: Asker) -> AsyncIterator[Bench]:
    late = Late()
    async with bench(place.folder, tools=built_in(plan=late), mode=mode, asker=asker) as run:
        late.to = Planning(run.gate, alone=isinstance(run.gate.asker, NobodyAsks))
        yield run


async def call(run: Bench, name: str, **arguments: str) -> ToolResult:
    (result,) = await run.run(ToolUse(id=f"toolu_{name}", name=name, input=arguments))
    return result


PLAN = "1. change a.txt\n2. run the tests"


async def test_nothing_is_written_before_the_plan_is_approved(place: Place) -> None:
    person = Says(YES)
    async with session(place, PermissionMode.ACCEPT_EDITS, person) as run:
        entered = await call(run, "EnterPlanMode")
        too_early = await call(run, "Write", file_path="a.txt", content="x")
        read = await call(run, "Glob", pattern="*")
        left = await call(run, "ExitPlanMode", plan=PLAN)
        written = await call(run, "Write", file_path="a.txt", content="x")

    assert not entered.is_error
    assert too_early.is_error
    assert "plan" in too_early.text
    assert not read.is_error
    assert left.text.startswith("The plan is approved; the permission mode is acceptEdits again.")
    assert person.shown == [PLAN]
    assert not written.is_error


async def test_a_refusal_goes_back_to_planning_with_the_persons_words(place: Place) -> None:
    async with session(place, PermissionMode.PLAN, Says(NO)) as run:
        left = await call(run, "ExitPlanMode", plan=PLAN)
        mode = run.gate.judge.mode

    assert left.is_error
    assert "first the tests" in left.text
    assert mode is PermissionMode.PLAN


async def test_a_session_that_began_in_plan_mode_goes_on_in_the_default_mode(place: Place) -> None:
    async with session(place, PermissionMode.PLAN, Says(YES)) as run:
        await call(run, "ExitPlanMode", plan=PLAN)

        assert run.gate.judge.mode is PermissionMode.DEFAULT


async def test_where_nobody_can_be_asked_the_plan_stays_a_plan(place: Place) -> None:
    async with session(place, PermissionMode.PLAN, NobodyAsks()) as run:
        left = await call(run, "ExitPlanMode", plan=PLAN)
        mode = run.gate.judge.mode

    assert left.is_error
    assert "without anyone to ask" in left.text
    assert mode is PermissionMode.PLAN


async def test_where_nobody_can_be_asked_plan_mode_is_not_entered(place: Place) -> None:
    async with session(place, PermissionMode.ACCEPT_EDITS, NobodyAsks()) as run:
        entered = await call(run, "EnterPlanMode")
        written = await call(run, "Write", file_path="a.txt", content="x")

    assert "nobody could approve a plan" in entered.text
    assert entered.is_error
    assert not written.is_error


async def test_entering_twice_keeps_the_mode_before(place: Place) -> None:
    async with session(place, PermissionMode.ACCEPT_EDITS, Says(YES)) as run:
        await call(run, "EnterPlanMode")
        again = await run.run(ToolUse(id="toolu_2", name="EnterPlanMode", input={}))
        await call(run, "ExitPlanMode", plan=PLAN)

        assert "on already" in again[0].text
        assert run.gate.judge.mode is PermissionMode.ACCEPT_EDITS


async def test_an_empty_plan_and_a_plan_out_of_season_are_refused(place: Place) -> None:
    async with session(place, PermissionMode.PLAN, Says(YES)) as run:
        empty = await call(run, "ExitPlanMode", plan=" ")
        assert run.gate.judge.mode is PermissionMode.PLAN
    async with session(place, PermissionMode.DEFAULT, Says(YES)) as run:
        idle = await call(run, "ExitPlanMode", plan=PLAN)

    assert "is empty" in empty.text
    assert "is not on" in idle.text


def test_the_tools_are_on_offer_only_where_a_mode_can_be_changed() -> None:
    assert "ExitPlanMode" not in built_in()
    assert "ExitPlanMode" in names()
