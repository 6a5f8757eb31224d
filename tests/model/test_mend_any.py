"""Whatever a history looks like: mended, it is sent; mended twice, it is the same."""

from __future__ import annotations

import time

from attrs import evolve
from hypothesis import example, given
from hypothesis import strategies as st

from interlock.model import Mender
from interlock.model.request import Gate
from interlock.scripted import SignatureBook
from interlock.scripted.validate import problems
from phases.world.messages import Message, Text, Thinking
from tests.model.broken import broken, mend, said_by
from tests.model.histories import TOOL, assistant, call, histories, marked, result, user


def refusals(messages: tuple[Message, ...], budget: int | None) -> tuple[str, ...]:
    """What the real API would say once the user has spoken; the gate may not raise."""
    if messages[-1].role == "assistant":
        messages = (*messages, user("go on"))
    book = SignatureBook()
    for message in messages:
        if message.role == "assistant":
            by = message.origin.model if message.origin else "m"
            model = "m" if by.startswith("m") else by
            book.issue(model, [block.wire() for block in message.content])
    gate = Gate(system=("s",), tools=(TOOL,), thinking_budget=budget)
    return problems(marked(*messages, gate=gate), signatures=book)


BUDGETS = st.sampled_from([None, 2000])


@given(history=broken(), budget=BUDGETS)
@example(history=(assistant(" "),), budget=None)
@example(history=(assistant(Thinking("hm", "sig"), call()), result("toolu_1")), budget=2000)
def test_any_history_is_fit_to_leave_once_it_is_mended(
    history: tuple[Message, ...], budget: int | None
) -> None:
    mended = mend(*history)

    assert refusals(mended.messages, budget) == ()


@given(history=broken())
def test_mending_a_mended_history_changes_nothing(history: tuple[Message, ...]) -> None:
    once = mend(*history)

    again = mend(*once.messages)

    assert again.messages is not once.messages  # a fresh tuple was given
    assert (again.messages, again.mends) == (once.messages, ())
    assert mend(*history) == once  # ids included


@given(history=broken())
def test_a_change_is_told_and_names_the_message_it_replaces(
    history: tuple[Message, ...],
) -> None:
    mended = mend(*history)

    known = {message.id for message in history}
    kept = [message.replaces or message.id for message in mended.messages]
    assert [id_ for id_ in kept if id_ in known] == list(dict.fromkeys(m.id for m in history))
    assert bool(mended.mends) is (mended.messages != history)


@given(history=broken())
def test_what_was_said_is_kept_word_for_word(history: tuple[Message, ...]) -> None:
    mended = mend(*history)

    assert set(words_of(mended.messages)) >= set(words_of(history))


def words_of(messages: tuple[Message, ...]) -> list[str]:
    return [
        block.text
        for message in messages
        for block in message.content
        if isinstance(block, Text) and block.text.strip()
    ]


@given(history=histories())
def test_an_intact_history_comes_back_as_the_very_same(history: tuple[Message, ...]) -> None:
    mended = Mender().mend(history, model="m")

    assert mended.messages is history
    assert mended.mends == ()


@given(history=broken(), cuts=st.lists(st.integers(1, 8), max_size=4), other=broken())
def test_what_was_looked_at_before_changes_nothing(
    history: tuple[Message, ...], cuts: list[int], other: tuple[Message, ...]
) -> None:
    mender = Mender()
    history = tuple(evolve(message, origin=None) for message in history)
    for cut in cuts:
        mender.mend((*history[:cut], *other[1:]), model="m")
        mender.mend(history[:cut], model="m")

    assert mender.mend(history, model="m") == mend(*history)


@given(history=broken(), later=broken())
def test_a_session_goes_on_from_what_was_mended(
    history: tuple[Message, ...], later: tuple[Message, ...]
) -> None:
    mender = Mender()
    mended = mender.mend(history, model="m").messages
    # What a model calls itself is learnt on the way; that is another test's.
    for message in (evolve(message, origin=None) for message in later):
        mended = mender.mend((*mended, message), model="m").messages

        assert refusals(mended, 2000) == ()


def test_the_work_of_a_turn_does_not_grow_with_the_history() -> None:
    history: tuple[Message, ...] = (user("go"),)
    for at in range(2000):
        history = (*history, said_by("m", call(f"toolu_{at}")), result(f"toolu_{at}"))
    mender = Mender()

    def once(messages: tuple[Message, ...]) -> float:
        began = time.perf_counter()
        assert mender.mend(messages, model="m").messages is messages
        return time.perf_counter() - began

    first = once(history)
    later = []
    for at in range(20):
        history = (*history, said_by("m", call(f"later_{at}")), result(f"later_{at}"))
        later.append(once(history))

    # The best of some, for a busy machine.
    assert min(later) < first / 50
