"""What can go wrong between the agent and the model's server, through the whole loop."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import attrs
import pytest
from attrs import field, frozen

from interlock.options import Options, PermissionMode
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
    thinking,
    tool_use,
)
from interlock.testing import FakeClock
from phases.world.failures import FailureKind
from phases.world.updates import ModelSwitched, Retrying
from phases.world.usage import Usage
from tests.agent.support import (
    FALLBACK,
    MODEL,
    Room,
    Told,
    blocks,
    entries,
    results,
    sent,
    tell,
    unanswered,
)
from tests.model.histories import PIXEL
from tests.model.streams import begun, closed, delta, ended, event, opened, said, text, typed, wire

K = FailureKind
OVERLOADED = status(529, "overloaded_error", "Overloaded")
THINKS = {"MAX_THINKING_TOKENS": "2048"}


def raw(*events: Any, end: str = "close", **more: Any) -> RawSse:
    """A stream event by event; a list among them is spread out."""
    lines = wire([one for part in events for one in (part if isinstance(part, list) else [part])])
    return RawSse(lines=tuple(lines.decode().split("\n")[:-1]), end=End(end), **more)


def bash(command: str, **more: Any) -> Mapping[str, Any]:
    return tool_use("Bash", {"command": command}, **more)


def waits(told: Told) -> list[Retrying]:
    return [update for update in told.updates if isinstance(update, Retrying)]


# --- failures that may pass ------------------------------------------------------------------


@frozen
class Fault:
    """An answer that is none, and what it is taken for."""

    answer: Answer
    kind: FailureKind
    environ: Mapping[str, str] = field(factory=dict)


def a_call(json: str) -> list[Any]:
    """The beginning of an answer with a call that would leave a file behind."""
    start = opened(0, "tool_use", id="toolu_1", name="Bash", input={})
    return [begun(), start, typed(0, json)]


IDLE = {"INTERLOCK_STREAM_IDLE_S": "0.5"}
WORDS = [begun(), opened(0, "text", text=""), said(0, "Let me ")]
PINGS = tuple(wire([event("ping")]).decode().split("\n")[:-1])
FAULTS = {
    "an overload as the first event": Fault(
        stream_error("overloaded_error", "Overloaded"), K.OVERLOADED
    ),
    "an overload behind some text": Fault(
        stream_error("overloaded_error", "Overloaded", "Hello there", after=4), K.OVERLOADED
    ),
    "a server error in the stream": Fault(
        stream_error("api_error", "Internal server error", "Hello", after=2), K.SERVER
    ),
    "a rate limit in the stream": Fault(
        stream_error("rate_limit_error", "Slow down", "Hello", after=2), K.RATE_LIMITED
    ),
    "status 529": Fault(OVERLOADED, K.OVERLOADED),
    "status 503": Fault(status(503, "api_error", "try later"), K.SERVER),
    "status 429 with a short pause": Fault(
        status(429, "rate_limit_error", "slow down", retry_after=0.02), K.RATE_LIMITED
    ),
    "a call cut in the middle of its JSON": Fault(
        raw(a_call('{"command": "touch changed", "timeo')), K.CUT
    ),
    "a finished call without the end of the message": Fault(
        raw(a_call('{"command": "touch changed"}'), closed(0)), K.CUT
    ),
    "a call cut inside a string by a reset": Fault(
        raw(a_call('{"command": "touch chan'), end="reset"), K.CUT
    ),
    "silence behind some text": Fault(raw(WORDS, end="stall"), K.STALLED, IDLE),
    "silence from the start": Fault(raw(end="stall"), K.STALLED, {"INTERLOCK_FIRST_EVENT_S": "1"}),
    "pings and nothing else": Fault(
        attrs.evolve(
            raw(WORDS, end="stall"),
            end=End.REPEAT,
            repeat=(*PINGS, ": keepalive", ""),
            every_s=0.02,
        ),
        K.STALLED,
        IDLE,
    ),
    "a page of a proxy": Fault(
        Status(
            status=200,
            headers={"content-type": "text/html"},
            raw_body="<html><body>proxy login</body></html>",
        ),
        K.PROTOCOL,
    ),
    "an empty body": Fault(raw(), K.PROTOCOL),
    "an event torn from its data": Fault(
        RawSse(lines=("event: message_start", "", *wire([begun()]).decode().split("\n")[1:-1])),
        K.CUT,
    ),
    "a message without a beginning": Fault(
        raw(a_call('{"command": "touch changed"}')[1:], closed(0), ended("tool_use")), K.PROTOCOL
    ),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
async def test_a_failure_that_may_pass_is_waited_out_and_nothing_of_it_counts(
    room: Room, fault: Fault
) -> None:
    answers = [fault.answer, reply("The whole answer.")]
    async with (
        ScriptedServer(answers) as server,
        room.open(server, environ=fault.environ) as agent,
    ):
        told = await tell(agent, "hello")

    assert told.ending == ("completed", None)
    assert [wait.failure.kind for wait in waits(told)] == [fault.kind]
    assert told.trace.path[2:5] == ["api_call", "recovery.backoff", "api_call"]
    assert told.trace.reasons == ()
    assert [message.text for message in told.shown] == ["hello", "The whole answer."]
    assert blocks(entries(agent.transcript_path)) == [
        {"type": "text", "text": "The whole answer."}
    ]
    assert not (room.work / "changed").exists()
    assert server.requests[0].body == server.requests[1].body
    assert server.verdict() == ()


async def test_what_an_answer_began_to_say_is_taken_back_before_the_next_attempt(
    room: Room,
) -> None:
    answers = [cut("Half an answer", after=4), reply("The whole answer.")]
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        told = await tell(agent, "hello")

    names = [type(update).__name__ for update in told.updates]
    began = names.index("TextArrived")
    assert names[began:] == [
        "TextArrived",
        "AttemptDropped",
        "Retrying",
        "TextArrived",
        "Recorded",
        "Ended",
    ]


async def test_odd_line_ends_and_split_bytes_change_nothing(room: Room) -> None:
    answer = raw(
        begun(), text(0, "grüße ", "👋"), ended(output_tokens=9), eol="\r\n", chunk_bytes=3
    )
    async with ScriptedServer([answer]) as server, room.open(server) as agent:
        told = await tell(agent, "hello")

    assert told.ending == ("completed", None)
    assert told.summary.text == "grüße 👋"
    assert waits(told) == []


async def test_the_wait_is_never_shorter_than_the_server_asks_for_and_doubles_otherwise(
    room: Room,
) -> None:
    answers: list[Answer] = [
        status(429, "rate_limit_error", "slow down", retry_after=3),
        OVERLOADED,
        status(503, "api_error", "try later"),
        reply("Through."),
    ]
    clock = FakeClock()
    defaults = {"INTERLOCK_BACKOFF_FIRST_S": "0.5", "INTERLOCK_BACKOFF_CAP_S": "32"}
    async with (
        ScriptedServer(answers) as server,
        room.open(server, clock=clock, environ=defaults) as agent,
    ):
        told = await tell(agent, "hello")

    assert clock.slept == [3.0, 1.0, 2.0]
    assert [wait.delay for wait in waits(told)] == clock.slept
    assert [wait.attempt for wait in waits(told)] == [1, 2, 3]
    assert told.ending == ("completed", None)


@pytest.mark.parametrize("asked", ["3600", "Wed, 01 Jan 2031 00:00:00 GMT"])
async def test_a_server_that_asks_for_too_long_a_pause_is_not_waited_for(
    room: Room, asked: str
) -> None:
    answer = status(429, "rate_limit_error", "come back", headers={"retry-after": asked})
    clock = FakeClock()
    async with ScriptedServer([answer]) as server, room.open(server, clock=clock) as agent:
        told = await tell(agent, "hello")

    assert told.ending == ("completed", "api_error")
    assert clock.slept == []
    assert "the server asks for a pause of" in (told.summary.error_text or "")
    assert told.summary.api_error_type == "rate_limited"
    assert len(server.requests) == 1


async def test_when_all_attempts_failed_the_error_is_told_once_and_is_no_part_of_the_history(
    room: Room,
) -> None:
    answers: list[Answer] = [OVERLOADED, OVERLOADED, OVERLOADED, reply("Awake again.")]
    async with (
        ScriptedServer(answers) as server,
        room.open(server, environ={"INTERLOCK_MAX_RETRIES": "2"}) as agent,
    ):
        failed = await tell(agent, "hello")
        after = await tell(agent, "again")

    assert failed.ending == ("completed", "api_error")
    assert failed.summary.error_text == "the model is overloaded (529): Overloaded"
    assert len(waits(failed)) == 2
    assert after.ending == ("completed", None)
    assert [block["text"] for block in sent(server.requests[-1])] == ["hello", "again"]
    assert server.verdict() == ()


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (stream_error("invalid_request_error", "no", "Hel", after=4), "invalid_request"),
        (status(401, "authentication_error", "invalid x-api-key"), "authentication"),
        (status(404, "not_found_error", "model: nothing"), "model_not_found"),
    ],
)
async def test_a_failure_that_will_not_pass_is_told_at_once(
    room: Room, answer: Answer, kind: str
) -> None:
    async with ScriptedServer([answer]) as server, room.open(server) as agent:
        told = await tell(agent, "hello")

    assert told.ending == ("completed", "api_error")
    assert told.summary.api_error_type == kind
    assert told.trace.path[-4:] == ["api_call", "abort_check", "recovery.classify", "completed"]
    assert len(server.requests) == 1


# --- another model ---------------------------------------------------------------------------


async def test_the_fallback_model_takes_over_without_the_thinking_of_the_first(
    room: Room,
) -> None:
    answers: list[Answer] = [
        reply(thinking("A file.", "c2lnLUE="), bash("echo one")),
        OVERLOADED,
        OVERLOADED,
        reply(bash("echo two")),
        reply("Done."),
        reply(thinking("Again.", "c2lnLUI="), "Me again."),
    ]
    options = Options(
        model=MODEL,
        fallback_models=(FALLBACK,),
        permission_mode=PermissionMode.BYPASS_PERMISSIONS,
    )
    more = {**THINKS, "INTERLOCK_MAX_RETRIES": "1"}
    async with (
        ScriptedServer(answers) as server,
        room.open(server, options=options, clock=FakeClock(), environ=more) as agent,
    ):
        told = await tell(agent, "work")
        again = await tell(agent, "more")

    models = [request.body["model"] for request in server.requests]
    assert models[:5] == [MODEL, MODEL, MODEL, FALLBACK, FALLBACK]
    assert told.trace.took("api_call", "api_call", "model_fallback")
    assert told.trace.reasons == ("next_turn", "next_turn")
    assert [one for one in told.updates if isinstance(one, ModelSwitched)] == [
        ModelSwitched(MODEL, FALLBACK)
    ]
    assert [block["type"] for block in sent(server.requests[3])] == [
        "text",
        "tool_use",
        "tool_result",
    ]
    assert (told.ending, again.ending) == (("completed", None), ("completed", None))
    assert server.verdict() == ()


async def test_the_first_model_comes_back_when_it_has_cooled_down_without_foreign_thinking(
    room: Room,
) -> None:
    answers: list[Answer] = [
        OVERLOADED,
        reply(thinking("Mine.", "c2lnLUY="), bash("echo one")),
        reply("Done."),
        reply("Me again."),
    ]
    options = Options(
        model=MODEL,
        fallback_models=(FALLBACK,),
        permission_mode=PermissionMode.BYPASS_PERMISSIONS,
    )
    clock = FakeClock()
    more = {**THINKS, "INTERLOCK_MAX_RETRIES": "0"}
    async with (
        ScriptedServer(answers) as server,
        room.open(server, options=options, clock=clock, environ=more) as agent,
    ):
        await tell(agent, "work")
        clock.now += 86_400
        await tell(agent, "more")

    models = [request.body["model"] for request in server.requests]
    assert models == [MODEL, FALLBACK, FALLBACK, MODEL]
    assert "thinking" in [block["type"] for block in sent(server.requests[2])]
    assert "thinking" not in [block["type"] for block in sent(server.requests[3])]
    assert server.verdict() == ()


async def test_thinking_goes_back_byte_for_byte_as_long_as_tools_are_called(room: Room) -> None:
    read = tool_use("Read", {"file_path": str(room.work / "a.txt")}, id="toolu_1")
    first = (
        thinking("step  one \n", "c2lnLUE="),
        {"type": "redacted_thinking", "data": "b3BhcXVl"},
        {"type": "text", "text": "Reading."},
        thinking("", "c2lnLUI="),
        read,
    )
    second = (
        thinking("now look again", "c2lnLUM="),
        tool_use("Read", {"file_path": str(room.work / "b.txt")}, id="toolu_2"),
    )
    answers = [reply(*first), reply(*second), reply("Finished."), reply("And more.")]
    async with ScriptedServer(answers) as server, room.open(server, environ=THINKS) as agent:
        told = await tell(agent, "look")
        await tell(agent, "more")

    assistants = [
        [
            {key: value for key, value in block.items() if key != "cache_control"}
            for block in message["content"]
        ]
        for message in server.requests[2].body["messages"]
        if message["role"] == "assistant"
    ]
    assert assistants == [[*first], [*second]]
    assert told.trace.reasons == ("next_turn", "next_turn")
    assert server.verdict() == ()


# --- a request that is refused ---------------------------------------------------------------


async def test_a_picture_that_is_refused_is_taken_out_once_and_the_session_lives(
    room: Room,
) -> None:
    (room.work / "pixel.png").write_bytes(base64.b64decode(PIXEL.data))
    read = tool_use("Read", {"file_path": str(room.work / "pixel.png")}, id="toolu_1")
    answers: list[Answer] = [
        reply(read),
        status(
            400, "invalid_request_error", "messages.2.content.0.image: Could not process image"
        ),
        reply("I could not see it."),
        reply("Still alive."),
    ]
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        told = await tell(agent, "look")
        after = await tell(agent, "more")

    assert told.trace.took("api_call", "api_call", "request_mended")
    assert told.trace.reasons == ("next_turn",)
    assert "taken out: the model's server refused it" in results(server.requests[2])[0][1]
    assert not any("source" in str(block) for block in sent(server.requests[3]))
    assert unanswered(agent.transcript_path) == []
    assert after.ending == ("completed", None)
    assert len(server.requests) == 4
    assert server.verdict() == ()


async def test_a_prompt_that_is_too_long_is_summarised_once_and_the_work_goes_on(
    room: Room,
) -> None:
    too_long = status(
        400, "invalid_request_error", "prompt is too long: 205030 tokens > 200000 maximum"
    )
    answers: list[Answer] = [
        reply(bash("echo one")),
        too_long,
        reply("Short summary."),
        reply("Carrying on."),
    ]
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        told = await tell(agent, "a long task")

    assert told.ending == ("completed", None)
    assert told.trace.reasons == ("next_turn", "reactive_compact_retry")
    words = "".join(block.get("text", "") for block in sent(server.requests[3]))
    assert "a long task" in words
    assert "Short summary." in words
    assert server.verdict() == ()


async def test_a_prompt_that_stays_too_long_ends_the_run_but_not_the_session(room: Room) -> None:
    too_long = status(
        400, "invalid_request_error", "prompt is too long: 205030 tokens > 200000 maximum"
    )
    answers: list[Answer] = [too_long, reply("Summary."), too_long, reply("Fine.")]
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        told = await tell(agent, "a long task")
        after = await tell(agent, "shorter")

    assert told.ending == ("prompt_too_long", "prompt_too_long")
    assert told.trace.reasons == ("reactive_compact_retry",)
    assert after.ending == ("completed", None)
    assert server.verdict() == ()


# --- answers that are not whole --------------------------------------------------------------


async def test_a_truncated_answer_is_asked_for_with_a_higher_cap_and_then_continued(
    room: Room,
) -> None:
    answers = [
        reply("The first half of a", stop_reason="max_tokens"),
        reply("The first half of a long", stop_reason="max_tokens"),
        reply(" answer."),
    ]
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        told = await tell(agent, "tell me")

    assert told.ending == ("completed", None)
    assert told.trace.reasons == ("max_output_tokens_escalate", "max_output_tokens_recovery")
    assert [request.body["max_tokens"] for request in server.requests] == [8_000, 64_000, 8_000]
    assert server.requests[0].body["messages"] == server.requests[1].body["messages"]
    assert [block["text"] for block in sent(server.requests[2])][:2] == [
        "tell me",
        "The first half of a long",
    ]
    assert server.verdict() == ()


async def test_an_answer_that_is_cut_again_and_again_is_no_success(room: Room) -> None:
    answers = [reply("more", stop_reason="max_tokens")] * 4
    more = {"INTERLOCK_MAX_RECOVERIES": "1", "CLAUDE_CODE_MAX_OUTPUT_TOKENS": "500"}
    async with ScriptedServer(answers) as server, room.open(server, environ=more) as agent:
        told = await tell(agent, "tell me")

    assert told.ending == ("completed", "max_output_tokens")
    assert told.trace.reasons == ("max_output_tokens_recovery",)
    assert [request.body["max_tokens"] for request in server.requests] == [500, 500]


async def test_a_call_that_the_cap_cut_is_asked_for_again_with_a_higher_cap(room: Room) -> None:
    half = tool_use("Bash", id="toolu_cut", partial_json='{"command": "touch chan')
    answers = [
        reply(half, stop_reason="max_tokens"),
        reply(bash("touch changed")),
        reply("Done."),
    ]
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        told = await tell(agent, "work")

    assert told.ending == ("completed", None)
    assert told.trace.reasons == ("max_output_tokens_escalate", "next_turn")
    assert [path.name for path in sorted(room.work.iterdir())] == ["a.txt", "b.txt", "changed"]
    assert server.verdict() == ()


async def test_a_whole_call_before_a_cut_one_runs_and_the_cut_one_is_answered(room: Room) -> None:
    half = tool_use("Write", id="toolu_cut", partial_json='{"file_path": "/x')
    answers = [
        reply(bash("echo one", id="toolu_1"), half, stop_reason="max_tokens"),
        reply("Ok."),
    ]
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        told = await tell(agent, "work")

    assert told.trace.reasons == ("next_turn",)
    assert results(server.requests[1]) == [
        ("toolu_1", "one", False),
        (
            "toolu_cut",
            "Not run: the answer was cut in the middle of this call. Make the call again.",
            True,
        ),
    ]
    assert server.verdict() == ()


async def test_a_paused_turn_is_sent_back_as_it_is(room: Room) -> None:
    search = {
        "type": "server_tool_use",
        "id": "srvtoolu_1",
        "name": "web_search",
        "input": {"query": "x"},
    }
    answers = [
        reply(search, stop_reason="pause_turn"),
        reply("Finished after the pause."),
    ]
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        told = await tell(agent, "search")

    assert told.ending == ("completed", None)
    assert told.trace.reasons == ("pause_turn_continuation",)
    assert sent(server.requests[1]) == [{"type": "text", "text": "search"}, search]
    assert server.verdict() == ()


async def test_pauses_without_end_are_no_success(room: Room) -> None:
    answers = [reply("Wait.", stop_reason="pause_turn")] * 3
    async with (
        ScriptedServer(answers) as server,
        room.open(server, environ={"INTERLOCK_MAX_PAUSES": "2"}) as agent,
    ):
        told = await tell(agent, "search")

    assert told.ending == ("completed", "pause_limit")
    assert told.trace.reasons == ("pause_turn_continuation", "pause_turn_continuation")
    assert server.verdict() == ()


@pytest.mark.parametrize(
    ("stop_reason", "error"),
    [
        ("refusal", "refusal"),
        ("future_reason", "unknown_stop_reason"),
        ("stop_sequence", None),
    ],
)
async def test_a_stop_reason_tells_whether_the_answer_is_whole(
    room: Room, stop_reason: str, error: str | None
) -> None:
    async with (
        ScriptedServer([reply("This far.", stop_reason=stop_reason)]) as server,
        room.open(server) as agent,
    ):
        told = await tell(agent, "hello")

    assert told.ending == ("completed", error)
    assert told.summary.text == "This far."
    assert server.verdict() == ()


async def test_an_answer_that_filled_the_window_is_kept_and_continued_behind_a_summary(
    room: Room,
) -> None:
    window = "model_context_window_exceeded"
    answers = [
        reply("cut because the window is fu", stop_reason=window),
        reply("The summary."),
        reply("The rest of it."),
        reply(bash("touch changed", id="toolu_9"), stop_reason=window),
        reply("Summary two."),
        reply("The end."),
    ]
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        first = await tell(agent, "tell me")
        second = await tell(agent, "and now")

    assert (first.ending, second.ending) == (("completed", None), ("completed", None))
    assert first.trace.reasons == second.trace.reasons == ("reactive_compact_retry",)
    said = [block.get("text") for block in sent(server.requests[2])]
    assert "cut because the window is fu" in said
    assert not (room.work / "changed").exists()
    assert unanswered(agent.transcript_path) == []
    assert server.verdict() == ()


# --- answers that are odd --------------------------------------------------------------------


async def test_what_this_version_does_not_know_does_not_end_the_turn(room: Room) -> None:
    answer = raw(
        event("ping"),
        begun(),
        event("future_event", value=1),
        ("future_event", b"this is no JSON"),
        opened(0, "hologram", data="opaque"),
        delta(0, "hologram_delta", bits="01"),
        closed(0),
        opened(1, "text", text=""),
        delta(1, "future_delta", v=2),
        said(1, "ok"),
        closed(1),
        opened(2, "tool_use", id="toolu_1", name="Bash", input={}),
        typed(2, ""),
        typed(2, '{"command": "echo hi"}'),
        closed(2),
        ended("tool_use", output_tokens=20),
    )
    async with ScriptedServer([answer, reply("Done.")]) as server, room.open(server) as agent:
        told = await tell(agent, "hello")

    assert told.ending == ("completed", None)
    assert sent(server.requests[1]) == [
        {"type": "text", "text": "hello"},
        {"type": "text", "text": "ok"},
        {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "echo hi"}},
        {
            "type": "tool_result",
            "tool_use_id": "toolu_1",
            "content": [{"type": "text", "text": "hi"}],
        },
    ]
    assert server.verdict() == ()


async def test_usage_is_a_running_total_and_is_paid_once_for_a_message(room: Room) -> None:
    start = begun(
        input_tokens=27,
        output_tokens=1,
        cache_creation_input_tokens=0,
        cache_read_input_tokens=1000,
    )
    first = raw(
        start,
        text(0, "a"),
        opened(1, "tool_use", id="toolu_1", name="Bash", input={}),
        typed(1, '{"command":"true"}'),
        closed(1),
        event("message_delta", delta={"stop_reason": "tool_use"}, usage={"output_tokens": 30}),
        ended("tool_use", output_tokens=47, input_tokens=27, cache_read_input_tokens=1000),
    )
    last = reply("end", usage={"input_tokens": 40, "output_tokens": 3}, model=MODEL)
    async with (
        ScriptedServer([_named(first, MODEL), last]) as server,
        room.open(server) as agent,
    ):
        told = await tell(agent, "count")

    paid = Usage(input_tokens=67, output_tokens=50, cache_read_input_tokens=1000)
    assert told.summary.usage == paid
    assert told.summary.models[MODEL].usage == paid
    assert told.summary.cost == pytest.approx((67 * 3.0 + 50 * 15.0 + 1000 * 0.3) / 1e6)
    lines = [
        line["message"]["usage"]
        for line in entries(agent.transcript_path)
        if line["type"] == "assistant" and line["message"]["id"] == "msg_1"
    ]
    assert (
        lines
        == [
            {
                "input_tokens": 27,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 1000,
                "output_tokens": 47,
            }
        ]
        * 2
    )


def _named(answer: RawSse, model: str) -> RawSse:
    lines = tuple(line.replace("model-x", model) for line in answer.lines)
    return attrs.evolve(answer, lines=lines)


async def test_what_a_failed_attempt_used_up_is_paid_too(room: Room) -> None:
    half = cut("Half an", after=4, usage={"input_tokens": 100})
    async with (
        ScriptedServer([half, reply("Whole.", usage={"input_tokens": 100})]) as server,
        room.open(server) as agent,
    ):
        told = await tell(agent, "hello")

    assert told.summary.usage == Usage(input_tokens=200, output_tokens=6)


async def test_two_calls_with_one_id_are_two_calls(room: Room) -> None:
    answers = [
        reply(bash("echo one", id="toolu_same"), bash("echo two", id="toolu_same")),
        reply(bash("echo three", id="toolu_same")),
        reply("Done."),
    ]
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        told = await tell(agent, "count")

    assert told.ending == ("completed", None)
    assert [words for _, words, _ in results(server.requests[1])] == ["one", "two"]
    assert [words for _, words, _ in results(server.requests[2])] == ["three"]
    ids = [block["id"] for block in sent(server.requests[2]) if block["type"] == "tool_use"]
    assert len(set(ids)) == 3
    assert unanswered(agent.transcript_path) == []
    assert server.verdict() == ()


async def test_an_id_that_was_summarised_away_is_not_given_a_second_time(room: Room) -> None:
    answers: list[Answer] = [
        reply(bash("echo one", id="toolu_same")),
        status(400, "invalid_request_error", "prompt is too long: 2050 tokens > 2000 maximum"),
        reply("Short summary."),
        reply(bash("echo two", id="toolu_same")),
        reply("Done."),
    ]
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        told = await tell(agent, "count")

    ids = [call.id for message in told.shown for call in message.calls]
    assert told.ending == ("completed", None)
    assert len(ids) == len(set(ids)) == 2
    assert unanswered(agent.transcript_path) == []
    assert server.verdict() == ()


async def test_blank_texts_never_leave(room: Room) -> None:
    answers = [
        reply("", bash("true")),
        reply("\n \n", bash("printf '   '")),
        reply(""),
        reply("Hello again."),
    ]
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        empty = await tell(agent, "say nothing")
        after = await tell(agent, "say something")

    assert empty.ending == ("completed", None)
    assert after.summary.text == "Hello again."
    texts = [block["text"] for block in sent(server.requests[-1]) if block["type"] == "text"]
    assert texts == ["say nothing", "say something"]
    assert server.verdict() == ()


async def test_a_call_whose_json_is_broken_is_answered_and_not_run(room: Room) -> None:
    broken = tool_use("Bash", id="toolu_1", partial_json='{"command": "touch changed",}')
    async with (
        ScriptedServer([reply(broken), reply("Sorry.")]) as server,
        room.open(server) as agent,
    ):
        told = await tell(agent, "work")

    ((id_, words, failed),) = results(server.requests[1])
    assert (id_, failed) == ("toolu_1", True)
    assert words.startswith("The input of this call could not be read: ")
    assert told.trace.reasons == ("next_turn",)
    assert not (room.work / "changed").exists()
    assert server.verdict() == ()


async def test_no_more_turns_run_than_were_allowed_and_the_last_calls_are_answered(
    room: Room,
) -> None:
    answers = [reply(bash("echo one")), reply(bash("echo two")), reply("Going on.")]
    options = Options(model=MODEL, max_turns=2, permission_mode=PermissionMode.BYPASS_PERMISSIONS)
    async with ScriptedServer(answers) as server, room.open(server, options=options) as agent:
        told = await tell(agent, "count")
        await tell(agent, "go on")

    assert told.ending == ("max_turns", "max_turns")
    assert told.summary.turns == 2
    assert results(server.requests[2]) == [("toolu_000002_0", "two", False)]
    assert server.verdict() == ()


async def test_a_budget_is_looked_at_before_each_request(room: Room) -> None:
    answers = [
        reply(bash("echo one"), usage={"input_tokens": 100_000}),
        reply("Never."),
    ]
    options = Options(
        model=MODEL, max_budget_usd=0.01, permission_mode=PermissionMode.BYPASS_PERMISSIONS
    )
    async with ScriptedServer(answers) as server, room.open(server, options=options) as agent:
        told = await tell(agent, "spend")

    assert told.ending == ("budget_exhausted", "budget_exhausted")
    assert len(server.requests) == 1


async def test_an_answer_in_pieces_is_one_answer(room: Room) -> None:
    half = reply("The first half, ", stop_reason="max_tokens")
    answers = [half, half, reply("and the second.")]
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        told = await tell(agent, "go")

        assert told.summary.text == "The first half, and the second."
        assert told.summary.stop_reason == "end_turn"


async def test_an_empty_answer_is_not_the_one_before_it(room: Room) -> None:
    (room.work / "a.txt").write_text("one\n")
    answers = [
        reply("I will look.", tool_use("Read", {"file_path": str(room.work / "a.txt")})),
        reply(""),
    ]
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        told = await tell(agent, "go")

        assert (told.summary.text, told.summary.stop_reason) == ("", "end_turn")
