"""The simulated prompt cache: what is read, what is written, what is paid in full."""

from __future__ import annotations

import time
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.scripted import ScriptedServer, Settings, reply
from interlock.scripted.cache import LOOKBACK, PromptCache, Reading, render

SYSTEM = "be kind " * 50
STOP = {"cache_control": {"type": "ephemeral"}}


def said(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": text, **more}


def asked(*blocks: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A request whose messages alternate, one block each."""
    roles = ("user", "assistant")
    messages = [{"role": roles[at % 2], "content": [block]} for at, block in enumerate(blocks)]
    return {"model": "model-x", "system": SYSTEM, "messages": messages, **more}


def read(cache: PromptCache, body: dict[str, Any]) -> Reading:
    return cache.settle(render(body))


def test_without_breakpoints_nothing_is_cached() -> None:
    cache = PromptCache()

    first, second = read(cache, asked(said("hi"))), read(cache, asked(said("hi")))

    assert first == second
    assert (first.read, first.written, first.share) == (0, 0, 0.0)


def test_the_first_request_writes_what_the_second_reads() -> None:
    cache = PromptCache()

    first = read(cache, asked(said("hi" * 100, **STOP)))
    second = read(cache, asked(said("hi" * 100, **STOP)))

    assert (first.read, first.fresh) == (0, 0)
    assert second == Reading(read=first.written, written=0, fresh=0)
    assert second.share == 1.0


def test_a_growing_conversation_reads_all_but_its_newest_part() -> None:
    cache = PromptCache()

    before = read(cache, asked(said("question " * 100, **STOP)))
    after = read(
        cache, asked(said("question " * 100), said("answer " * 100), said("more " * 100, **STOP))
    )

    assert after.read == before.written
    assert after.written > 0
    assert after.fresh == 0


def test_what_follows_the_last_breakpoint_is_paid_in_full() -> None:
    reading = read(PromptCache(), asked(said("a" * 400, **STOP), said("b" * 400), said("c")))

    assert reading.written > 200
    assert 100 < reading.fresh < 130


def test_moving_the_breakpoint_does_not_change_what_stands_before_it() -> None:
    cache = PromptCache()
    read(cache, asked(said("a", **STOP)))

    moved = read(cache, asked(said("a"), said("b", **STOP)))

    assert moved.read > 0


def test_a_string_and_a_text_block_are_the_same_prompt() -> None:
    as_string = render({"model": "m", "messages": [{"role": "user", "content": "hi"}]})
    as_block = render({"model": "m", "messages": [{"role": "user", "content": [said("hi")]}]})

    assert as_string == as_block


@pytest.mark.parametrize(
    "change",
    [
        {"model": "model-y"},
        {"system": "be rude"},
        {"tools": [{"name": "Read", "input_schema": {"type": "object"}}]},
        {"thinking": {"type": "adaptive"}},
        {"tool_choice": {"type": "none"}},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_change_before_the_messages_misses(change: dict[str, Any]) -> None:
    cache = PromptCache()
    read(cache, asked(said("hi", **STOP)))

    assert read(cache, asked(said("hi", **STOP), **change)).read == 0


def test_thinking_and_tool_choice_leave_the_system_prompt_in_the_cache() -> None:
    cache = PromptCache()
    system = [said(SYSTEM, **STOP)]
    read(cache, asked(said("hi", **STOP), system=system))

    changed = asked(said("hi", **STOP), system=system, thinking={"type": "adaptive"})

    assert read(cache, changed).read > 90


def test_a_breakpoint_looks_back_twenty_blocks_and_no_further() -> None:
    near, far = PromptCache(), PromptCache()
    beginning = [said("start", **STOP)]
    grown = [said(str(at)) for at in range(LOOKBACK - 1)]
    read(near, asked(*beginning))
    read(far, asked(*beginning))

    within = read(near, asked(said("start"), *grown, said("end", **STOP)))
    beyond = read(far, asked(said("start"), *grown, said("one more"), said("end", **STOP)))

    assert within.read > 0
    assert beyond.read == 0


def test_a_breakpoint_inside_a_tool_result_counts_for_the_result() -> None:
    cache = PromptCache()
    result = {"type": "tool_result", "tool_use_id": "t", "content": [said("x" * 400, **STOP)]}
    plain = {"type": "tool_result", "tool_use_id": "t", "content": [said("x" * 400)]}
    read(cache, asked(result))

    assert read(cache, asked(plain, said("y", **STOP))).read > 100


def test_the_automatic_breakpoint_stands_on_the_last_block() -> None:
    cache = PromptCache()

    read(cache, asked(said("hi"), **STOP))

    assert read(cache, asked(said("hi"), **STOP)).share == 1.0


def test_below_the_minimum_nothing_is_cached() -> None:
    cache = PromptCache(minimum=1024)

    first = read(cache, asked(said("hi", **STOP)))

    assert (first.read, first.written) == (0, 0)
    assert first.fresh > 0


def test_a_picture_weighs_the_same_whatever_its_bytes() -> None:
    def picture(data: str) -> dict[str, Any]:
        return {"type": "image", "source": {"type": "base64", "media_type": "x", "data": data}}

    small, large = render(asked(picture("A" * 4))), render(asked(picture("A" * 400_000)))

    assert small.tokens == large.tokens


@given(st.lists(st.text(max_size=200), min_size=1, max_size=40), st.data())
def test_the_three_parts_always_add_up_to_the_prompt(
    words: list[str], data: st.DataObject
) -> None:
    cache = PromptCache()
    for _ in range(3):
        stops = data.draw(st.sets(st.integers(0, len(words) - 1), max_size=4))
        blocks = [said(one, **(STOP if at in stops else {})) for at, one in enumerate(words)]
        prompt = render(asked(*blocks))

        reading = cache.settle(prompt)

        assert reading.read + reading.written + reading.fresh == prompt.tokens
        assert min(reading.read, reading.written, reading.fresh) >= 0


def test_a_history_of_four_hundred_turns_is_quickly_read() -> None:
    body = asked(*[said("some words of a long talk " * 8) for _ in range(800)], said("z", **STOP))
    cache = PromptCache()

    begun = time.process_time()
    read(cache, body)
    spent = time.process_time() - begun

    assert spent < 0.1  # measured: 1.5 ms


@pytest.mark.asyncio
async def test_usage_and_share_of_each_request_come_from_the_cache(
    http: httpx2.AsyncClient,
) -> None:
    body = asked(said("hi", **STOP), max_tokens=10)

    async with ScriptedServer([reply("a"), reply("b")]) as server:
        url = f"{server.base_url}/v1/messages"
        first = (await http.post(url, json=body)).json()["usage"]
        second = (await http.post(url, json=body)).json()["usage"]

    written = first["cache_creation_input_tokens"]
    assert written > 100
    assert second["cache_read_input_tokens"] == written
    assert [sent.cache_read_share for sent in server.requests] == [0.0, 1.0]


@pytest.mark.asyncio
async def test_scripted_usage_stands(http: httpx2.AsyncClient) -> None:
    answer = reply("a", usage={"input_tokens": 190_000, "output_tokens": 40})

    async with ScriptedServer([answer]) as server:
        body = asked(said("hi", **STOP), max_tokens=10)
        usage = (await http.post(f"{server.base_url}/v1/messages", json=body)).json()["usage"]

    assert usage == {
        "input_tokens": 190_000,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": 40,
    }


@pytest.mark.asyncio
async def test_without_the_cache_every_answer_costs_ten_and_five(
    http: httpx2.AsyncClient,
) -> None:
    async with ScriptedServer([reply("a")], Settings(cache=False)) as server:
        body = asked(said("hi"), max_tokens=10)
        usage = (await http.post(f"{server.base_url}/v1/messages", json=body)).json()["usage"]

    assert (usage["input_tokens"], usage["output_tokens"]) == (10, 5)
