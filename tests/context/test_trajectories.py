"""Where a history may be cut."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given, settings

from interlock.context.trajectories import gaps, recent, same_until, trajectories, typed, without
from phases.world.messages import (
    Kind,
    Message,
    RedactedThinking,
    Text,
    Thinking,
    ToolResult,
)
from tests.context.sessions import (
    answer,
    call,
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

# --- an independent checker ------------------------------------------------------------------


def thinks(message: Message) -> bool:
    return any(isinstance(block, Thinking | RedactedThinking) for block in message.content)


def answers(message: Message) -> set[str]:
    return {one.tool_use_id for one in message.content if isinstance(one, ToolResult)}


def tears_a_pair(messages: Sequence[Message], cut: int) -> bool:
    """Whether a call and its result come to lie on two sides."""
    asked = {one.id for message in messages[:cut] for one in message.calls}
    return any(answers(message) & asked for message in messages[cut:])


def leans_on(messages: Sequence[Message], at: int) -> int | None:
    """The reply whose thinking the reply at `at` goes on from, if it has none of its own."""
    if messages[at].role != "assistant" or thinks(messages[at]):
        return None
    answered = True  # whether the user's turn behind us held results
    for before in range(at - 1, -1, -1):
        message = messages[before]
        if message.role == "assistant":
            if not answered:
                return None
            if thinks(message):
                return before
        elif messages[before + 1].role == "assistant":
            answered = bool(answers(message))
        else:
            answered = answered or bool(answers(message))
    return None


def tears_a_thought(messages: Sequence[Message], cut: int) -> bool:
    return any(
        (on := leans_on(messages, at)) is not None and on < cut for at in range(cut, len(messages))
    )


@given(sessions())
def test_no_gap_lies_between_a_call_and_its_result_nor_in_a_line_of_thought(
    messages: tuple[Message, ...],
) -> None:
    for gap in gaps(messages):
        assert not tears_a_pair(messages, gap)
        assert not tears_a_thought(messages, gap)


@settings(max_examples=60)
@given(sessions())
def test_the_strict_server_takes_what_stands_before_and_after_each_gap(
    messages: tuple[Message, ...],
) -> None:
    book = signed(messages)

    assert refused(messages, book) == ()
    for gap in gaps(messages):
        assert refused((*messages[:gap], user("go on")), book) == ()
        assert refused((user("so far: ..."), *messages[gap:]), book) == ()


@settings(max_examples=60)
@given(sessions())
def test_any_stretch_between_two_gaps_can_be_taken_out_and_nothing_typed_is_lost(
    messages: tuple[Message, ...],
) -> None:
    book = signed(messages)
    mark = user("something stood here", kind=Kind.NOTE)

    for one in trajectories(messages):
        gone = [each for each in messages[one.start : one.end] if each.kind is not Kind.PROMPT]
        left = without(messages, {each.id for each in gone}, {gone[0].id: mark})

        assert refused(left, book) == ()
        assert person_said(left) == person_said(messages)


@given(sessions())
def test_trajectories_begun_at_a_gap_are_those_of_the_whole_history(
    messages: tuple[Message, ...],
) -> None:
    every = list(trajectories(messages))

    for gap in gaps(messages):
        assert list(trajectories(messages, gap)) == [one for one in every if one.start >= gap]


# --- by example ------------------------------------------------------------------------------


def test_each_finished_round_without_thinking_is_a_trajectory_and_the_last_one_is_open() -> None:
    messages = rounds(3)

    found = [(one.start, one.end) for one in trajectories(messages)]

    assert found == [(1, 3), (3, 5)]


def test_keeping_the_last_six_messages_would_tear_a_thinking_reply_from_its_result() -> None:
    # Counted from the end, the seventh thinks and calls, and the sixth is its result.
    messages = (
        user("do it"),
        *round_(call(), thinks=True),
        *round_(call()),
        *round_(call()),
        says("done"),
        user("thanks"),
    )
    sixth = len(messages) - 6

    assert answers(messages[sixth - 1]) == {messages[sixth - 2].calls[0].id}
    assert sixth not in list(gaps(messages))
    assert list(gaps(messages)) == [1, len(messages) - 1]


def test_a_reply_that_thinks_for_itself_begins_a_trajectory_of_its_own() -> None:
    first, second = round_(call(), thinks=True), round_(call(), thinks=True)

    assert list(gaps((user("do it"), *first, *second))) == [1, 3]


def test_a_reply_that_goes_on_from_older_thinking_belongs_to_it() -> None:
    first, second = round_(call(), thinks=True), round_(call())

    assert list(gaps((user("do it"), *first, *second))) == [1]


def test_once_the_user_has_spoken_nothing_leans_on_older_thinking() -> None:
    first, second = round_(call(), thinks=True), round_(call())
    messages = (user("do it"), *first, says("done"), user("more"), *second)

    assert list(gaps(messages)) == [1, 4, 5]


def test_a_paused_reply_is_not_torn_from_the_one_that_continues_it() -> None:
    asked = call()
    messages = (user("do it"), says("wait"), says(asked), results(answer(asked)), says("done"))

    assert list(gaps(messages)) == [1, 4]


def test_a_call_whose_results_come_one_by_one_is_open_until_the_last() -> None:
    one, other = call(), call()
    messages = (
        user("do it"),
        says(one, other),
        results(answer(one)),
        results(answer(other)),
        says("done"),
    )

    assert list(gaps(messages)) == [1, 4]


def test_what_was_typed_into_a_message_of_results_becomes_a_message_of_its_own() -> None:
    asked = call()
    mixed = results(answer(asked), typed="not that file!")

    words = typed(mixed)

    assert words is not None
    assert (words.kind, words.content) == (Kind.PROMPT, (Text("not that file!"),))
    assert typed(results(answer(asked))) is None
    assert typed(user("hello")) is None


def test_the_last_turns_are_counted_in_replies() -> None:
    messages = rounds(5)

    assert recent(messages, 2) == 7
    assert recent(messages, 5) == 1
    assert recent(messages, 6) == 0
    assert recent(messages, 0) == len(messages)


def test_two_histories_are_the_same_as_long_as_they_hold_the_same_objects() -> None:
    messages = rounds(3)

    assert same_until(messages, (*messages, user("more"))) == len(messages)
    assert same_until(messages, (*messages[:3], user("else"))) == 3
    assert same_until(messages, messages[:2]) == 2
    assert same_until((), messages) == 0
