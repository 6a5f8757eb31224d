"""One tool call as a machine: everything that can become of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from fsm import Guard, LiveMachine, UndeclaredOutcome, decide
from fsm.draw import markdown, mermaid
from interlock.call_check import STARTS, verdict_of_calls
from interlock.call_records import changes
from interlock.tools.lifecycle import (
    TOOL_CALL,
    Aborted,
    Began,
    CallFacts,
    CallState,
    Interrupted,
    Judged,
    Offered,
    Returned,
    TurnCame,
    check_broke,
    not_allowed,
    without_effects,
)

DIAGRAMS = Path(__file__).parents[2] / "diagrams"
FACTS = CallFacts(id="toolu_1", tool="Bash", effects=False, safe=True)
OUTCOMES = (Offered, TurnCame, Judged, Began, Returned, Aborted, Interrupted)
SPECIMENS: tuple[Any, ...] = tuple(one for kind in OUTCOMES for one in kind.specimens())


def path(*told: Any, facts: CallFacts = FACTS) -> list[str]:
    """Where a call comes along when it is told this."""
    state, visited = CallState.QUEUED, ["queued"]
    for outcome in told:
        step = decide(TOOL_CALL, state, facts, outcome)
        state, facts = CallState(step.edge.destination), step.after
        visited.append(state.value)
    return visited


ALLOWED = Judged(allowed=True, reason="the rule Bash(ls) allows it", rule="Bash(ls)")


def test_a_call_that_goes_well() -> None:
    way = path(TurnCame(), ALLOWED, Began(120.0), Returned(characters=5))

    assert way == ["queued", "checking", "permitted", "running", "done"]


def test_why_it_was_permitted_is_kept_with_the_call() -> None:
    step = decide(TOOL_CALL, CallState.CHECKING, FACTS, ALLOWED)

    assert step.after == evolve(FACTS, reason=ALLOWED.reason, rule="Bash(ls)")
    assert changes(step.before, step.after) == {
        "reason": [None, "the rule Bash(ls) allows it"],
        "rule": [None, "Bash(ls)"],
    }


@pytest.mark.parametrize(
    ("facts", "offered", "early"),
    [
        (FACTS, Offered(waits_for=0, clear=True), True),
        (evolve(FACTS, effects=True), Offered(waits_for=0, clear=True), False),
        (evolve(FACTS, safe=False), Offered(waits_for=0, clear=True), False),
        (FACTS, Offered(waits_for=1, clear=True), False),
        (FACTS, Offered(waits_for=0, clear=False), False),
    ],
    ids=["all is well", "effects", "not safe beside others", "behind another", "asks"],
)
def test_only_what_can_do_no_harm_starts_before_its_reply_is_whole(
    facts: CallFacts, offered: Offered, early: bool
) -> None:
    step = decide(TOOL_CALL, CallState.QUEUED, facts, offered)

    assert step.edge.destination is (CallState.CHECKING if early else CallState.QUEUED)
    assert step.after.early is early


@pytest.mark.parametrize("state", [one for one in CallState if one not in TOOL_CALL.endings])
def test_whatever_it_is_doing_it_can_be_ended_and_says_by_whom(state: CallState) -> None:
    def ends(outcome: object) -> object:
        return decide(TOOL_CALL, state, FACTS, outcome).edge.destination

    assert ends(Interrupted()) is CallState.INTERRUPTED
    assert ends(Aborted("its reply was dropped")) is CallState.ABORTED


@pytest.mark.parametrize("ending", sorted(TOOL_CALL.endings))
def test_a_call_that_is_over_can_be_told_nothing(ending: CallState) -> None:
    for outcome in SPECIMENS:
        with pytest.raises(UndeclaredOutcome):
            decide(TOOL_CALL, ending, FACTS, outcome)


def test_nothing_runs_that_was_not_permitted_and_nothing_returns_that_did_not_run() -> None:
    into = {
        state: {edge.source for edge in TOOL_CALL.edges if edge.destination is state}
        for state in CallState
    }

    assert into[CallState.RUNNING] == {CallState.PERMITTED}
    assert into[CallState.PERMITTED] == {CallState.CHECKING}
    assert into[CallState.DENIED] == {CallState.CHECKING}
    assert into[CallState.DONE] == into[CallState.TIMED_OUT] == {CallState.RUNNING}


def test_the_table_is_sound_over_everything_a_call_can_be_told() -> None:
    assert verdict_of_calls().findings == ()


@pytest.mark.parametrize(
    ("guard", "law"),
    [(without_effects, "law 8"), (not_allowed, "law 3"), (check_broke, "law 3")],
    ids=lambda each: getattr(each, "__name__", each),
)
def test_a_table_that_forgets_a_guard_is_found(guard: Guard, law: str) -> None:
    edges = [
        evolve(edge, guards=tuple(one for one in edge.guards if one is not guard))
        for edge in TOOL_CALL.edges
    ]

    found = verdict_of_calls(TOOL_CALL.with_edges(edges))

    assert law in {one.law for one in found.findings}


def test_the_committed_drawings_are_those_of_the_table() -> None:
    assert (DIAGRAMS / "tool_call.mmd").read_text() == mermaid(TOOL_CALL)
    assert (DIAGRAMS / "tool_call.md").read_text() == markdown(TOOL_CALL)


@pytest.mark.parametrize("state", list(CallState))
@pytest.mark.parametrize("outcome", SPECIMENS, ids=lambda one: type(one).__name__)
def test_the_compiled_table_decides_as_the_machine_itself(
    state: CallState, outcome: object
) -> None:
    for facts in STARTS:
        live = LiveMachine(TOOL_CALL, state)
        try:
            expected = decide(TOOL_CALL, state, facts, outcome)
        except UndeclaredOutcome:
            with pytest.raises(UndeclaredOutcome):
                live.tell(facts, outcome)
            assert live.state is state
            continue
        assert live.tell(facts, outcome) == expected
        assert live.state is expected.edge.destination
