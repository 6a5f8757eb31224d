"""Everything that can go wrong between the first byte and the last, and a client that leaves."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any, TypeVar

import anthropic
import httpx2
import orjson
import pytest

from interlock.scripted import (
    Answer,
    End,
    RawSse,
    ScriptedServer,
    Status,
    cut,
    parse,
    reply,
    status,
    stream_error,
    tool_use,
)

T = TypeVar("T")
ASKED: dict[str, Any] = {
    "model": "model-x",
    "max_tokens": 10,
    "messages": [{"role": "user", "content": "hi"}],
}
STREAMED = {**ASKED, "stream": True}


async def streamed(http: httpx2.AsyncClient, answer: Answer) -> httpx2.Response:
    async with ScriptedServer([answer]) as server:
        return await http.post(f"{server.base_url}/v1/messages", json=STREAMED)


async def collect(source: AsyncIterator[T], found: list[T]) -> None:
    async for one in source:
        found.append(one)


async def leave_after(server: ScriptedServer, seen: bytes) -> bytes:
    """Ask, read until `seen`, and go away."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    body = orjson.dumps(STREAMED)
    head = b"POST /v1/messages HTTP/1.1\r\nhost: x\r\nx-api-key: k\r\nanthropic-version: x\r\n"
    writer.write(b"%bcontent-length: %d\r\n\r\n%b" % (head, len(body), body))
    found = await reader.readuntil(seen)
    writer.close()
    await writer.wait_closed()
    return found


@pytest.mark.asyncio
async def test_an_overloaded_api_asks_to_come_back_later(sdk: Any) -> None:
    answer = status(529, "overloaded_error", "Overloaded", retry_after=3)

    async with ScriptedServer([answer]) as server:
        with pytest.raises(anthropic.APIStatusError) as failed:
            await sdk(server.base_url).messages.create(**ASKED)

    assert failed.value.status_code == 529
    assert failed.value.response.headers["retry-after"] == "3"
    assert failed.value.body == {
        "type": "error",
        "error": {"type": "overloaded_error", "message": "Overloaded"},
        "request_id": "req_scripted_00000001",
    }


@pytest.mark.asyncio
async def test_a_gateway_may_answer_with_its_own_page(http: httpx2.AsyncClient) -> None:
    page = Status(status=200, headers={"content-type": "text/html"}, raw_body="<html>login</html>")

    answer = await streamed(http, page)

    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html")
    assert answer.text == "<html>login</html>"


@pytest.mark.asyncio
async def test_an_error_can_come_in_the_middle_of_a_good_stream(sdk: Any) -> None:
    answer = stream_error("overloaded_error", "Overloaded", "Hello there", after=4)

    async with ScriptedServer([answer]) as server:
        seen: list[str] = []
        stream = await sdk(server.base_url).messages.create(**STREAMED)
        with pytest.raises(anthropic.APIStatusError) as failed:
            await collect((event.type async for event in stream), seen)

    assert seen == ["message_start", "content_block_start", "content_block_delta"]
    assert failed.value.status_code == 200
    assert failed.value.type == "overloaded_error"


@pytest.mark.asyncio
async def test_without_stream_the_same_error_is_a_status(http: httpx2.AsyncClient) -> None:
    async with ScriptedServer([stream_error("overloaded_error", "Overloaded", "Hel")]) as server:
        answer = await http.post(f"{server.base_url}/v1/messages", json=ASKED)

    assert answer.status_code == 529


@pytest.mark.asyncio
async def test_a_cut_stream_may_end_cleanly(http: httpx2.AsyncClient) -> None:
    answer = await streamed(http, cut("Hello", after=4, end="close"))

    assert answer.text.count("event: ") == 4
    assert "message_stop" not in answer.text


@pytest.mark.asyncio
async def test_a_cut_stream_may_be_reset_after_all_its_bytes_came(
    http: httpx2.AsyncClient,
) -> None:
    found: list[bytes] = []

    async with ScriptedServer([cut("Hello", after=4, end="reset")]) as server:
        url = f"{server.base_url}/v1/messages"
        async with http.stream("POST", url, json=STREAMED) as answer:
            with pytest.raises(httpx2.TransportError):
                await collect(answer.aiter_raw(), found)

    assert b"".join(found).count(b"event: ") == 4


@pytest.mark.asyncio
async def test_a_cut_message_is_half_a_body(http: httpx2.AsyncClient) -> None:
    async with ScriptedServer([cut("Hello", after=1)]) as server:
        with pytest.raises(httpx2.TransportError):
            await http.post(f"{server.base_url}/v1/messages", json=ASKED)


@pytest.mark.asyncio
async def test_a_stalled_stream_stays_open_until_the_client_leaves() -> None:
    async with ScriptedServer([cut("Hello", after=3, end="stall")]) as server:
        await leave_after(server, b"content_block_start")
        await server.wait_for_disconnect(1)

    assert server.disconnected == (1,)
    assert server.verdict() == ()


@pytest.mark.asyncio
async def test_a_stalled_stream_ends_when_the_server_does() -> None:
    async with ScriptedServer([cut("Hello", after=0, end="stall")]) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        body = orjson.dumps(STREAMED)
        head = b"POST /v1/messages HTTP/1.1\r\nhost: x\r\nx-api-key: k\r\nanthropic-version: x"
        writer.write(b"%b\r\ncontent-length: %d\r\n\r\n%b" % (head, len(body), body))
        begun = await reader.readuntil(b"\r\n\r\n")

    assert begun.startswith(b"HTTP/1.1 200")
    assert await reader.read() == b""
    writer.close()


@pytest.mark.asyncio
async def test_a_client_that_leaves_a_slow_stream_ends_it_at_once() -> None:
    async with ScriptedServer([reply("a long answer", drip_s=60)]) as server:
        begun = time.monotonic()
        await leave_after(server, b"message_start")
        await server.wait_for_disconnect(1)

    assert time.monotonic() - begun < 10


@pytest.mark.asyncio
async def test_a_client_may_leave_before_the_first_byte() -> None:
    async with ScriptedServer([reply("late", delay_s=60)]) as server:
        client = httpx2.AsyncClient(headers={"x-api-key": "k", "anthropic-version": "x"})
        async with client:
            asking = asyncio.ensure_future(
                client.post(f"{server.base_url}/v1/messages", json=STREAMED)
            )
            await server.wait_for_request(1)
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
        await server.wait_for_disconnect(1)

    assert server.disconnected == (1,)


@pytest.mark.asyncio
async def test_delay_and_drip_take_their_time(http: httpx2.AsyncClient) -> None:
    begun = time.monotonic()

    answer = await streamed(http, reply("hi", delay_s=0.05, drip_s=0.01))

    assert answer.text.count("event: ") == 7
    assert time.monotonic() - begun >= 0.05 + 6 * 0.01


@pytest.mark.asyncio
async def test_raw_lines_are_sent_as_they_stand(http: httpx2.AsyncClient) -> None:
    raw = RawSse(lines=("event: future", "data: no json", "", "retry: 3000", ""), eol="\r\n")

    answer = await streamed(http, raw)

    assert answer.content == b"event: future\r\ndata: no json\r\n\r\nretry: 3000\r\n\r\n"
    assert answer.headers["content-type"].startswith("text/event-stream")


@pytest.mark.asyncio
async def test_raw_bytes_come_in_pieces_of_the_size_asked_for(http: httpx2.AsyncClient) -> None:
    async with ScriptedServer([RawSse(lines=("data: ü", ""), chunk_bytes=7)]) as server:
        url = f"{server.base_url}/v1/messages"
        async with http.stream("POST", url, json=STREAMED) as answer:
            pieces = [piece async for piece in answer.aiter_raw()]

    assert pieces == [b"data: \xc3", b"\xbc\n\n"]


@pytest.mark.asyncio
async def test_an_empty_raw_stream_is_an_empty_body(http: httpx2.AsyncClient) -> None:
    answer = await streamed(http, RawSse(lines=()))

    assert (answer.status_code, answer.content) == (200, b"")


@pytest.mark.asyncio
async def test_raw_lines_may_end_in_a_reset(http: httpx2.AsyncClient) -> None:
    with pytest.raises(httpx2.TransportError):
        await streamed(http, RawSse(lines=("data: 1", ""), end=End.RESET))


@pytest.mark.asyncio
async def test_pings_may_repeat_for_ever() -> None:
    raw = RawSse(lines=("data: 1", ""), end=End.REPEAT, repeat=(": alive", ""), every_s=0.001)

    async with ScriptedServer([raw]) as server:
        found = await leave_after(server, b": alive\n\n\r\n9")
        await server.wait_for_disconnect(1)

    assert b"data: 1" in found


@pytest.mark.asyncio
async def test_a_signature_sent_in_raw_lines_is_known_afterwards(
    http: httpx2.AsyncClient,
) -> None:
    def event(kind: str, **more: Any) -> list[str]:
        data = orjson.dumps({"type": kind, "index": 0, **more}).decode()
        return [f"event: {kind}", f"data: {data}", ""]

    lines = [
        *event("content_block_start", content_block={"type": "thinking", "thinking": ""}),
        *event("content_block_delta", delta={"type": "thinking_delta", "thinking": "h"}),
        *event("content_block_delta", delta={"type": "thinking_delta", "thinking": "m"}),
        *event("content_block_delta", delta={"type": "signature_delta", "signature": "s"}),
    ]
    said = {"type": "thinking", "thinking": "hm", "signature": "s"}
    history = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": [said, {"type": "text", "text": "x"}]},
        {"role": "user", "content": "go on"},
    ]

    async with ScriptedServer([RawSse(lines=tuple(lines)), reply("ok")]) as server:
        url = f"{server.base_url}/v1/messages"
        await http.post(url, json=STREAMED)
        answer = await http.post(url, json=ASKED | {"messages": history})

    assert answer.status_code == 200


@pytest.mark.asyncio
async def test_json_cut_by_max_tokens_reaches_the_client_as_it_is(
    http: httpx2.AsyncClient,
) -> None:
    call = tool_use("Bash", partial_json='{"command": "rm -r')

    answer = await streamed(http, reply(call, stop_reason="max_tokens"))

    assert '"partial_json":"{\\"command\\": \\"rm -r"' in answer.text
    assert '"stop_reason":"max_tokens"' in answer.text


@pytest.mark.asyncio
async def test_every_fault_can_be_written_in_a_file(http: httpx2.AsyncClient) -> None:
    script = parse(
        [
            {"content": [{"type": "text", "text": "Hel"}], "cut_after": 3},
            {"error": {"status": 503, "raw_body": "no"}},
            {"raw_sse": ["data: 1", ""], "end": "close"},
        ]
    )

    async with ScriptedServer(script) as server:
        url = f"{server.base_url}/v1/messages"
        answers = [await http.post(url, json=STREAMED) for _ in script.replies]

    assert [answer.status_code for answer in answers] == [200, 503, 200]
    assert [answer.text.count("event: ") for answer in answers] == [3, 0, 0]
