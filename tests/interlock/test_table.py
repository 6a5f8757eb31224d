"""The table, the phases and the pictures say the same."""

from __future__ import annotations

from pathlib import Path
from typing import get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsm import LiveMachine, UndeclaredOutcome, decide
from fsm.draw import markdown, mermaid
from interlock.drive import ACTS
from interlock.model_check import starts
from interlock.table import LOOP
from phases.world.loop import Loop, Reason
from phases.world.outcomes import Outcome, Weighed
from phases.world.states import ENDINGS, State

DIAGRAMS = Path(__file__).parents[2] / "diagrams"


@pytest.mark.parametrize("state", ACTS, ids=str)
def test_what_a_phase_returns_is_what_the_table_expects_of_it(state: State) -> None:
    assert get_type_hints(ACTS[state])["return"] is LOOP.phase_outcome(state)


def test_every_state_but_the_endings_has_a_phase() -> None:
    assert set(ACTS) == set(State) - ENDINGS


def test_each_continue_reason_stands_on_one_edge_back_to_the_start() -> None:
    back = [edge.reason for edge in LOOP.edges if edge.destination is State.PREPROCESS]

    assert sorted(back, key=str) == sorted(reason.value for reason in Reason)


def test_each_terminal_reason_is_the_name_of_its_ending() -> None:
    closing = [edge for edge in LOOP.edges if edge.destination in ENDINGS]

    assert {edge.reason for edge in closing} == {ending.value for ending in ENDINGS}
    assert all(edge.reason == edge.destination.value for edge in closing)


@given(st.data())
def test_the_live_machine_and_the_compiled_one_agree(data: st.DataObject) -> None:
    loop: Loop = data.draw(st.sampled_from(starts()))
    machine = LiveMachine(LOOP)
    while not machine.ended:
        told = [
            specimen for kind in LOOP.outcomes_of(machine.state) for specimen in kind.specimens()
        ]
        outcome: Outcome = data.draw(st.sampled_from(told))
        expected = decide(LOOP, machine.state, loop, outcome)

        step = machine.tell(loop, outcome)

        assert step == expected
        assert machine.state is expected.edge.destination
        loop = step.after


def test_an_outcome_the_state_does_not_know_changes_nothing() -> None:
    machine = LiveMachine(LOOP)

    with pytest.raises(UndeclaredOutcome, match="preprocess"):
        machine.tell(starts()[0], Weighed())

    assert machine.state is State.PREPROCESS


def test_the_committed_pictures_are_those_of_the_table() -> None:
    assert (DIAGRAMS / "loop.mmd").read_text() == mermaid(LOOP)
    assert (DIAGRAMS / "loop.md").read_text() == markdown(LOOP)
