"""A table that is wrong never becomes a machine, and the error names the row."""

from __future__ import annotations

from enum import StrEnum

import pytest
from attrs import frozen

from fsm import at, composite_of, everywhere, to, when
from tests.fsm.declared import A_TO_B, B_TO_Z, Other, S, Told, built, ok, refused
from tests.fsm.doors import DOOR, TURNSTILE, At, Coin, Gate, Knocked, Stumbled, Walked


def test_a_row_becomes_one_edge_for_each_way_in_the_order_written() -> None:
    made = built(at(S.A, Told, when(ok, go=S.B), otherwise=to(S.Z)), B_TO_Z)

    assert [str(edge) for edge in made.edges] == [
        "a --Told[ok]--> b",
        "a --Told[otherwise]--> z (z)",
        "b --Told[otherwise]--> z (z)",
    ]


def test_an_edge_is_called_by_its_reducer_and_one_into_an_ending_by_the_ending() -> None:
    by_ends = {(edge.source, edge.destination): edge for edge in DOOR.edges}

    assert by_ends[At.KNOCKING, At.PAUSE].reason == "another_try"
    assert by_ends[At.KNOCKING, At.WENT_IN].reason == "went_in"
    assert by_ends[At.READY, At.KNOCKING].reason is None


def test_an_edge_closes_an_iteration_if_it_ends_or_goes_back_to_the_start() -> None:
    closing = {(edge.source, edge.destination) for edge in DOOR.edges if edge.closes}

    assert (At.KNOCKING, At.READY) in closing
    assert (At.KNOCKING, At.WENT_IN) in closing
    assert (At.PAUSE, At.KNOCKING) not in closing


def test_a_general_row_stands_in_every_state_after_the_row_it_must_not_overtake() -> None:
    rows = DOOR.rows[At.KNOCKING, Stumbled]

    assert [(edge.guard_names, edge.destination) for edge in rows] == [
        (("called",), At.CALLED_AWAY),
        ((), At.FELL),
    ]


def test_a_state_that_knows_two_outcomes_has_a_general_row_only_once() -> None:
    general = [edge for edge in TURNSTILE.edges if edge.general]

    assert [edge.source for edge in general] == [Gate.LOCKED, Gate.OPEN]


def test_the_outcome_of_a_states_own_work_is_not_the_general_one() -> None:
    assert DOOR.outcomes_of(At.KNOCKING) == (Knocked, Stumbled)
    assert DOOR.phase_outcome(At.KNOCKING) is Knocked
    assert DOOR.phase_outcome(At.READY) is Walked
    assert TURNSTILE.phase_outcome(Gate.LOCKED) is Coin


def test_the_guards_of_a_machine_are_listed_once_each() -> None:
    assert [guard.__name__ for guard in DOOR.guards] == [
        "called",
        "invited",
        "silent",
        "tries_left",
        "keys_left",
        "oil_left",
        "days_left",
    ]


def test_a_dot_makes_a_state_part_of_a_composite_one() -> None:
    assert composite_of(At.PAUSE) == "waiting"
    assert composite_of(At.READY) is None


def test_a_destination_must_be_a_state_of_the_machine() -> None:
    error = refused(at(S.A, Told, otherwise=to(At.READY)), B_TO_Z)

    assert error.edge == "a --Told[otherwise]--> ready"
    assert error.problem == "unknown state ready"


def test_the_first_state_and_the_endings_must_be_states_too() -> None:
    assert refused(A_TO_B, B_TO_Z, initial=At.READY).problem == "is not one of its states"
    assert refused(A_TO_B, B_TO_Z, endings=(At.FELL,)).edge == "state fell"


def test_nothing_leaves_an_ending() -> None:
    error = refused(A_TO_B, B_TO_Z, at(S.Z, Told, otherwise=to(S.A)))

    assert (error.edge, error.problem) == ("z --Told[otherwise]--> a", "z is an ending")


def test_a_state_that_no_edge_leads_to_is_refused() -> None:
    error = refused(at(S.A, Told, otherwise=to(S.Z)), B_TO_Z)

    assert (error.edge, error.problem) == ("state b", "no edge leads there")


def test_a_state_from_which_no_way_leads_to_an_ending_is_refused() -> None:
    error = refused(
        at(S.A, Told, when(ok, go=S.B), otherwise=to(S.Z)), at(S.B, Told, otherwise=to(S.B))
    )

    assert (error.edge, error.problem) == ("state b", "no way leads from it to an ending")


def test_two_equal_edges_are_refused() -> None:
    error = refused(at(S.A, Told, when(ok, go=S.B), when(ok, go=S.Z), otherwise=to(S.Z)), B_TO_Z)

    assert (error.edge, error.problem) == ("a --Told[ok]--> z (z)", "stands twice")


def test_an_edge_behind_one_that_always_holds_is_refused() -> None:
    error = refused(at(S.A, Told, when(go=S.B), when(ok, go=S.Z), otherwise=to(S.Z)), B_TO_Z)

    assert error.edge == "a --Told[ok]--> z (z)"
    assert error.problem == "can never be taken: the edge before it always holds"


def test_one_outcome_declared_in_two_places_is_refused() -> None:
    error = refused(A_TO_B, at(S.A, Told, otherwise=to(S.Z)), B_TO_Z)

    assert error.edge == "a --Told[otherwise]--> z (z)"
    assert error.problem == "can never be taken: the edge before it always holds"


def test_the_last_edge_of_a_source_must_have_no_guard() -> None:
    error = refused(at(S.A, Told, otherwise=when(ok, go=S.B)), B_TO_Z)

    assert error.edge == "a --Told[ok]--> b"
    assert "an outcome could get stuck" in error.problem


@pytest.mark.parametrize("name", ["Upper", "with space", "end", "a.b.c", "1st", ""])
def test_a_state_needs_a_plain_name(name: str) -> None:
    states = StrEnum("states", {"A": "a", "BAD": name})
    first, bad = list(states)

    error = refused(
        at(first, Told, otherwise=to(bad)), states=states, initial=first, endings=(bad,)
    )

    assert error.edge == f"state {name}"
    assert "plain lower_case name" in error.problem


def test_two_outcome_types_must_not_share_a_name() -> None:
    @frozen
    class Told:
        pass

    error = refused(A_TO_B, at(S.B, Told, otherwise=to(S.Z)))

    assert error.edge == "b --Told[otherwise]--> z (z)"
    assert error.problem == "another outcome type has the same name"


def test_a_general_row_may_stand_before_or_after_the_others() -> None:
    general = everywhere(Other, go=S.Z)

    first, last = built(general, A_TO_B, B_TO_Z), built(A_TO_B, B_TO_Z, general)

    assert first.edges == last.edges
