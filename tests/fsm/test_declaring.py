"""A table that is wrong never becomes a machine, and the error names the row."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import Any, Protocol

import pytest
from attrs import define, frozen

from fsm import (
    DeclarationError,
    Everywhere,
    Machine,
    Node,
    at,
    composite_of,
    everywhere,
    machine,
    to,
    when,
)
from tests.fsm.doors import DOOR, TURNSTILE, At, Coin, Gate, Knocked, Stumbled, Walked


class S(StrEnum):
    A = "a"
    B = "b"
    Z = "z"


@frozen
class Loop:
    n: int


@frozen
class Told:
    ok: bool = True


@frozen
class Other:
    pass


def keep(loop: Loop, outcome: object) -> Loop:
    return loop


def ok(loop: Loop, outcome: Told) -> bool:
    return outcome.ok


def built(
    *rows: Node[Loop] | Everywhere,
    states: type[StrEnum] = S,
    initial: StrEnum = S.A,
    endings: tuple[StrEnum, ...] = (S.Z,),
    keep: Callable[[Loop, Any], Loop] = keep,
) -> Machine[Loop]:
    return machine(
        "m", *rows, loop=Loop, states=states, initial=initial, endings=endings, keep=keep
    )


def refused(*rows: Node[Loop] | Everywhere, **others: Any) -> DeclarationError:
    with pytest.raises(DeclarationError) as caught:
        built(*rows, **others)
    return caught.value


A_TO_B: Node[Loop] = at(S.A, Told, otherwise=to(S.B))
B_TO_Z: Node[Loop] = at(S.B, Told, otherwise=to(S.Z))


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


# Each of these stands where `ok` could; all are wrong, and the type checker sees most of them.


async def is_async(loop: Loop, outcome: Told) -> bool:
    return True


def is_a_generator(loop: Loop, outcome: Told) -> Iterator[bool]:
    yield False


async def is_an_async_generator(loop: Loop, outcome: Told) -> Any:
    yield False


def takes_another_loop(loop: Told, outcome: Told) -> bool:
    return True


def takes_another_outcome(loop: Loop, outcome: Other) -> bool:
    return True


def takes_one(loop: Loop) -> bool:
    return True


def says_a_number(loop: Loop, outcome: Told) -> int:
    return 1


def may_say_nothing(loop: Loop, outcome: Told) -> bool | None:
    return None


class HasSize(Protocol):
    size: int


def asks_for_more(loop: Loop, outcome: HasSize) -> bool:
    return bool(outcome.size)


class AsyncCall:
    __name__ = "async_call"

    async def __call__(self, loop: Loop, outcome: Told) -> bool:
        return True


@pytest.mark.parametrize(
    ("guard", "problem"),
    [
        (is_async, "guard is_async is async; decisions are not"),
        (AsyncCall(), "guard async_call is async; decisions are not"),
        (is_a_generator, "guard is_a_generator is a generator: what it returns is always true"),
        (
            is_an_async_generator,
            "guard is_an_async_generator is a generator: what it returns is always true",
        ),
        (
            takes_another_loop,
            "guard takes_another_loop takes Told as loop, but is given Loop",
        ),
        (
            takes_another_outcome,
            "guard takes_another_outcome takes Other as outcome, but is given Told",
        ),
        (takes_one, "guard takes_one must take (loop, outcome)"),
        (says_a_number, "guard says_a_number returns int, not bool"),
        (may_say_nothing, "guard may_say_nothing returns bool | None, not bool"),
        (asks_for_more, "guard asks_for_more takes HasSize as outcome, but is given Told"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_guard_that_does_not_fit_is_refused(guard: Any, problem: str) -> None:
    error = refused(at(S.A, Told, when(guard, go=S.B), otherwise=to(S.Z)), B_TO_Z)

    assert error.edge.startswith("a --Told[")
    assert error.problem == problem


@pytest.mark.parametrize("guard", [lambda loop, outcome: True, functools.partial(ok)])
def test_a_guard_without_a_name_is_refused_because_records_call_it_by_name(guard: Any) -> None:
    error = refused(at(S.A, Told, when(guard, go=S.B), otherwise=to(S.Z)), B_TO_Z)

    assert "needs a plain name" in error.problem


def test_a_reducer_must_make_the_machines_loop() -> None:
    def forgets(loop: Loop, outcome: Told) -> None:
        return None

    error = refused(at(S.A, Told, otherwise=to(S.B, then=forgets)), B_TO_Z)  # type: ignore[arg-type]

    assert error.edge == "a --Told[otherwise]--> b (forgets)"
    assert error.problem == "reducer forgets returns NoneType, not Loop"


def test_the_reducer_of_edges_that_name_none_is_checked_as_well() -> None:
    def keeps_another(loop: Other, outcome: object) -> Other:
        return loop

    error = refused(A_TO_B, B_TO_Z, keep=keeps_another)

    assert error.problem == "reducer keeps_another takes Other as loop, but is given Loop"


def test_two_guards_of_one_source_must_not_share_a_name() -> None:
    def another() -> Callable[[Loop, Told], bool]:
        def ok(loop: Loop, outcome: Told) -> bool:
            return not outcome.ok

        return ok

    error = refused(
        at(S.A, Told, when(ok, go=S.B), when(another(), go=S.Z), otherwise=to(S.Z)), B_TO_Z
    )

    assert error.problem == "two guards are called ok"


def test_two_outcome_types_must_not_share_a_name() -> None:
    @frozen
    class Told:
        pass

    error = refused(A_TO_B, at(S.B, Told, otherwise=to(S.Z)))

    assert error.edge == "b --Told[otherwise]--> z (z)"
    assert error.problem == "another outcome type has the same name"


class HasOk(Protocol):
    @property
    def ok(self) -> bool: ...


@define(slots=False)
class Unslotted:
    ok: bool


def fits_any(loop: Any, outcome: Any) -> bool:
    return True


def fits_object(loop: object, outcome: object) -> bool:
    return True


def fits_a_protocol(loop: Loop, outcome: HasOk) -> bool:
    return outcome.ok


def fits_a_union(loop: Loop, outcome: Told | Other) -> bool:
    return True


def fits_without_annotations(loop, outcome):  # type: ignore[no-untyped-def]
    return True


@pytest.mark.parametrize(
    "guard", [fits_any, fits_object, fits_a_protocol, fits_a_union, fits_without_annotations]
)
def test_a_guard_may_ask_for_less_than_the_whole_outcome(guard: Any) -> None:
    assert built(at(S.A, Told, when(guard, go=S.B), otherwise=to(S.Z)), B_TO_Z).edges


def test_a_protocol_is_met_by_fields_that_are_no_slots() -> None:
    assert built(
        at(S.A, Unslotted, when(fits_a_protocol, go=S.B), otherwise=to(S.Z)), B_TO_Z
    ).edges


def test_a_loop_of_a_generic_type_is_accepted_by_functions_that_name_its_parameter() -> None:
    def keep_pair(loop: tuple[int, ...], outcome: object) -> tuple[int, ...]:
        return loop

    made = machine(
        "pairs",
        at(S.A, Told, otherwise=to(S.B)),
        at(S.B, Told, otherwise=to(S.Z)),
        loop=tuple,
        states=S,
        initial=S.A,
        endings=[S.Z],
        keep=keep_pair,
    )

    assert len(made.edges) == 2


def test_a_general_row_may_stand_before_or_after_the_others() -> None:
    general = everywhere(Other, go=S.Z)

    first, last = built(general, A_TO_B, B_TO_Z), built(A_TO_B, B_TO_Z, general)

    assert first.edges == last.edges
