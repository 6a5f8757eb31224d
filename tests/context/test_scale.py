"""How large a view is, when something has been taken out since the server counted it."""

from __future__ import annotations

import pytest

from interlock.context.pipeline import Scale
from phases.world.messages import Kind, Message
from phases.world.size import estimate, tokens_of
from tests.context.sessions import call as asks
from tests.context.sessions import round_, user
from tests.context.sessions import says as replied

OUTPUT = "what the file says\n" * 100


def test_the_scale_agrees_with_a_count_from_scratch_as_a_history_goes_on() -> None:
    scale = Scale()
    messages: tuple[Message, ...] = (user("do it"),)
    for counted in (0, 700, 0, 900):
        scale.weigh(messages, fixed=100)
        scale.sent()
        messages = (*messages, *round_(asks(), OUTPUT, counted=counted))

        size = scale.weigh(messages, fixed=100)
        assert size == pytest.approx(tokens_of(messages, fixed=100), abs=400)  # it calibrates


def test_what_was_taken_out_since_the_server_counted_is_taken_off() -> None:
    scale = Scale()
    messages: tuple[Message, ...] = (user("x" * 3_500), user("y" * 350))
    sent = scale.weigh(messages, fixed=100)
    scale.sent()
    messages = (*messages, replied("ok", counted=sent))
    assert scale.weigh(messages, fixed=100) == sent

    # As a drain does, between two looks: the reply's count still covers the whole.
    left = scale.weigh(messages[1:], fixed=100)

    assert left == sent - estimate(messages[0])


def test_a_server_that_counts_more_than_the_estimate_makes_what_came_since_weigh_more() -> None:
    scale = Scale()
    messages: tuple[Message, ...] = (user("x" * 35_000),)
    sent = scale.weigh(messages, fixed=0)
    scale.sent()
    since = user("y" * 35_000)

    size = scale.weigh((*messages, replied("ok", counted=round(sent * 1.5)), since), fixed=0)

    assert size == pytest.approx(sent * 1.5 + estimate(since) * 1.5, rel=0.001)


def test_a_reply_that_the_window_cut_does_not_weigh_what_a_summary_has_replaced() -> None:
    scale, long = Scale(), (user("x" * 350_000),)
    scale.weigh(long, fixed=100)
    scale.sent()
    summary, cut = user("so far: ...", kind=Kind.SUMMARY), replied("and then", counted=100_200)

    size = scale.weigh((summary, cut), fixed=100)

    assert size < 300
