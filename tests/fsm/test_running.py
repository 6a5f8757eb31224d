"""One step: the pure form and the live machine agree, and what is refused changes nothing."""

from __future__ import annotations

import asyncio
from enum import StrEnum
from typing import Any

import pytest
from attrs import frozen
from hypothesis import given
from hypothesis import strategies as st

from fsm import Edge, LiveMachine, Machine, Tried, UndeclaredOutcome, decide
from tests.fsm.doors import DOOR, TURNSTILE, At, Coin, Coins, Door, Gate, Knocked, Pushed, Walked
from tests.fsm.random_machines import Ping, Pong, machines


def test_a_step_tells_every_guard_that_was_looked_at_on_the_way() -> None:
    loop = Door(0, 0, 1, 0)

    step = decide(DOOR, At.KNOCKING, loop, Knocked("silence"))

    names = [(DOOR.edges[each.edge].destination, each.guard, each.value) for each in step.tried]
    assert names == [
        (At.CALLED_AWAY, "called", False),
        (At.WENT_IN, "invited", False),
        (At.PAUSE, "silent", True),
        (At.PAUSE, "tries_left", False),
        (At.READY, "keys_left", True),
    ]
    assert step.edge.reason == "another_key"
    assert (step.before, step.after) == (loop, Door(0, 0, 1, 0, keys=1))


def test_the_first_edge_whose_guards_all_hold_is_taken() -> None:
    step = decide(DOOR, At.KNOCKING, Door(9, 9, 9, 9), Knocked("come in", called=True))

    assert step.edge.destination == At.CALLED_AWAY
    assert step.tried == (Tried(step.edge.index, "called", True),)


def test_a_live_machine_moves_from_its_start_to_an_ending() -> None:
    live = LiveMachine(DOOR)

    live.tell(Door(0, 0, 0, 0), Walked())
    assert (live.state, live.ended) == (At.KNOCKING, False)

    live.tell(Door(0, 0, 0, 0), Knocked("come in"))
    assert (live.state, live.ended) == (At.WENT_IN, True)


def test_a_live_machine_can_be_set_down_in_any_state() -> None:
    assert LiveMachine(DOOR, At.PAUSE).state is At.PAUSE


@pytest.mark.parametrize("outcome", [Coin(True), Knocked("locked"), "no outcome at all", None])
def test_an_outcome_that_the_state_does_not_know_is_refused_and_changes_nothing(
    outcome: object,
) -> None:
    live = LiveMachine(TURNSTILE, Gate.OPEN)

    with pytest.raises(UndeclaredOutcome) as caught:
        live.tell(Coins(0), outcome)

    assert live.state is Gate.OPEN
    assert (caught.value.machine, caught.value.state) == ("turnstile", "open")
    with pytest.raises(UndeclaredOutcome):
        decide(TURNSTILE, Gate.OPEN, Coins(0), outcome)


def test_an_outcome_of_the_same_name_but_another_type_is_refused() -> None:
    @frozen
    class Pushed:
        pass

    with pytest.raises(UndeclaredOutcome):
        LiveMachine(TURNSTILE, Gate.OPEN).tell(Coins(0), Pushed())


def test_an_ended_machine_takes_no_outcome() -> None:
    with pytest.raises(UndeclaredOutcome):
        LiveMachine(TURNSTILE, Gate.CLOSED_DOWN).tell(Coins(0), Pushed())


class Burnt(Exception):
    pass


def burns(loop: Any, outcome: Any) -> Any:
    raise Burnt


def is_cancelled(loop: Any, outcome: Any) -> Any:
    raise asyncio.CancelledError


def broken(machine: Machine[Any], **changes: Any) -> Machine[Any]:
    first, *others = machine.edges
    fields = {name: getattr(first, name) for name in Edge.__match_args__} | changes
    return machine.with_edges([Edge(**fields), *others])


@pytest.mark.parametrize("changes", [{"guards": (burns,)}, {"reducer": burns}], ids=",".join)
def test_a_guard_or_reducer_that_raises_leaves_the_machine_where_it_was(
    changes: dict[str, Any],
) -> None:
    live = LiveMachine(broken(TURNSTILE, **changes))

    for _ in range(2):  # twice: nor is the machine jammed by it
        with pytest.raises(Burnt):
            live.tell(Coins(0), Coin(True))
        assert live.state is Gate.LOCKED

    live.tell(Coins(0), Pushed())


async def test_cancellation_is_never_swallowed_for_a_step_waits_for_nothing() -> None:
    live = LiveMachine(broken(TURNSTILE, reducer=is_cancelled))

    with pytest.raises(asyncio.CancelledError):
        live.tell(Coins(0), Coin(True))
    assert live.state is Gate.LOCKED

    async def told() -> StrEnum:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        # The cancellation waits for the next await; the step is whole.
        live.tell(Coins(0), Pushed())
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            return live.state
        raise AssertionError("the cancellation was lost")

    assert await asyncio.create_task(told()) is Gate.LOCKED


@given(
    machines(), st.lists(st.builds(Ping, st.integers(0, 6)) | st.builds(Pong, st.integers(0, 6)))
)
def test_the_live_machine_and_the_pure_form_agree_on_every_machine(
    machine: Machine[int], outcomes: list[Ping | Pong]
) -> None:
    live, state, loop = LiveMachine(machine), machine.initial, 0

    for outcome in outcomes:
        try:
            step = decide(machine, state, loop, outcome)
        except (UndeclaredOutcome, ZeroDivisionError) as error:
            with pytest.raises(type(error)):
                live.tell(loop, outcome)
        else:
            assert live.tell(loop, outcome) == step
            state, loop = step.edge.destination, step.after
        assert live.state is state
