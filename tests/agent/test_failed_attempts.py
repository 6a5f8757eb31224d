"""Failures of the model's server, through the whole loop: waited out, or told once."""

from __future__ import annotations

from collections.abc import Mapping

import attrs
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
)
from interlock.testing import FakeClock
from phases.world.failures import FailureKind
from tests.agent.streams import OVERLOADED, a_call, raw, waits
from tests.agent.support import Room, blocks, entries, sent, tell
from tests.model.streams import begun, closed, ended, event, opened, said, text, wire

K = FailureKind


@frozen
class Fault:
    """An answer that is none, and what it is taken for."""

    answer: Answer
    kind: FailureKind
    environ: Mapping[str, str] = field(factory=dict)


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
