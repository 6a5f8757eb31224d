"""A summary of a history that is too long to be summarised as it is; laws of its versions."""

from __future__ import annotations

from hypothesis import given, settings

from interlock.context.smaller import shortened, versions, weight, without_media, without_oldest
from interlock.context.stand_in import Shares, local_cut, parted, summary_message
from interlock.context.summary import BRIEF, INSTRUCTION, TERSE
from interlock.testing import SequentialIds
from interlock.testing import says as writes
from phases.world.limits import Limits
from phases.world.messages import Kind, Text, ToolResult
from tests.context.sessions import (
    call,
    loop_of,
    person_said,
    refused,
    results,
    round_,
    rounds,
    says,
    sessions,
    signed,
    user,
)
from tests.context.summaries import PICTURE, TOO_LONG, Messages, summarised, words


def test_each_try_is_smaller_outputs_first_then_media_then_the_oldest_rounds() -> None:
    asked = call()
    shown = says(asked), results(ToolResult(asked.id, (Text("seen"), PICTURE)))
    view = (*rounds(6, "x" * 9_000), *shown, says("so"), user("go on"))

    made = summarised(view, TOO_LONG, TOO_LONG, TOO_LONG, writes("short summary"))

    whole, cut, bare, newest = (request.messages for request in made.model.requests)
    assert made.sizes == sorted(made.sizes, reverse=True)
    assert len(set(made.sizes)) == 4
    assert words(whole).count("x" * 9_000) == 6
    assert "x" * 9_000 not in words(cut)
    assert len(cut) == len(whole)
    assert "[image left out]" in words(bare)
    assert "oldest" in words(newest)
    assert person_said(newest) == person_said(whole)
    assert "short summary" in words(made.view)


def test_after_a_fixed_number_of_tries_the_history_is_cut_without_the_model() -> None:
    view = (*rounds(40, "x" * 5_000), says("that is it"), user("and now?"))

    made = summarised(view, *[TOO_LONG] * 4)

    assert len(made.model.requests) == Limits().max_summary_tries == 4
    assert made.outcome.problem == "scripted: prompt_too_long"
    summary, *newest, last = made.view
    assert summary.kind is Kind.SUMMARY
    assert "No summary could be written: scripted: prompt_too_long" in summary.text
    assert "Read (" in summary.text
    assert "[user] do it" in summary.text
    assert newest[-1].text == "that is it"
    assert last == view[-1]
    assert weight(made.view) < weight(view) / 2


def test_where_nothing_can_be_left_out_the_instruction_grows_shorter() -> None:
    made = summarised((user("hello"),), TOO_LONG, TOO_LONG, writes("short summary"))

    asked = [request.messages[-1].text for request in made.model.requests]
    assert asked == [INSTRUCTION, BRIEF, TERSE]
    assert made.sizes == sorted(made.sizes, reverse=True)


def test_a_request_known_to_be_too_long_is_not_sent() -> None:
    limits = Limits(context_window=20_000)
    view = rounds(10, "x" * 9_000)

    made = summarised(view, writes("s"), loop=loop_of(view, limits=limits))

    (request,) = made.model.requests
    assert weight(request.messages) < limits.hard_limit - limits.summary_room
    assert len(request.messages) == len(view) + 1  # shortened results were enough


def test_room_for_the_summary_is_kept_free_before_the_window_is_full() -> None:
    limits = Limits()

    assert limits.compact_at < limits.hard_limit - limits.summary_room
    assert Limits(context_window=32_768).summary_room == 4_096


def test_the_newest_result_is_shortened_too_where_it_alone_fills_the_window() -> None:
    view = (user("look"), *round_(call("Bash"), "start" + "y" * 900_000 + "LAST-LINE"))

    made = summarised(view, writes("s"))

    told = words(made.model.requests[0].messages)
    assert "start" in told
    assert "LAST-LINE" in told
    assert weight(made.view) < 1_000


def test_without_a_model_the_newest_result_is_shortened_too() -> None:
    view = (user("look"), *round_(call("Bash"), "start" + "y" * 900_000 + "LAST-LINE"))

    made = summarised(view, *[TOO_LONG] * 4)

    assert weight(made.view) < 5_000
    assert made.view[0].kind is Kind.SUMMARY


def test_where_the_fixed_part_leaves_no_room_there_is_no_view_and_no_request() -> None:
    view = rounds(2)

    made = summarised(view, loop=loop_of(view, fixed=250_000))

    assert made.outcome.view is None
    assert "the system prompt and the tools take about 250,000" in (made.outcome.problem or "")


@settings(max_examples=150, deadline=None)
@given(view=sessions())
def test_every_version_and_every_stand_in_is_a_history_that_the_server_takes(
    view: Messages,
) -> None:
    book = signed(view)

    for version in versions(view):
        assert refused(version, book) == ()
        assert person_said(version) == person_said(view)
    for room in (100, 1_000, 50_000):
        shares = Shares.of(room)
        parts = parted(view)
        local = local_cut(parts.past, "why", shares, media=True)
        summary = summary_message(SequentialIds().new(), local.left_out, local.words, shares)
        assert refused((summary, *local.newest, *parts.open), book) == ()


@settings(max_examples=100, deadline=None)
@given(view=sessions())
def test_each_version_is_smaller_than_the_one_before(view: Messages) -> None:
    sizes = [weight(version) for version in versions(view)]

    assert sizes == sorted(set(sizes), reverse=True)


def test_what_is_small_already_is_returned_as_it_is() -> None:
    view = rounds(3)

    assert shortened(view) == view
    assert all(one is other for one, other in zip(without_media(view), view, strict=True))
    assert without_oldest(view, weight(view)) is view
