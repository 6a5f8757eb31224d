"""A child agent has at most its parent's rights, at every depth and at every moment."""

from __future__ import annotations

from pathlib import Path

import pytest

from interlock.options import PermissionMode
from interlock.permissions import (
    Answer,
    ChildGate,
    Decision,
    Gate,
    Judge,
    NobodyAsks,
    Question,
    Rules,
    Update,
    UpdateKind,
)
from tests.permissions.questions import about, bash, call

WORK = Path("/repo")


def parent(mode: PermissionMode = PermissionMode.DEFAULT, **rules: tuple[str, ...]) -> Gate:
    return Gate(Judge.of(WORK, Rules.parse(**rules), mode), NobodyAsks())


def set_mode(mode: PermissionMode) -> Update:
    return Update(kind=UpdateKind.SET_MODE, mode=mode)


@pytest.mark.parametrize("generations", [1, 2, 3])
async def test_a_parent_that_plans_has_children_that_cannot_write(generations: int) -> None:
    gate: Gate | ChildGate = parent(PermissionMode.PLAN, allow=("Write", "Bash"))
    assert (await gate.settle(call("Task"))).allowed
    for _ in range(generations):
        gate = gate.child(Rules.parse(allow=("Write", "Bash")), PermissionMode.BYPASS_PERMISSIONS)

    assert not (await gate.settle(about("Write", "x.txt", WORK))).allowed
    assert not (await gate.settle(bash("echo x > y.txt", WORK))).allowed
    assert (await gate.settle(call("Task"))).allowed
    assert (await gate.settle(about("Read", "x.txt", WORK))).allowed
    assert [denial.tool_name for denial in gate.denials] == ["Write", "Bash"]


async def test_a_change_of_the_parents_mode_counts_for_children_at_once() -> None:
    gate = parent(PermissionMode.ACCEPT_EDITS)
    grandchild = gate.child().child()
    assert (await grandchild.settle(about("Write", "a", WORK))).allowed

    gate.apply(set_mode(PermissionMode.PLAN))
    assert not (await grandchild.settle(about("Write", "a", WORK))).allowed

    gate.apply(set_mode(PermissionMode.ACCEPT_EDITS))
    assert (await grandchild.settle(about("Write", "a", WORK))).allowed


async def test_a_childs_own_rules_bind_it_and_its_children_only() -> None:
    gate = parent(allow=("Bash(make:*)",))
    child = gate.child(Rules.parse(deny=("Bash(make:*)",), allow=("Bash(rm:*)",)))

    assert not (await child.settle(bash("make"))).allowed
    assert not (await child.child().settle(bash("make"))).allowed
    assert not (await child.settle(bash("rm x"))).allowed  # allowed to it, not to its parent
    assert (await gate.settle(bash("make"))).allowed


async def test_a_child_that_plans_under_a_parent_that_does_not() -> None:
    gate = parent(PermissionMode.BYPASS_PERMISSIONS)
    child = gate.child(mode=PermissionMode.PLAN)

    assert (await gate.settle(bash("make"))).allowed
    assert not (await child.settle(bash("make"))).allowed
    assert not (await child.child().settle(bash("make"))).allowed


def test_what_the_parent_may_not_see_the_child_may_not_either() -> None:
    child = parent(deny=("Read(.env)",)).child(Rules.parse(deny=("Read(*.key)",))).child()

    assert child.hides(WORK / ".env")
    assert child.hides(WORK / "a.key")
    assert not child.hides(WORK / "a.txt")


async def test_a_childs_question_goes_to_the_parents_person_and_always_counts_for_both() -> None:
    class Person:
        asked = 0

        async def ask(self, question: Question, decision: Decision) -> Answer:
            self.asked += 1
            return Answer(allowed=True, reason="yes", always=True)

    person = Person()
    gate = Gate(Judge.of(WORK, Rules(), PermissionMode.DEFAULT), person)

    assert (await gate.child().settle(bash("make all"))).allowed
    assert (await gate.child().child().settle(bash("make all"))).allowed
    assert (await gate.settle(bash("make all"))).allowed
    assert person.asked == 1
