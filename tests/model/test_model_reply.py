"""From events to a reply: what counts, what is skipped, what is cut."""

from __future__ import annotations

from typing import Any

import pytest

from interlock.model.reply import ReplyError, StreamError
from phases.world.messages import (
    Kind,
    Message,
    Opaque,
    Origin,
    RedactedThinking,
    Text,
    Thinking,
    ToolUse,
)
from phases.world.ports import CallFinished, RawEvent, TextDelta, ThinkingDelta
from phases.world.usage import Usage
from tests.model.streams import (
    assembled,
    begun,
    call,
    closed,
    delta,
    ended,
    event,
    fed,
    opened,
    said,
    text,
    typed,
)


def content(*events: Any, **more: Any) -> tuple[Any, ...]:
    return assembled(begun(), *events, **more).reply().message.content


def test_a_reply_is_told_while_it_comes_and_whole_at_its_end() -> None:
    assembler, told = fed(
        begun(input_tokens=3, output_tokens=1),
        text(0, "Hel", "lo."),
        call(1, '{"comm', 'and": "true"}'),
        ended("tool_use", output_tokens=9),
    )

    finished = ToolUse("toolu_1", "Bash", {"command": "true"})
    assert told == [TextDelta("Hello."), CallFinished(finished)]
    usage = Usage(input_tokens=3, output_tokens=9)
    reply = assembler.reply("req_1")
    assert reply.message == Message(
        id="00000000-0000-4000-8000-000000000001",
        role="assistant",
        kind=Kind.REPLY,
        content=(Text("Hello."), finished),
        origin=Origin(
            api_id="msg_1",
            model="model-x",
            stop_reason="tool_use",
            usage=usage,
            request_id="req_1",
        ),
    )
    assert (reply.stop_reason, reply.calls, reply.cut_calls) == ("tool_use", ("toolu_1",), ())


def test_blocks_may_interleave_and_stand_by_their_index() -> None:
    first, second = call(1, '{"command":', '"one"}'), call(0, '{"command": "two"}')
    mixed = [first[0], second[0], first[1], second[1], first[2], first[3], second[2]]

    assert content(mixed, ended("tool_use")) == (
        ToolUse("toolu_0", "Bash", {"command": "two"}),
        ToolUse("toolu_1", "Bash", {"command": "one"}),
    )


def test_thinking_is_kept_to_the_byte() -> None:
    events = [
        opened(0, "thinking", thinking="", signature=""),
        delta(0, "thinking_delta", thinking="step  one "),
        delta(0, "thinking_delta", thinking="\n"),
        delta(0, "signature_delta", signature="c2ln"),
        delta(0, "signature_delta", signature="LUE="),
        closed(0),
        opened(1, "redacted_thinking", data="b3BhcXVl"),
        closed(1),
        opened(2, "thinking", thinking="", signature=""),
        delta(2, "signature_delta", signature="c2lnLUI="),
        closed(2),
    ]

    assembler, told = fed(begun(), events, ended())

    assert told == [ThinkingDelta("step  one \n")]
    assert assembler.reply().message.content == (
        Thinking("step  one \n", "c2lnLUE="),
        RedactedThinking("b3BhcXVl"),
        Thinking("", "c2lnLUI="),
    )


@pytest.mark.parametrize("reason", ["max_tokens", "end_turn"])
def test_thinking_that_was_cut_before_its_signature_is_left_out(reason: str) -> None:
    events = [opened(0, "thinking", thinking="", signature="")]
    events += [delta(0, "thinking_delta", thinking="so"), *([closed(0)] * (reason != "end_turn"))]

    assert content(events, ended(reason)) == ()


# --- the unknown -----------------------------------------------------------------------------


def test_unknown_events_are_skipped_even_if_they_are_no_json() -> None:
    events = [
        event("ping"),
        begun(),
        event("future_event", x=1),
        ("future_plain", b"not json at all"),
        *text(0, "ok"),
        *ended(),
    ]

    assert assembled(events).reply().message.content == (Text("ok"),)


def test_unknown_blocks_are_kept_whole_and_left_out_where_they_cannot_be() -> None:
    known_whole = [opened(0, "hologram", data="opaque"), closed(0)]
    strange = [opened(1, "hologram", data=""), delta(1, "hologram_delta", bits="01"), closed(1)]
    searched = [
        opened(2, "server_tool_use", id="srvtoolu_1", name="web_search", input={}),
        typed(2, '{"query": "x"}'),
        closed(2),
    ]
    never_ended = [opened(3, "hologram", data="opaque")]

    assert content(known_whole, strange, searched, never_ended, ended()) == (
        Opaque({"type": "hologram", "data": "opaque"}),
        Opaque(
            {
                "type": "server_tool_use",
                "id": "srvtoolu_1",
                "name": "web_search",
                "input": {"query": "x"},
            }
        ),
    )


def test_where_a_text_has_it_from_goes_back_as_it_came() -> None:
    source = {"type": "web_search_result_location", "url": "https://x.example/", "title": "X"}
    cited = [
        opened(0, "text", text=""),
        said(0, "It is so"),
        delta(0, "citations_delta", citation=source),
        closed(0),
    ]

    (text,) = content(cited, ended())

    assert text == Text("It is so", (source,))
    assert text.wire() == {"type": "text", "text": "It is so", "citations": [source]}


def test_unknown_deltas_in_a_known_block_are_skipped() -> None:
    events = [opened(0, "text", text=""), delta(0, "future_delta", v=2), said(0, "ok"), closed(0)]

    assert content(events, ended()) == (Text("ok"),)


@pytest.mark.parametrize("reason", ["future_reason", "pause_turn", "refusal", None])
def test_any_stop_reason_survives(reason: str | None) -> None:
    reply = assembled(begun(), text(0, "odd"), ended(reason)).reply()

    assert reply.stop_reason == reason
    assert reply.message.origin is not None
    assert reply.message.origin.stop_reason == reason


def test_raw_events_are_told_only_on_demand_and_as_they_came() -> None:
    events = [begun(), event("ping"), event("future", x=1), *text(0, "a", "b"), *ended()]

    told = fed(events, raw_events=True)[1]

    kinds = [one.event["type"] for one in told if isinstance(one, RawEvent)]
    assert kinds == [
        "message_start",
        "future",
        "content_block_start",
        "content_block_delta",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    assert [one for one in told if isinstance(one, TextDelta)] == [TextDelta("a"), TextDelta("b")]


def test_events_without_a_name_are_known_by_their_type() -> None:
    nameless = [("", data) for _, data in (begun(), *text(0, "ok"), *ended())]

    assert assembled(nameless).reply().message.content == (Text("ok"),)


# --- usage -----------------------------------------------------------------------------------


def test_totals_replace_and_what_is_left_out_stays() -> None:
    assembler = assembled(
        begun(
            input_tokens=27,
            output_tokens=1,
            cache_read_input_tokens=1000,
            cache_creation_input_tokens=0,
        ),
        ended("tool_use", output_tokens=30, input_tokens=None)[0],
        ended("tool_use", output_tokens=47),
    )

    assert assembler.usage == Usage(
        input_tokens=27, output_tokens=47, cache_read_input_tokens=1000
    )


# --- odd bytes -------------------------------------------------------------------------------


def raw_text(escaped: bytes) -> tuple[str, bytes]:
    return (
        "content_block_delta",
        b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"%b"}}'
        % escaped,
    )


def test_a_character_in_two_halves_is_shown_once_and_whole() -> None:
    events = [opened(0, "text", text=""), raw_text(rb"a\ud83d"), raw_text(rb"\ude00b"), closed(0)]

    assembler, told = fed(begun(), *events, ended())

    assert told == [TextDelta("a"), TextDelta("\U0001f600b")]
    assert assembler.reply().message.content == (Text("a\U0001f600b"),)


@pytest.mark.parametrize("odd", [rb"\ud83d", b"\xff"], ids=["surrogate", "utf8"])
def test_what_is_no_character_becomes_a_replacement(odd: bytes) -> None:
    events = [opened(0, "text", text=""), raw_text(b"a" + odd + b"b"), closed(0)]

    assembler, told = fed(begun(), events, ended())

    assert told == [TextDelta("a\ufffdb")]
    assert assembler.reply().message.content == (Text("a\ufffdb"),)


def test_surrogates_inside_an_input_are_mended_too() -> None:
    events = call(0, r'{"\udc00": ["\ud83d\ude00", "\ud83d"]}')

    assert content(events, ended())[0].input == {"\ufffd": ["\U0001f600", "\ufffd"]}


# --- not the protocol ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("events", "words"),
    [
        ([opened(0, "text", text="")], "content_block_start without message_start"),
        ([event("message_stop")], "message_stop without message_start"),
        ([begun(), begun()], "second message_start"),
        ([begun(), said(0, "x")], "block 0, which is not open"),
        ([begun(), *text(0), said(0, "x")], "block 0, which is not open"),
        ([begun(), *text(0), *text(0)], "second content block 0"),
        ([begun(), ("message_delta", b"{oops")], "no JSON object"),
        ([("message_start", b"[]")], "no JSON object"),
        ([event("message_start")], "message_start event without a proper 'message'"),
        ([begun(), event("content_block_start", index="0")], "proper 'index'"),
    ],
    ids=[
        "no start",
        "stop first",
        "two starts",
        "not open",
        "closed",
        "twice",
        "no json",
        "array",
        "empty start",
        "no index",
    ],
)
def test_a_stream_that_leaves_the_protocol_is_refused(events: Any, words: str) -> None:
    with pytest.raises(ReplyError, match=words):
        assembled(events)


def test_an_error_event_ends_the_stream() -> None:
    overloaded = event("error", error={"type": "overloaded_error", "message": "Overloaded"})

    assembler, told = fed(begun(), [*text(0, "Hel"), overloaded, *ended()])

    assert assembler.error == StreamError("overloaded_error", "Overloaded")
    assert not assembler.stopped
    assert told == [TextDelta("Hel")]


@pytest.mark.parametrize(
    ("one", "counts"),
    [
        (event("ping"), False),
        (event("future"), False),
        (("future", b"data"), False),
        (event("future", x=1), True),
        (said(0, ""), False),
        (said(0, "x"), True),
        (typed(1, ""), False),
        (closed(0), True),
        (ended()[0], True),
    ],
    ids=[
        "ping", "empty unknown", "plain unknown", "unknown", "no text", "text", "no json",
        "closed", "end",
    ],
)  # fmt: skip
def test_only_events_with_content_are_progress(one: tuple[str, bytes], counts: bool) -> None:
    start = opened(1, "tool_use", id="t", name="Bash", input={})
    assembler = assembled(begun(), opened(0, "text", text=""), start)
    before = assembler.progress

    assembler.feed([one])

    assert (assembler.progress > before) is counts
