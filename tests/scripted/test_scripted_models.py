"""What the strict server knows of models: how much they write, and who has the last word."""

from __future__ import annotations

from typing import Any

import pytest

from interlock.model.prices import facts
from interlock.scripted import SignatureBook
from interlock.scripted.validate import problems
from tests.scripted.asking import ON, asked, said, user, words

SPOKEN = (user("hi"), said(words("so far")))
PREFILL = (
    (
        "This model does not support assistant message prefill. The conversation must end with a"
        " user message."
    ),
)


@pytest.mark.parametrize(
    "model",
    ["claude-sonnet-4-5", "claude-sonnet-5-5", "claude-opus-4-1", "claude-3-5-haiku-20241022"],
)
def test_no_more_is_asked_for_than_the_model_can_write(model: str) -> None:
    known = facts(model)
    assert known is not None
    most = known.most_output  # the client's table and the judge's are written apart

    assert problems(asked(model=model, max_tokens=most)) == ()
    (problem,) = problems(asked(model=model, max_tokens=most + 1))
    assert problem.startswith(f"max_tokens: {most + 1} > {most}, which is the maximum allowed")


def test_a_model_that_nobody_knows_is_asked_for_anything() -> None:
    assert problems(asked(max_tokens=10**9)) == ()


@pytest.mark.parametrize(
    "more",
    [{"model": "claude-opus-4-6"}, {"model": "claude-sonnet-5-5"}, {"thinking": ON}],
    ids=["opus 4.6", "sonnet 5.5", "thinking"],
)
def test_the_user_has_the_last_word_but_for_a_reply_that_was_paused(more: dict[str, Any]) -> None:
    book = SignatureBook()

    assert problems(asked(*SPOKEN, **more), signatures=book) == PREFILL

    book.pause([words("so far \n")])
    assert problems(asked(*SPOKEN, **more), signatures=book) == ()


def test_other_models_go_on_from_a_beginning() -> None:
    assert problems(asked(*SPOKEN)) == ()
    assert problems(asked(*SPOKEN, model="claude-sonnet-4-5")) == ()


def test_thinking_without_a_signature_is_neither_taken_nor_missed() -> None:
    book, bare = SignatureBook(), {"type": "thinking", "thinking": "hm", "signature": ""}
    call = {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {}}
    answer = user({"type": "tool_result", "tool_use_id": "toolu_1", "content": "ok"})
    book.issue("model-x", [bare, call])
    adaptive = {"thinking": {"type": "adaptive"}}

    without = asked(user("hi"), said(call), answer, **adaptive)
    with_it = asked(user("hi"), said(bare, call), answer, **adaptive)

    assert problems(without, signatures=book) == ()
    assert problems(with_it, signatures=book) == (
        "messages.1.content.0: Invalid `signature` in `thinking` block",
    )


def test_of_calls_with_one_id_each_may_be_sent_with_its_own_thinking_and_with_no_other() -> None:
    book = SignatureBook()
    first, second, strange = (
        {"type": "thinking", "thinking": text, "signature": text} for text in ("a", "b", "c")
    )
    call = {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {}}
    answer = user({"type": "tool_result", "tool_use_id": "toolu_1", "content": "ok"})
    book.issue("model-x", [first, call])
    book.issue("model-x", [second, call])
    book.issue("model-x", [strange])

    found = [
        problems(
            asked(user("hi"), said(*thought, call), answer, thinking={"type": "adaptive"}),
            signatures=book,
        )
        for thought in ([first], [second], [strange], [])
    ]

    assert found[:2] == [(), ()]
    assert all("cannot be modified" in problem for (problem,) in found[2:])
