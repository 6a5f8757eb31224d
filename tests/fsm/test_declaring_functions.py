"""Which functions may be guards and reducers: those that fit by their annotations."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import pytest
from attrs import define

from fsm import at, machine, to, when
from tests.fsm.declared import A_TO_B, B_TO_Z, Loop, Other, S, Told, built, ok, refused


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
