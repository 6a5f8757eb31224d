"""From the words of a 400 to the blocks that are taken out."""

from __future__ import annotations

import pytest
from attrs import frozen
from hypothesis import given
from hypothesis import strategies as st

from interlock.model.failures import Asked, refused
from interlock.model.refusals import refused_blocks
from interlock.model.request import Gate, Outgoing
from interlock.scripted import SignatureBook
from interlock.scripted.validate import problems
from phases.world.failures import Failure, FailureKind, RefusedBlock
from phases.world.messages import Message, Text, Thinking, ToolResult, ToolUse
from phases.world.taking_out import taken_out
from tests.model.histories import (
    PIXEL,
    TOOL,
    asking,
    assistant,
    call,
    histories,
    marked,
    result,
    user,
)

K = FailureKind
HM = Thinking("hm", "sig")
PROMPT, REPLIED = user("go"), assistant("so", call())
SHOWN = user(ToolResult("toolu_1", (PIXEL,)), "and a note")
HISTORY = (PROMPT, REPLIED, SHOWN)
TOO_WIDE = "image.source.base64.data: At least one of the image dimensions exceed max allowed size"
THE_RESULT = (SHOWN, 0)
THE_CALL = (REPLIED, 1)


def told(detail: str, *messages: Message, status: int = 400, thinking: bool = False) -> Failure:
    outgoing = Gate(thinking_budget=2000 if thinking else None).build(asking(*messages))
    return answered(detail, outgoing, status=status)


def answered(detail: str, outgoing: Outgoing, *, status: int = 400) -> Failure:
    who = Asked(model="m", address="http://127.0.0.1:9", now=0.0, outgoing=outgoing)
    return refused(who, status=status, error_type="invalid_request_error", detail=detail)


def places(failure: Failure) -> list[tuple[str, int]]:
    return [(one.message_id, one.block) for one in failure.to_take_out]


@frozen
class Case:
    detail: str
    blocks: tuple[tuple[Message, int], ...]
    kind: FailureKind = K.BLOCK_REFUSED


CASES = {
    "too wide": Case(
        f"messages.2.content.0.{TOO_WIDE}: 8000 pixels", (THE_RESULT,), K.MEDIA_TOO_LARGE
    ),
    "inside a result": Case(
        f"messages.2.content.0.tool_result.content.0.{TOO_WIDE}", (THE_RESULT,), K.MEDIA_TOO_LARGE
    ),
    "named, unreadable": Case(
        "messages.2.content.0.image.source.base64.data: Could not process image", (THE_RESULT,)
    ),
    "unnamed, unreadable": Case("Could not process image", (THE_RESULT,)),
    "a text": Case("messages.2.content.1: text is not allowed here", ((SHOWN, 1),)),
    "a result alone": Case("messages.2.content.0.tool_result.content: bad", (THE_RESULT,)),
    "a call": Case("messages.1.content.1.tool_use.input: bad", (THE_CALL, THE_RESULT)),
    "in brackets": Case("messages[1].content[1]: bad", (THE_CALL, THE_RESULT)),
    "a pair": Case(
        "messages.2.content.0: unexpected `tool_use_id` found in `tool_result` blocks",
        (THE_CALL, THE_RESULT),
    ),
    "a message": Case("messages.1: bad", ((REPLIED, 0), THE_CALL, THE_RESULT)),
    "the role of a message": Case("messages.1.role: bad", ((REPLIED, 0), THE_CALL, THE_RESULT)),
    "calls without results": Case(
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after",
        ((REPLIED, 0), THE_CALL, THE_RESULT),
    ),
    "a block behind the last one": Case("messages.0.content.7: bad", ((PROMPT, 0),)),
    "a message that is not there": Case("messages.7.content.1: bad", (), K.INVALID_REQUEST),
    "no message": Case("messages: at least one is required", (), K.INVALID_REQUEST),
    "a cache mark": Case("messages.2.content.1.text.cache_control: bad", (), K.INVALID_REQUEST),
    "a tool": Case("tools.0.input_schema: JSON schema is invalid", (), K.INVALID_REQUEST),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_400_leads_to_the_blocks_it_is_about_and_what_goes_with_them(case: Case) -> None:
    failure = told(case.detail, *HISTORY)

    assert failure.kind is case.kind
    assert places(failure) == [(message.id, at) for message, at in case.blocks]


def test_a_person_is_told_what_it_was() -> None:
    failure = told("messages.1: bad", *HISTORY)

    assert failure.to_take_out == (
        RefusedBlock(message_id=REPLIED.id, block=0, what="words of the model"),
        RefusedBlock(message_id=REPLIED.id, block=1, what="a call of Bash"),
        RefusedBlock(message_id=SHOWN.id, block=0, what="a result of Bash"),
    )


def test_places_count_as_the_server_counts_them() -> None:
    replied = assistant(HM, " ", "so", call("a"), call("b"))
    note, second, first = user("", PIXEL), result("b"), result("a")
    history = (user("go"), replied, note, second, first)

    for place, block in ((0, (first, 0)), (1, (second, 0)), (2, (note, 1))):
        failure = told(f"messages.2.content.{place}.x: bad", *history)
        assert places(failure) == [(block[0].id, block[1])]
    assert places(told("messages.1.content.0: bad", *history)) == [(replied.id, 2)]


def test_a_note_that_did_not_help_is_followed_by_the_whole_message() -> None:
    first = told("messages.2.content.0.tool_result.content: bad", *HISTORY)
    history = taken_out(HISTORY, first)

    again = told("messages.2.content.0.tool_result.content: bad", *history)

    assert places(again) == [(REPLIED.id, 1), (history[2].id, 0), (history[2].id, 1)]


# --- thinking --------------------------------------------------------------------------------

FIRST = assistant(HM, call("a"))
SECOND = assistant(Thinking("so", "sig 2"), "words", call("b"))
GOING_ON = (user("go"), FIRST, result("a"), SECOND, result("b"))


@pytest.mark.parametrize(
    "detail",
    [
        "messages.1.content.0: Invalid `signature` in `thinking` block",
        "messages.3.content.0: `thinking` blocks of the latest message cannot be modified",
        "messages.3: the final block in an assistant message cannot be `thinking`",
        "messages.3.content.0: bad",
        "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot change",
    ],
)
def test_an_open_trajectory_ends_in_words_with_nothing_lost_but_the_thinking(detail: str) -> None:
    failure = told(detail, *GOING_ON, thinking=True)
    history = taken_out(GOING_ON, failure)

    said = [block for message in history for block in message.content]
    assert said == [
        Text("go"),
        Text('[called Bash with {"command":"true"}]'),
        Text("[the result was: done]"),
        Text("words"),
        Text('[called Bash with {"command":"true"}]'),
        Text("[the result was: done]"),
    ]


def test_a_closed_trajectory_loses_all_its_thinking_and_no_call() -> None:
    history = (*GOING_ON, assistant("done"), user("more"))

    failure = told("messages.1.content.0: bad `signature`", *history, thinking=True)

    assert places(failure) == [(FIRST.id, 0), (SECOND.id, 0)]
    left = taken_out(history, failure)
    assert [call.id for message in left for call in message.calls] == ["a", "b"]


# --- no place --------------------------------------------------------------------------------

BAD = "this is refused, and no reason is given"


def refuse(gate: Gate, history: tuple[Message, ...], detail: str = BAD) -> Failure:
    """One more request that is refused; what was doubted is doubted on."""
    outgoing = gate.build(asking(*history))
    failure = answered(detail, outgoing)
    outgoing.doubts.update(message.id for message in history)
    return failure


def test_the_first_refusal_without_a_place_takes_nothing_out() -> None:
    failure = refuse(Gate(), HISTORY)

    assert (failure.kind, failure.to_take_out) == (K.INVALID_REQUEST, ())


def test_what_is_refused_at_a_second_prompt_too_goes_with_all_that_no_reply_has_proven() -> None:
    gate, more = Gate(), user("and now?")
    proven = (user("once"), assistant("proven"))
    refuse(gate, (*proven, *HISTORY))

    failure = refuse(gate, (*proven, *HISTORY, more))

    # The words of the user first: the reply may be sound.
    assert places(failure) == [(SHOWN.id, 1)]
    history = taken_out((*proven, *HISTORY, more), failure)
    failure = refuse(gate, history)
    assert places(failure) == [(REPLIED.id, 0), (REPLIED.id, 1), (history[-2].id, 0)]


def test_a_prompt_that_was_refused_does_not_stay_in_the_way_of_the_next_one() -> None:
    gate, poison = Gate(), user("poison")
    history = (user("one"), assistant("fine"), poison)
    refuse(gate, history)

    failure = refuse(gate, (*history, user("two")))

    assert places(failure) == [(poison.id, 0)]


def test_what_a_server_says_of_other_parameters_puts_no_block_in_doubt() -> None:
    gate = Gate()
    refuse(gate, HISTORY)

    for words in ("max_tokens: 9 > 8", "tools.0: bad", "`temperature` is deprecated"):
        assert refuse(gate, (*HISTORY, user("two")), words).to_take_out == ()


def test_an_answer_that_had_begun_puts_no_block_in_doubt() -> None:
    gate = Gate()
    refuse(gate, HISTORY)

    assert answered(BAD, gate.build(asking(*HISTORY)), status=200).to_take_out == ()


# --- any history, any place ------------------------------------------------------------------


@given(
    history=histories(),
    number=st.integers(0, 12),
    block=st.none() | st.integers(0, 6),
    words=st.sampled_from(["bad", "`tool_use` ids", "Invalid `signature` in `thinking` block"]),
    thinks=st.booleans(),
)
def test_whatever_is_taken_out_the_rest_can_be_sent(
    history: tuple[Message, ...], number: int, block: int | None, words: str, thinks: bool
) -> None:
    place = f"messages.{number}" + ("" if block is None else f".content.{block}")
    book = SignatureBook()
    for message in history:
        if message.role == "assistant":
            book.issue("m", [one.wire() for one in message.content])

    gate = Gate(system=("s",), tools=(TOOL,), thinking_budget=2000 if thinks else None)
    for _ in range(4):
        outgoing = gate.build(asking(*history))
        blocks = refused_blocks(outgoing, f"{place}: {words}", unheard=True)
        if not blocks:
            break
        failure = Failure(kind=K.BLOCK_REFUSED, message="no", refused=blocks[0], beside=blocks[1:])
        before, history = history, taken_out(history, failure)

        assert history != before
        assert problems(marked(*history, gate=gate), signatures=book) == ()
        assert pairs(history)


def pairs(history: tuple[Message, ...]) -> bool:
    blocks = [block for message in history for block in message.content]
    asked = sorted(block.id for block in blocks if isinstance(block, ToolUse))
    told_of = sorted(block.tool_use_id for block in blocks if isinstance(block, ToolResult))
    return asked == told_of
