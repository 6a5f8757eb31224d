"""The event stream of a good reply, as the real API writes it."""

from __future__ import annotations

from typing import Any

import anthropic
import httpx2
import orjson
import pytest

from interlock.scripted import RawSse, ScriptedServer, parse, reply, text, thinking, tool_use
from interlock.scripted.replies import Block, Reply
from interlock.scripted.stream import events, raw_pieces, settled

USAGE = {"input_tokens": 7, "output_tokens": 3}


def told(answer: Reply) -> list[dict[str, Any]]:
    """The data of each event of an answer to request 1."""
    blocks = settled(answer, 1)
    sent = events(answer, blocks, message_id="msg_1", model="model-x", usage=USAGE)
    found = []
    for event in sent:
        name, data = event.decode().rstrip("\n").split("\n")
        found.append(orjson.loads(data.removeprefix("data: ")))
        assert name == f"event: {found[-1]['type']}"
        assert event.endswith(b"\n\n")
    return found


def deltas(block: Block) -> list[Any]:
    return [event["delta"] for event in told(reply(block)) if "delta" in event][:-1]


def test_a_reply_begins_with_its_frame_and_ends_with_its_reason() -> None:
    first, ping, *_, last, stop = told(reply("hi"))

    assert first["message"] == {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "model-x",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 7, "output_tokens": 1},
    }
    assert ping == {"type": "ping"}
    assert last["delta"] == {"stop_reason": "end_turn", "stop_sequence": None}
    assert last["usage"] == USAGE
    assert stop == {"type": "message_stop"}


def test_text_comes_in_pieces_that_add_up() -> None:
    words = "a long sentence, with an umlaut ü and a face 😀, that needs several deltas"

    pieces = [delta["text"] for delta in deltas(text(words))]

    assert len(pieces) > 1
    assert "".join(pieces) == words


def test_a_huge_text_comes_in_few_pieces() -> None:
    pieces = deltas(text("word ", repeat=100_000))

    assert sum(len(piece["text"]) for piece in pieces) == 500_000
    assert len(pieces) <= 65


def test_tool_input_comes_as_json_pieces_after_an_empty_one() -> None:
    call = tool_use("Bash", {"command": "echo hello there, this is long"}, id="toolu_9")

    start = told(reply(call))[2]["content_block"]
    pieces = [delta["partial_json"] for delta in deltas(call)]

    assert start == {"type": "tool_use", "id": "toolu_9", "name": "Bash", "input": {}}
    assert pieces[0] == ""
    assert orjson.loads("".join(pieces)) == {"command": "echo hello there, this is long"}


def test_tool_input_can_be_raw_text_that_is_no_json() -> None:
    call = tool_use("Bash", partial_json='{"command": "rm -r')

    start = told(reply(call, stop_reason="max_tokens"))[2]["content_block"]
    pieces = [delta["partial_json"] for delta in deltas(call)]

    assert "partial_json" not in start
    assert "".join(pieces) == '{"command": "rm -r'


def test_a_call_without_an_id_gets_one_of_its_own() -> None:
    first, second = settled(reply(tool_use("A"), tool_use("B")), 4)

    assert (first["id"], second["id"]) == ("toolu_000004_0", "toolu_000004_1")


def test_thinking_ends_with_its_signature() -> None:
    block = thinking("hmm", "c2ln")

    start = told(reply(block))[2]["content_block"]

    assert start == {"type": "thinking", "thinking": "", "signature": ""}
    assert deltas(block) == [
        {"type": "thinking_delta", "thinking": "hmm"},
        {"type": "signature_delta", "signature": "c2ln"},
    ]


def test_omitted_thinking_has_a_signature_only() -> None:
    assert deltas(thinking("", "c2ln")) == [{"type": "signature_delta", "signature": "c2ln"}]


@pytest.mark.parametrize(
    "block",
    [{"type": "redacted_thinking", "data": "b3Bh"}, {"type": "hologram", "bits": [0, 1]}],
    ids=lambda block: str(block["type"]),
)
def test_a_block_without_deltas_stands_whole_in_its_start(block: Block) -> None:
    sent = told(reply(block))

    assert sent[2]["content_block"] == block
    assert deltas(block) == []


def test_raw_lines_each_get_their_line_end() -> None:
    raw = RawSse(lines=("event: ping", "data: {}", ""), eol="\r\n")

    assert raw_pieces(raw, raw.lines) == [b"event: ping\r\ndata: {}\r\n\r\n"]


def test_raw_lines_can_be_cut_inside_a_letter() -> None:
    raw = RawSse(lines=("data: ü",), chunk_bytes=7)

    assert raw_pieces(raw, raw.lines) == [b"data: \xc3", b"\xbc\n"]


def test_raw_letters_stay_escaped_unless_asked_otherwise() -> None:
    line = 'data: {"text": "\\u00fc"}'

    escaped = RawSse(lines=(line,))
    plain = RawSse(lines=(line, "data: no json", ": \\u00fc"), raw_unicode=True)

    assert raw_pieces(escaped, escaped.lines) == [b'data: {"text": "\\u00fc"}\n']
    assert raw_pieces(plain, plain.lines) == [
        'data: {"text": "ü"}\ndata: no json\n: \\u00fc\n'.encode()
    ]


@pytest.mark.asyncio
async def test_the_sdk_puts_together_exactly_what_was_scripted(sdk: Any) -> None:
    script = parse(
        [
            {
                "content": [
                    {"type": "thinking", "thinking": "step  one \n", "signature": "c2ln"},
                    {"type": "redacted_thinking", "data": "b3Bh"},
                    {"type": "text", "text": "Reading."},
                    {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"a": [1]}},
                ],
                "stop_reason": "tool_use",
                "usage": {"input_tokens": 190000, "output_tokens": 40},
                "model": "model-y",
                "id": "msg_own",
            }
        ]
    )

    async with ScriptedServer(script) as server:
        client: anthropic.AsyncAnthropic = sdk(server.base_url)
        asked = {"role": "user", "content": "hi"}
        async with client.messages.stream(
            model="model-x",
            max_tokens=10,
            messages=[asked],  # type: ignore[list-item]
        ) as stream:
            message = await stream.get_final_message()

    assert [block.to_dict() for block in message.content] == list(
        settled(script.replies[0], 1)  # type: ignore[arg-type]
    )
    assert (message.id, message.model, message.stop_reason) == ("msg_own", "model-y", "tool_use")
    assert (message.usage.input_tokens, message.usage.output_tokens) == (190000, 40)
    assert message.usage.cache_read_input_tokens == 0


@pytest.mark.asyncio
async def test_without_stream_the_same_reply_is_one_message(sdk: Any) -> None:
    async with ScriptedServer([reply("hi", tool_use("Read", id="toolu_1"))]) as server:
        message = await sdk(server.base_url).messages.create(
            model="model-x", max_tokens=10, messages=[{"role": "user", "content": "hi"}]
        )

    assert [block.to_dict() for block in message.content] == [
        {"type": "text", "text": "hi"},
        {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {}},
    ]
    assert (message.id, message.model, message.stop_reason) == (
        "msg_00000001",
        "model-x",
        "tool_use",
    )


@pytest.mark.asyncio
async def test_a_stream_is_announced_as_one(http: httpx2.AsyncClient) -> None:
    async with ScriptedServer([reply("hi")]) as server:
        answer = await http.post(
            f"{server.base_url}/v1/messages",
            json={
                "model": "model-x",
                "max_tokens": 10,
                "stream": True,
                "messages": [{"role": "user", "content": "hi"}],
            },
        )

    assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert answer.headers["request-id"] == "req_scripted_00000001"
    assert answer.text.startswith("event: message_start\ndata: {")
    assert answer.text.endswith('event: message_stop\ndata: {"type":"message_stop"}\n\n')
