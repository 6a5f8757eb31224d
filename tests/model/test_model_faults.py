"""The model port against a scripted server that fails in every way a network can."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from attrs import field, frozen

from interlock.scripted import (
    Answer,
    End,
    RawSse,
    ScriptedServer,
    Status,
    cut,
    reply,
    status,
    stream_error,
    tool_use,
)
from phases.world.failures import Failure, FailureKind, RefusedBlock
from phases.world.limits import Limits
from phases.world.messages import Opaque, Text, ToolResult
from phases.world.ports import Begun, CallFinished, Failed, Replied, TextDelta
from phases.world.usage import Usage
from tests.model.asking import ask, failed, replied
from tests.model.conftest import MakeModel
from tests.model.histories import PIXEL, TOOL, assistant, call, user
from tests.model.streams import begun, closed, delta, ended, event, opened, said, text, typed, wire

K = FailureKind


def raw(*events: Any, end: str = "close", **more: Any) -> RawSse:
    lines = wire([one for part in events for one in (part if isinstance(part, list) else [part])])
    return RawSse(lines=tuple(lines.decode().split("\n")[:-1]), end=End(end), **more)


@frozen
class Case:
    answer: Answer
    kind: FailureKind
    words: str
    used: int = 0  # input tokens that are to be paid all the same
    hopeless: bool = False  # another attempt would meet the same
    # Only the one limit a case is about is short: on a busy machine any other would expire by
    # itself, before the server has so much as read the request.
    limits: Limits = field(factory=Limits)


HALF_A_CALL = [
    begun(),
    opened(0, "tool_use", id="t", name="Bash", input={}),
    typed(0, '{"command": "rm -rf build", "timeo'),
]
WHOLE_CALL = [
    begun(),
    opened(0, "tool_use", id="t", name="Bash", input={}),
    typed(0, '{"command": "rm"}'),
    closed(0),
]
PAGE = Status(
    status=200,
    headers={"content-type": "text/html"},
    raw_body="<html><body>proxy\nlogin</body></html>",
)
CASES = {
    "overload as first event": Case(
        stream_error("overloaded_error", "Overloaded"), K.OVERLOADED, "overloaded: Overloaded"
    ),
    "overload after text": Case(
        stream_error("overloaded_error", "Overloaded", "Hello.", after=4),
        K.OVERLOADED,
        "overloaded: Overloaded",
        used=1,
    ),
    "api_error in a stream": Case(
        raw(begun(), event("error", error={"type": "api_error", "message": "Internal"})),
        K.SERVER,
        "failed: Internal",
        used=25,
    ),
    "refused in a stream": Case(
        raw(begun(), event("error", error={"type": "invalid_request_error", "message": "bad"})),
        K.INVALID_REQUEST,
        "refused: bad",
        used=25,
    ),
    "cut in a call": Case(raw(HALF_A_CALL), K.CUT, "ended without message_stop", used=25),
    "cut after a whole call": Case(raw(WHOLE_CALL), K.CUT, "without message_stop", used=25),
    "reset in a call": Case(raw(HALF_A_CALL, end="reset"), K.CUT, "connection broke", used=25),
    "cut in the middle of an event": Case(
        RawSse(lines=(*raw(begun()).lines, 'data: {"type"')), K.CUT, "message_stop", used=25
    ),
    "a page instead of a stream": Case(
        PAGE, K.PROTOCOL, "its body (text/html) begins: <html><body>proxy login</body></html>"
    ),
    "an empty body": Case(RawSse(lines=()), K.PROTOCOL, "its body is empty"),
    "a name and its data torn apart": Case(
        RawSse(lines=("event: message_start", "", 'data: {"type": "x"}', "")), K.CUT, "cut"
    ),
    "no message_start": Case(
        raw(WHOLE_CALL[1:], ended("tool_use")),
        K.PROTOCOL,
        "content_block_start without message_start; its body "
        "(text/event-stream; charset=utf-8) begins: event: content_block_start",
    ),
    "data that is no JSON": Case(
        raw(begun(), ("content_block_start", b"{oops")), K.PROTOCOL, "no JSON object", used=25
    ),
    "no event at all": Case(
        RawSse(lines=(), end=End.STALL),
        K.STALLED,
        "nothing for 1 s (INTERLOCK_FIRST_EVENT_S)",
        limits=Limits(first_event_s=1.0),
    ),
    "silence after text": Case(
        cut("Hello.", after=4, end=End.STALL),
        K.STALLED,
        "still for 0.3 s (INTERLOCK_STREAM_IDLE_S)",
        used=1,
        limits=Limits(stream_idle_s=0.3),
    ),
    "pings and comments only": Case(
        raw(
            [begun(), opened(0, "text", text=""), said(0, "Hel")],
            end="repeat",
            repeat=("event: ping", 'data: {"type": "ping"}', "", ": still here", ""),
            every_s=0.05,
        ),
        K.STALLED,
        "stood still",
        used=25,
        limits=Limits(stream_idle_s=0.3),
    ),
    "an answer that is never done": Case(
        raw(
            [begun(), opened(0, "text", text="")],
            end="repeat",
            repeat=raw(said(0, "x")).lines,
            every_s=0.05,
        ),
        K.TIMEOUT,
        "not whole after 1 s (INTERLOCK_REQUEST_TIMEOUT_S)",
        used=25,
        limits=Limits(request_timeout_s=1.0),
    ),
    "a redirect": Case(
        Status(status=307, headers={"location": "https://login.example/"}),
        K.PROTOCOL,
        "redirects to https://login.example/",
        hopeless=True,
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
async def test_a_broken_answer_ends_in_one_failure_and_nothing_of_it_counts(
    model_at: MakeModel, case: Case
) -> None:
    async with ScriptedServer([case.answer, reply("after all")]) as s:
        last = (await ask(model_at(s.base_url, limits=case.limits)))[-1]
        after = await replied(model_at(s.base_url))

    assert isinstance(last, Failed)
    assert last.failure.kind is case.kind
    assert last.failure.hopeless is case.hopeless
    assert case.words in last.failure.message
    assert "\n" not in last.failure.message
    assert (last.usage.prompt_tokens > 0) is (case.used > 0)
    assert (last.cost == 0.0) is (case.used == 0)
    assert after.reply.message.text == "after all"
    assert len(s.requests) == 2  # each was asked once: trying again is for the loop


async def test_what_a_failed_answer_has_used_is_told(model_at: MakeModel) -> None:
    start = begun(input_tokens=27, output_tokens=1, cache_read_input_tokens=1000)
    async with ScriptedServer([raw(start, text(0, "Hel"))]) as s:
        *told, last = await ask(model_at(s.base_url))

    assert isinstance(last, Failed)
    assert told == [Begun(usage=last.usage, cost=None), TextDelta("Hel")]
    assert last.usage == Usage(input_tokens=27, output_tokens=1, cache_read_input_tokens=1000)


async def test_a_server_that_is_not_there_is_named(model_at: MakeModel) -> None:
    async with ScriptedServer([]) as s:
        address = s.base_url

    failure = await failed(model_at(address))

    assert failure.kind is K.CONNECTION
    assert address in failure.message
    assert "refused" in failure.message


@pytest.mark.parametrize(
    ("pause", "seconds"),
    [
        ({"retry-after": "3"}, 3.0),
        ({"retry-after-ms": "250"}, 0.25),
        (
            {
                "retry-after": "Wed, 01 Jan 2031 00:01:00 GMT",
                "date": "Wed, 01 Jan 2031 00:00:00 GMT",
            },
            60.0,
        ),
    ],
    ids=["seconds", "milliseconds", "date"],
)
async def test_a_429_tells_how_long_to_wait(
    model_at: MakeModel, pause: dict[str, str], seconds: float
) -> None:
    busy = status(429, "rate_limit_error", "slow down", headers=pause)
    async with ScriptedServer([busy]) as s:
        failure = await failed(model_at(s.base_url))

    assert failure == Failure(
        kind=K.RATE_LIMITED,
        message=f"the rate limit is reached (429): slow down; "
        f"the server asks for a pause of {seconds:g} s",
        status=429,
        error_type="rate_limit_error",
        retry_after=seconds,
        request_id="req_scripted_00000001",
    )


async def test_a_400_leads_back_to_the_picture_it_names(model_at: MakeModel) -> None:
    words = "messages.2.content.0.image.source.base64.data: dimensions exceed 8000 pixels"
    refusal = status(400, "invalid_request_error", words)
    shown = user(ToolResult("toolu_1", (PIXEL,)))
    async with ScriptedServer([refusal]) as s:
        model = model_at(s.base_url, tools=(TOOL,))
        failure = await failed(model, user("go"), user("on"), assistant(call()), user(" "), shown)

    assert failure.kind is K.MEDIA_TOO_LARGE
    assert failure.refused == RefusedBlock(message_id=shown.id, block=0, what="a result of Bash")


async def test_unknown_events_and_blocks_do_no_harm(model_at: MakeModel) -> None:
    strange = raw(
        event("ping"),
        begun(),
        event("future_event", x=1),
        ("future_plain", b"not json at all"),
        [opened(0, "hologram", data="opaque"), closed(0)],
        [opened(1, "text", text=""), delta(1, "future_delta", v=2), said(1, "ok"), closed(1)],
        ended("future_reason"),
    )
    async with ScriptedServer([strange]) as s:
        last = await replied(model_at(s.base_url))

    assert last.reply.message.content == (
        Opaque({"type": "hologram", "data": "opaque"}),
        Text("ok"),
    )
    assert last.reply.stop_reason == "future_reason"


@pytest.mark.parametrize("eol", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
@pytest.mark.parametrize("chunk_bytes", [None, 1, 7], ids=["whole", "by one", "by seven"])
async def test_framing_and_cuts_of_the_bytes_tell_the_same(
    model_at: MakeModel, eol: str, chunk_bytes: int | None
) -> None:
    stream = raw(
        begun(), text(0, "größe \U0001f600"), ended(), eol=eol, chunk_bytes=chunk_bytes,
        raw_unicode=True,
    )  # fmt: skip
    async with ScriptedServer([stream]) as s:
        last = await replied(model_at(s.base_url))

    assert last.reply.message.content == (Text("größe \U0001f600"),)


async def test_a_call_that_the_cap_cut_is_told_apart(model_at: MakeModel) -> None:
    whole = tool_use("Bash", {"command": "ls"}, id="whole")
    broken = tool_use("Bash", id="broken", partial_json='{"command": "rm -r')
    async with ScriptedServer([reply(whole, broken, stop_reason="max_tokens")]) as s:
        *told, last = await ask(model_at(s.base_url))

    assert [one.call.id for one in told if isinstance(one, CallFinished)] == ["whole"]
    assert isinstance(last, Replied)
    assert (last.reply.calls, last.reply.cut_calls) == (("whole",), ("broken",))


async def test_a_stream_that_stays_open_after_its_end_is_not_waited_for(
    model_at: MakeModel,
) -> None:
    open_end = raw(begun(), text(0, "hi"), ended(), end="stall")
    async with ScriptedServer([open_end]) as s:
        with anyio.fail_after(10):  # far less than the limits, which it must not wait for
            last = await replied(model_at(s.base_url))
            await s.wait_for_disconnect(1)

    assert last.reply.message.text == "hi"
