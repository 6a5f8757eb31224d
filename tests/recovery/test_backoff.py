"""How long to wait before another attempt."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from interlock.testing import FakeClock, SequentialIds, Stage, call, fails, play, says, tool
from phases.world.failures import Failure, FailureKind
from phases.world.limits import Limits
from phases.world.loop import Loop, Now, Spent
from phases.world.states import State
from phases.world.updates import Retrying, Update
from recovery.backoff import delay_of

DOWN = fails(FailureKind.SERVER)


def after(attempt: int, retry_after: float | None = None, **limits: Any) -> Loop:
    """The loop in which the wait before this attempt begins, counted from 1."""
    failure = Failure(kind=FailureKind.SERVER, message="", retry_after=retry_after)
    loop = Stage(limits=evolve(Limits(), **limits)).loop(SequentialIds())
    return evolve(loop, spent=Spent(attempts=attempt), now=Now(withheld=failure))


def test_waits_double_up_to_their_cap() -> None:
    waits = [delay_of(after(attempt), 0.0) for attempt in range(1, 10)]

    assert waits == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 32.0, 32.0]


@pytest.mark.parametrize(("asked", "waited"), [(None, 4.0), (0.0, 4.0), (3.0, 4.0), (20.0, 20.0)])
def test_the_servers_wish_is_a_lower_bound(asked: float | None, waited: float) -> None:
    assert delay_of(after(4, asked), 0.0) == waited


def test_the_servers_wish_may_be_longer_than_our_own_cap() -> None:
    assert delay_of(after(1, 100.0), 0.0) == 100.0


@given(
    attempt=st.integers(1, 10_000),
    asked=st.none() | st.floats(0, 120),
    jitter=st.floats(0, 1, exclude_max=True),
)
def test_jitter_only_adds_and_never_more_than_a_quarter(
    attempt: int, asked: float | None, jitter: float
) -> None:
    least = delay_of(after(attempt, asked), 0.0)

    wait = delay_of(after(attempt, asked), jitter)

    assert max(asked or 0.0, 0.0) <= least <= wait <= least * 1.25
    assert wait <= max(32.0, asked or 0.0) * 1.25


def test_agents_told_the_same_pause_do_not_come_back_together() -> None:
    waits = {delay_of(after(1, 10.0), share) for share in (0.0, 0.25, 0.5, 0.75)}

    assert len(waits) == 4


def test_each_wait_is_shown_before_it_begins() -> None:
    clock = FakeClock()
    order: list[str] = []
    stage = Stage(clock=clock)
    clock.on_sleep = lambda: order.append("sleep")

    def alter(parts: dict[str, Any]) -> None:
        show = parts["show"]

        def noting(update: Update) -> None:
            if isinstance(update, Retrying):
                order.append("shown")
            show(update)

        parts["show"] = noting

    stage.alter = alter
    run = play(DOWN, DOWN, says("hi"), stage=stage)

    assert order == ["shown", "sleep"] * 2
    shown = [update for update in run.updates if isinstance(update, Retrying)]
    assert [(wait.attempt, wait.max_retries, wait.delay) for wait in shown] == [
        (1, 8, 0.5),
        (2, 8, 1.0),
    ]


def test_a_wait_can_be_broken_and_no_request_follows() -> None:
    stage = Stage()
    stage.clock.on_sleep = stage.interrupt.request

    run = play(DOWN, says("never"), stage=stage)

    assert run.ending is State.ABORTED_STREAMING
    assert stage.clock.slept == []
    assert len(run.requests) == 1


def test_a_turn_gives_the_attempts_back() -> None:
    stage = Stage(limits=evolve(Limits(), max_retries=1))
    run = play(DOWN, call(tool("Read")), DOWN, says("hi"), stage=stage)

    assert run.error is None
    assert stage.clock.slept == [0.5, 0.5]


def test_a_failure_that_the_server_calls_hopeless_is_not_waited_for() -> None:
    answer = fails(FailureKind.SERVER)
    assert answer.failure is not None
    hopeless = evolve(answer, failure=evolve(answer.failure, hopeless=True))

    run = play(hopeless)

    assert (run.ending, run.error) == (State.COMPLETED, "api_error")


def test_a_hopeless_overload_still_goes_to_the_next_model() -> None:
    answer = fails(FailureKind.OVERLOADED)
    assert answer.failure is not None
    hopeless = evolve(answer, failure=evolve(answer.failure, hopeless=True))

    run = play(hopeless, says("hi"), stage=Stage(models=("model-a", "model-b")))

    assert [request.model for request in run.requests] == ["model-a", "model-b"]
