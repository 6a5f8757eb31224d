"""The model port against a scripted server: good replies, headers, the cache, leaving early."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Any

import anthropic
import anyio
import httpx2
import orjson
import pytest
from attrs import evolve

from interlock.model.anthropic import RAW_RESPONSE
from interlock.scripted import (
    End,
    RawSse,
    ScriptedServer,
    Settings,
    cut,
    reply,
    status,
    thinking,
    tool_use,
)
from phases.world.failures import FailureKind
from phases.world.limits import Limits
from phases.world.messages import Message, Text, Thinking, ToolUse
from phases.world.ports import Begun, CallFinished, RawEvent, Replied, TextDelta, ThinkingDelta
from phases.world.usage import Usage
from tests.model.asking import ask, failed, replied
from tests.model.conftest import MakeModel
from tests.model.histories import TOOL, asking, result, user
from tests.model.streams import begun, ended, text, wire


async def test_a_good_stream_is_told_and_ends_in_the_reply(model_at: MakeModel) -> None:
    said = (thinking("hm \n", "c2ln"), "Let me look.", tool_use("Bash", {"command": "ls"}, id="t"))
    async with ScriptedServer([reply(*said, usage={"input_tokens": 7, "output_tokens": 9})]) as s:
        begun, *told, last = await ask(model_at(s.base_url, thinking_budget=2000))

    call = ToolUse("t", "Bash", {"command": "ls"})
    assert isinstance(begun, Begun)
    assert told == [ThinkingDelta("hm \n"), TextDelta("Let me look."), CallFinished(call)]
    assert isinstance(last, Replied)
    message = last.reply.message
    assert message.content == (Thinking("hm \n", "c2ln"), Text("Let me look."), call)
    assert (last.reply.stop_reason, last.reply.calls) == ("tool_use", ("t",))
    assert last.usage == Usage(input_tokens=7, output_tokens=9)
    assert last.cost is None  # no one knows the price of "m"
    assert message.origin is not None
    assert message.origin.request_id == "req_scripted_00000001"
    assert s.verdict() == ()


async def test_a_known_model_has_a_price(model_at: MakeModel) -> None:
    usage = {"input_tokens": 1000, "output_tokens": 100}
    async with ScriptedServer([reply("hi", model="claude-haiku-4-5", usage=usage)]) as s:
        assert (await replied(model_at(s.base_url))).cost == pytest.approx(0.0015)


async def test_the_prompt_is_told_with_its_price_as_soon_as_it_is_counted(
    model_at: MakeModel,
) -> None:
    start = begun(input_tokens=50_000, output_tokens=1)
    lines = wire([start, *text(0, "Hel")]).decode().split("\n")[:-1]
    async with ScriptedServer([RawSse(lines=tuple(lines), end=End.STALL)]) as s:
        request = evolve(asking(user("go")), model="claude-haiku-4-5")
        async with aclosing(model_at(s.base_url).ask(request)) as events:
            first, second = await anext(events), await anext(events)

    assert isinstance(first, Begun)
    assert first.usage == Usage(input_tokens=50_000, output_tokens=1)
    assert first.cost == pytest.approx(0.050005)
    assert second == TextDelta("Hel")


async def test_a_refused_request_has_begun_nothing(model_at: MakeModel) -> None:
    async with ScriptedServer([status(529, "overloaded_error", "Overloaded")]) as s:
        told = await ask(model_at(s.base_url))

    assert len(told) == 1


async def test_an_id_that_comes_twice_leaves_once(model_at: MakeModel) -> None:
    same = [tool_use("Bash", {"command": word}, id="toolu_same") for word in ("one", "two")]
    async with ScriptedServer([reply(*same), reply(same[0]), reply("done")]) as s:
        model = model_at(s.base_url, tools=(TOOL,))
        history: list[Message] = [user("go")]
        for _ in range(2):
            last = (await replied(model, *history)).reply
            history += [last.message, result(*last.calls)]
        await replied(model, *history)

    assert s.verdict() == ()
    ids = [call.id for message in history for call in message.calls]
    assert len(set(ids)) == 3


async def test_raw_events_come_along_on_demand(model_at: MakeModel) -> None:
    async with ScriptedServer([reply("hi"), reply("hi")]) as s:
        raw = await ask(model_at(s.base_url, raw_events=True))
        plain = await ask(model_at(s.base_url))

    assert [one.event["type"] for one in raw if isinstance(one, RawEvent)][-1] == "message_stop"
    assert not any(isinstance(one, RawEvent) for one in plain)


# --- headers and bytes -----------------------------------------------------------------------


async def test_the_key_goes_as_both_headers_and_own_headers_go_first(model_at: MakeModel) -> None:
    async with ScriptedServer([reply("hi")] * 3) as s:
        await ask(model_at(s.base_url, api_key=" sk-1\n"))
        await ask(model_at(s.base_url, api_key=None, auth_token="token"))
        await ask(model_at(s.base_url, headers={"X-Api-Key": "own", "x-title": "t"}))

    keyed, token, own = (one.headers for one in s.requests)
    assert (keyed["x-api-key"], keyed["authorization"]) == ("sk-1", "Bearer sk-1")
    assert "x-api-key" not in token
    assert token["authorization"] == "Bearer token"
    assert (own["x-api-key"], own["x-title"]) == ("own", "t")
    assert keyed["anthropic-version"]
    assert keyed["content-type"] == "application/json"


async def test_the_sdk_sends_our_bytes_and_hands_out_the_live_answer() -> None:
    """Pins what the adapter stands on: a header that is internal to the SDK."""
    messages = [{"role": "user", "content": "x"}]
    body = orjson.dumps({"model": "m", "max_tokens": 9, "stream": True, "messages": messages})
    async with ScriptedServer([reply("hi"), status(529, "overloaded_error", "Overloaded")]) as s:
        client = anthropic.AsyncAnthropic(api_key="x", base_url=s.base_url, max_retries=0)

        async def post() -> Any:
            return await client.post(
                "/v1/messages",
                content=body,
                cast_to=httpx2.Response,
                stream=True,
                stream_cls=anthropic.AsyncStream[bytes],
                options={"headers": RAW_RESPONSE},
            )

        answer = await post()
        assert isinstance(answer, httpx2.Response)
        assert not answer.is_stream_consumed
        assert b"".join([one async for one in answer.aiter_raw()]).endswith(b'_stop"}\n\n')
        with pytest.raises(anthropic.APIStatusError) as caught:
            await post()
        await client.close()

    assert s.requests[0].raw == body
    assert caught.value.type == "overloaded_error"


async def test_without_a_key_the_person_is_told_what_to_do(
    model_at: MakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    async with ScriptedServer([]) as s:
        failure = await failed(model_at(s.base_url, api_key=None))

    assert failure.kind is FailureKind.AUTHENTICATION
    assert "set ANTHROPIC_API_KEY" in failure.message
    assert s.requests == ()


# --- the cache and the connection ------------------------------------------------------------


async def test_thirty_turns_read_nearly_all_of_their_prompt_from_the_cache(
    model_at: MakeModel,
) -> None:
    turns = 30
    calls = [reply("Let me look.", tool_use("Bash", {"command": "ls"})) for _ in range(turns)]
    async with ScriptedServer([*calls, reply("done")]) as s:
        model = model_at(s.base_url, system=("You are terse. " * 200,), tools=(TOOL,))
        history: list[Message] = [user("go")]
        read = total = 0
        for _ in range(turns + 1):
            last = await replied(model, *history)
            history.append(last.reply.message)
            if last.reply.calls:
                history.append(result(*last.reply.calls, words="word " * 40))
            read += last.usage.cache_read_input_tokens
            total += last.usage.prompt_tokens

    assert s.verdict() == ()
    assert read / total > 0.9


async def test_one_connection_serves_request_after_request(model_at: MakeModel) -> None:
    lines: set[int] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        events = wire([begun(), *text(0, "hi"), *ended()])
        kind = "content-type: text/event-stream"
        frame = f"HTTP/1.1 200 OK\r\n{kind}\r\ncontent-length: {len(events)}\r\n\r\n"
        lines.add(id(writer))
        while head := await _head(reader):
            await reader.readexactly(head)
            writer.write(frame.encode() + events)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        model = model_at(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        for _ in range(3):
            await replied(model)
        await model.aclose()

    assert len(lines) == 1


async def _head(reader: asyncio.StreamReader) -> int:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return 0
    (length,) = (
        line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")
    )
    return int(length.partition(b":")[2])


# --- leaving early ---------------------------------------------------------------------------

STALLED = cut("Hello.", after=4, end=End.STALL)


async def test_a_consumer_that_leaves_closes_the_connection(model_at: MakeModel) -> None:
    async with ScriptedServer([STALLED]) as s:
        async with aclosing(model_at(s.base_url).ask(asking(user("go")))) as events:
            assert isinstance(await anext(events), Begun)
            assert await anext(events) == TextDelta("Hello.")
        with anyio.fail_after(5):
            await s.wait_for_disconnect(1)


@pytest.mark.parametrize(
    "answer", [STALLED, RawSse(lines=(), end=End.STALL)], ids=["in the answer", "before it"]
)
async def test_cancellation_goes_through_and_closes_the_connection(
    model_at: MakeModel, answer: Any
) -> None:
    async with ScriptedServer([answer]) as s:
        model = model_at(s.base_url)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask, model)
            await s.wait_for_request(1)
            tasks.cancel_scope.cancel()
        with anyio.fail_after(5):
            await s.wait_for_disconnect(1)


async def test_a_slow_consumer_is_not_taken_for_a_slow_server(model_at: MakeModel) -> None:
    limits = Limits(first_event_s=2.0, stream_idle_s=0.5, request_timeout_s=1.0)
    seen = []
    async with ScriptedServer([reply("one ", "two", drip_s=0.01)]) as s:
        async for event in model_at(s.base_url, limits=limits).ask(asking(user("go"))):
            seen.append(event)
            await anyio.sleep(0.6)

    assert isinstance(seen[-1], Replied)


async def test_a_prompt_beyond_the_window_is_told_apart(model_at: MakeModel) -> None:
    async with ScriptedServer([], Settings(window=10)) as s:
        failure = await failed(model_at(s.base_url), user("word " * 100))

    assert failure.kind is FailureKind.PROMPT_TOO_LONG
