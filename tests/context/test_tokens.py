"""How large a view is: what the server counted, and a calibrated estimate of the rest."""

from __future__ import annotations

import asyncio

import pytest
from attrs import evolve

from interlock.model import AnthropicModel
from interlock.scripted import ScriptedServer, reply
from interlock.settings import Settings
from interlock.window import limits_for
from phases.world.limits import Limits
from phases.world.messages import Message
from phases.world.size import calibration, estimate, summarised_size, tokens_of
from tests.context.sessions import says, user
from tests.model.histories import asking
from tests.model.histories import user as prompt

BIG = user("x" * 35_000)  # 10 000 tokens and a little, by estimate


def weight(*messages: Message) -> int:
    return sum(map(estimate, messages))


def test_what_the_server_counted_last_covers_all_before_it() -> None:
    view = (BIG, says("ok", counted=500), user("and now?"))

    assert tokens_of(view, fixed=9_999) == 500 + estimate(view[2])


def test_where_a_server_reports_nothing_the_estimate_stands_alone() -> None:
    view = (BIG, says("ok", counted=0), user("and now?"))

    assert tokens_of(view, fixed=100) == 100 + weight(*view)


@pytest.mark.parametrize(
    ("counted", "factor"), [(10_000, 1.0), (13_000, 1.3), (90_000, 1.6), (9_000, 0.9), (100, 0.7)]
)
def test_what_came_since_is_estimated_as_the_count_before_it_teaches(
    counted: int, factor: float
) -> None:
    first = says("ok", counted=counted)
    view = (BIG, first, BIG)

    size = tokens_of(view, fixed=0)

    assert size == pytest.approx(counted + factor * estimate(BIG), rel=0.005)


def test_little_that_came_since_is_not_worth_a_look_at_the_history() -> None:
    view = (*[BIG] * 3, says("ok", counted=60_000), user("and now?"))

    assert tokens_of(view, fixed=0) == 60_000 + estimate(view[-1])


def test_a_summary_is_weighed_as_the_count_of_what_it_stands_for_teaches() -> None:
    view, summary = (BIG, says("ok", counted=9_500)), (user("short " * 500),)
    size, fixed = 9_500, 2_000

    told = summarised_size(summary, of=view, size=size, fixed=fixed)

    factor = calibration(size, fixed + weight(*view))
    assert factor < 1.0
    assert told == round(factor * (fixed + weight(*summary)))
    assert summarised_size(view, of=view, size=size, fixed=fixed) == size


def test_too_little_teaches_nothing() -> None:
    assert calibration(900, 500) == calibration(0, 5_000) == 1.0


# --- limits per model ----------------------------------------------------------------------------


def settings_of(**environ: str) -> Settings:
    return Settings.of({"HOME": "/u", **environ})


def test_a_model_with_a_small_output_lowers_the_caps() -> None:
    limits = limits_for(["claude-3-opus-20240229"], settings_of())

    assert limits == evolve(Limits(), default_output_cap=4_096, escalated_output_cap=4_096)


def test_the_smallest_of_the_models_that_may_be_asked_counts() -> None:
    limits = limits_for(["claude-sonnet-4-5", "claude-3-5-haiku-latest"], settings_of())

    assert (limits.context_window, limits.escalated_output_cap) == (200_000, 8_192)


def test_what_the_user_set_stays_as_it_is() -> None:
    own = settings_of(INTERLOCK_CONTEXT_WINDOW="32768", INTERLOCK_ESCALATED_OUTPUT_CAP="9000")

    limits = limits_for(["claude-3-opus-20240229"], own)

    assert (limits.context_window, limits.escalated_output_cap) == (32_768, 9_000)


def test_an_unknown_model_has_the_limits_of_the_settings() -> None:
    own = settings_of()

    assert limits_for(["local-model"], own) is own.limits


# --- count_tokens --------------------------------------------------------------------------------


async def test_the_server_counts_what_would_be_sent() -> None:
    async with ScriptedServer([reply("hi")]) as server:
        model = AnthropicModel(
            base_url=server.base_url, api_key="key", system=("Be brief.",), user_context="note"
        )
        told = await model.count(asking(prompt("hello " * 400)))
        await model.aclose()

        assert told is not None
        assert told > 500
        (asked,) = server.counts
        assert set(asked.body) == {"model", "system", "messages"}
        assert server.verdict() == ()


async def test_a_count_and_the_request_after_it_share_what_was_built() -> None:
    async with ScriptedServer([reply("hi")]) as server:
        model = AnthropicModel(base_url=server.base_url, api_key="key", thinking_budget=2_000)
        request = asking(prompt("hello"))
        await model.count(request)
        events = [event async for event in model.ask(request)]
        await model.aclose()

        assert events
        assert server.counts[0].body["messages"] == server.requests[0].body["messages"]
        assert "thinking" in server.counts[0].body
        assert server.verdict() == ()


@pytest.mark.parametrize(("code", "asked"), [(404, 1), (405, 1), (529, 2)])
async def test_a_server_that_cannot_count_is_asked_once(code: int, asked: int) -> None:
    seen: list[bytes] = []

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await reader.readline())
        body = b"{}"
        head = f"HTTP/1.1 {code} No\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
        writer.write(head.encode() + body)
        await writer.drain()
        writer.close()

    listening = await asyncio.start_server(refuse, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    model = AnthropicModel(base_url=f"http://127.0.0.1:{port}", api_key="key")

    told = [await model.count(asking(prompt("hello"))) for _ in range(2)]
    await model.aclose()
    listening.close()

    assert told == [None, None]
    assert seen == [b"POST /v1/messages/count_tokens HTTP/1.1\r\n"] * asked
