"""What the API would refuse for ever is mended once: broken histories people have reported."""

from __future__ import annotations

import pytest
from attrs import evolve

from interlock.model import Mender
from interlock.model.mending import NOTHING_SAID
from interlock.model.pairing import LOST
from phases.world.messages import (
    Block,
    Kind,
    Message,
    Opaque,
    RedactedThinking,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
)
from tests.model.broken import mend, said_by
from tests.model.histories import assistant, body, call, result, user

HM, SEALED = Thinking("hm  \n", "c2ln"), RedactedThinking("b3BhcXVl")


def lost(id_: str) -> ToolResult:
    return ToolResult(id_, (Text(LOST),), is_error=True)


def contents(*messages: Message) -> list[tuple[Block, ...]]:
    return [message.content for message in messages]


def said(*messages: Message) -> list[tuple[Block, ...]]:
    """What each message says once the history is mended."""
    return contents(*mend(*messages).messages)


def done(*messages: Message) -> list[str]:
    return [each.what for each in mend(*messages).mends]


# --- calls without results -------------------------------------------------------------------


def test_a_call_that_a_kill_left_open_is_answered_where_the_other_results_stand() -> None:
    asked = assistant("Looking.", call("toolu_A"), call("toolu_B"))
    one = user(ToolResult("toolu_A", (Text("x.txt"),)), kind=Kind.RESULT)
    history = (user("list the two folders"), asked, one, user("go on"))

    mended = mend(*history)

    answered = mended.messages[2]
    assert answered.content == (*one.content, lost("toolu_B"))
    assert (answered.replaces, answered.kind) == (one.id, Kind.RESULT)
    assert mended.messages == (*history[:2], answered, history[3])
    assert done(*history) == ["a call without a result was answered with an error"]
    sent = body(*mended.messages)["messages"]
    assert [block["type"] for block in sent[2]["content"]] == ["tool_result"] * 2 + ["text"]


@pytest.mark.parametrize("after", [(), (user("never mind"),)], ids=["at the end", "new prompt"])
def test_where_nothing_of_the_answer_is_left_it_is_a_message_by_itself(
    after: tuple[Message, ...],
) -> None:
    asked = assistant(call("a"), call("b"))

    mended = mend(user("go"), asked, *after).messages

    assert contents(*mended[2:]) == [(lost("b"), lost("a")), *contents(*after)]
    assert (mended[2].source, mended[2].kind) == (asked.id, Kind.RESULT)
    assert all(message.replaces is None for message in mended)


def test_an_open_call_long_ago_is_answered_in_the_message_behind_it() -> None:
    interrupted = user("[Request interrupted by user]", kind=Kind.INTERRUPTION)
    history = (user("go"), assistant(call("a")), interrupted, user("on"), assistant("ok"))

    mended = mend(*history, user("more")).messages

    assert mended[2].content == (lost("a"), *interrupted.content)
    assert mended[2].replaces == interrupted.id


def test_a_result_that_came_too_late_is_moved_behind_its_call() -> None:
    late = user(ToolResult("a", (Text("late"),)), "and a word", kind=Kind.RESULT)
    history = (user("go"), assistant(call("a")), user("what?"), assistant("hm"), late)

    assert said(*history)[2:] == [
        (ToolResult("a", (Text("late"),)), Text("what?")),
        (Text("hm"),),
        (Text("and a word"),),
    ]
    assert done(*history) == ["a result was moved behind its call"]


# --- results without calls -------------------------------------------------------------------


def test_a_cut_between_call_and_result_drops_the_result_and_keeps_what_was_typed() -> None:
    typed = "(note typed by the user while the tool ran) keep port 8080"
    summary = user("first summary", kind=Kind.SUMMARY)
    history = (
        summary,
        user(ToolResult("toolu_1", (Text("listing"),)), typed, kind=Kind.RESULT),
        assistant(call("toolu_2")),
        result("toolu_2"),
    )

    mended = mend(*history).messages

    assert mended[1].content == (Text(typed),)
    assert (mended[0], *mended[2:]) == (summary, *history[2:])
    assert done(*history) == ["a result that belongs to no call was left out"]


def test_a_history_cut_to_begin_with_a_reply_gets_a_note_before_it() -> None:
    history = (assistant(call("toolu_2")), result("toolu_2"), assistant("so"), user("on"))

    mended = mend(*history).messages

    assert mended[1:] == history
    assert (mended[0].role, mended[0].kind) == ("user", Kind.NOTE)
    assert mended[0].text == "[The beginning of this conversation is missing.]"


def test_a_second_result_is_left_out_wherever_it_stands() -> None:
    first, second = ToolResult("a", (Text("1"),)), ToolResult("a", (Text("2"),), is_error=True)
    begin = (user("go"), assistant(call("a")))

    assert said(*begin, user(first, second))[2:] == [(first,)]
    assert said(*begin, user(first), user(second, "typed"))[2:] == [(first,), (Text("typed"),)]
    assert said(*begin, user(first), assistant("ok"), user(second))[2:] == [
        (first,),
        (Text("ok"),),
        (),
        (Text(NOTHING_SAID),),  # else the request would end in the reply
    ]


def test_a_result_before_its_call_is_no_answer_to_it() -> None:
    early = ToolResult("a", (Text("early"),))

    assert said(user("go", early), assistant(call("a")), user("on")) == [
        (Text("go"),),
        (call("a"),),
        (lost("a"),),
        (Text("on"),),
    ]


# --- ids -------------------------------------------------------------------------------------


def test_calls_that_share_an_id_keep_each_its_own_result() -> None:
    same = "toolu_same"
    one, two = ToolResult(same, (Text("one"),)), ToolResult(same, (Text("two"),))
    three = ToolResult(same, (Text("three"),))
    history = (
        user("go"),
        assistant(call(same), call(same)),
        user(one, kind=Kind.RESULT),
        user(two, kind=Kind.RESULT),
        assistant(call(same)),
        user(three, kind=Kind.RESULT),
    )

    mended = mend(*history).messages

    ids = [call_.id for message in mended for call_ in message.calls]
    assert ids[0] == same
    assert len(set(ids)) == 3
    answers = [b for message in mended for b in message.content if isinstance(b, ToolResult)]
    assert answers == [one, evolve(two, tool_use_id=ids[1]), evolve(three, tool_use_id=ids[2])]
    assert done(*history) == ["a call got an id of its own"] * 2


def test_a_message_that_stands_there_twice_is_one() -> None:
    asked, answered = assistant(call("a")), result("a")

    mended = mend(user("go"), asked, asked, answered, answered)

    assert mended.messages[1:] == (asked, answered)
    assert {each.what for each in mended.mends} == {
        "a message that stood there twice was left out"
    }


@pytest.mark.parametrize("id_", ["functions.Bash:0", "", "a" * 129, "call/1\n"])
def test_an_id_that_the_api_refuses_is_replaced_with_that_of_its_result(id_: str) -> None:
    mended = mend(user("go"), assistant(call(id_)), result(id_)).messages

    (renamed,) = mended[1].calls
    assert renamed.id.startswith("toolu_")
    assert renamed == evolve(call(), id=renamed.id)
    assert mended[2].content == (ToolResult(renamed.id, (Text("done"),)),)


def test_a_tools_name_that_the_api_refuses_is_made_one_it_takes() -> None:
    odd = ToolUse("a", "fs.read file", {})

    mended = mend(user("go"), assistant(odd), result("a")).messages

    assert mended[1].content == (evolve(odd, name="fs_read_file"),)


def test_ids_of_a_foreign_transcript_need_not_be_uuids() -> None:
    prompt, asked = evolve(user("go"), id="u1"), evolve(assistant(call("a")), id="a1")

    mended = mend(prompt, asked).messages

    assert contents(*mended[2:]) == [(lost("a"),)]


# --- blanks and strangers --------------------------------------------------------------------


@pytest.mark.parametrize(
    "history",
    [
        (user("go"), assistant("", call("a")), result("a"), assistant("\n \n")),
        (user("go"), assistant(call("a")), user(ToolResult("a", ()))),
        (user("go"), assistant(call("a")), user(ToolResult("a", (Text("   "),)))),
        (user("go"), assistant(""), user("again")),
        (user("go"), assistant(), user(" "), user("again")),
        (user("half \ud83d"),),
    ],
    ids=["beside a call", "no output", "blank output", "blank reply", "empty", "surrogate"],
)
def test_what_the_gate_leaves_out_by_itself_needs_no_mending(
    history: tuple[Message, ...],
) -> None:
    assert Mender().mend(history, model="m").messages is history
    assert body(*history)


def test_an_empty_prompt_is_told_as_one() -> None:
    mended = mend(user(" \n")).messages

    assert mended[1].text == "[The user sent an empty message.]"


def test_blocks_that_do_not_belong_there_are_left_out() -> None:
    stray = Opaque({"type": "tool_result", "content": "whose?"})
    quoted = Opaque({"type": "text", "text": "so", "citations": []})
    marked = Opaque({**quoted.raw, "cache_control": {"type": "ephemeral"}})

    assert said(
        user("go", stray, HM, call("a")),
        assistant(ToolResult("a", ()), marked),
        user("on"),
    ) == [(Text("go"),), (quoted,), (Text("on"),)]


# --- thinking --------------------------------------------------------------------------------

ROUND = (said_by("m", HM, SEALED, Text("Reading."), Thinking("", "c2lnLUI="), call("a")),)


def test_thinking_that_is_in_order_is_not_touched() -> None:
    history = (user("go"), *ROUND, result("a"), said_by("m", call("b")), result("b"))

    assert Mender().mend(history, model="m").messages is history


@pytest.mark.parametrize("bad", [Thinking("hm", ""), RedactedThinking("")])
def test_one_block_without_a_signature_takes_its_whole_trajectory_with_it(bad: Block) -> None:
    before = (user("go"), said_by("m", HM, call("z")), result("z"), said_by("m", HM, Text("ok")))
    history = (*before, user("on"), *ROUND, result("a"), said_by("m", bad, call("b")))

    mended = mend(*history, result("b")).messages

    assert mended[:5] == history[:5]  # another trajectory
    assert contents(mended[5], mended[7]) == [(Text("Reading."), call("a")), (call("b"),)]
    assert "thinking" not in body(*mended)


def test_thinking_with_nothing_behind_it_is_left_out_by_itself() -> None:
    history = (user("go"), said_by("m", HM, call("a"), SEALED), result("a"))

    assert said(*history)[1] == (HM, call("a"))


def test_thinking_behind_other_blocks_is_left_out_where_tools_are_called() -> None:
    history = (user("go"), said_by("m", Text("so"), HM, call("a")), result("a"))

    assert said(*history)[1] == (Text("so"), call("a"))


@pytest.mark.parametrize(
    ("asked", "told", "kept"),
    [
        ("model-a", "model-a", True),
        ("model-a", "model-b", False),
        ("claude-sonnet-4-5", "claude-sonnet-4-5-20250929", True),
        ("claude-opus-4-0", "claude-opus-4-20250514", True),
        ("claude-opus-4", "claude-opus-4-1-20250805", False),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5", True),
        ("claude-sonnet-4-5@20250929", "claude-sonnet-4-5-latest", True),
    ],
)
def test_thinking_of_another_model_is_left_out(asked: str, told: str, kept: bool) -> None:
    history = (user("go"), said_by(told, HM, call("a")), result("a"))

    mended = mend(*history, model=asked)

    assert (mended.messages is history or mended.mends == ()) is kept
    assert mended.messages[1].content == ((HM, call("a")) if kept else (call("a"),))


def test_a_gateway_may_have_names_of_its_own() -> None:
    mender, prompt = Mender(), user("go")
    first = mender.mend((prompt,), model="work-model").messages
    second = (*first, said_by("claude-sonnet-4-5", HM, call("a")), result("a"))

    assert mender.mend(second, model="work-model").messages is second
    assert mender.mend(second, model="other-model").mends != ()


def test_a_reply_of_the_fallback_model_teaches_no_name() -> None:
    mender, prompt = Mender(), user("go")
    first = mender.mend((prompt,), model="model-a").messages
    # model-b took over within the prompt; with the next one model-a is asked again.
    second = (*first, said_by("model-b", HM, Text("done")), user("next"))

    mended = mender.mend(second, model="model-a").messages

    assert mended[1].content == (Text("done"),)
