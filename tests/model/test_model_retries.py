"""Retries over real HTTP: the loop is their one owner, and what failed leaves nothing behind.

The loop, the model port and the driver are the shipped ones; waits are those of a fake clock.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import pytest
from attrs import frozen

from interlock.model import AnthropicModel, preload
from interlock.scripted import Answer, End, RawSse, Status, reply, status, stream_error, tool_use
from interlock.scripted.sources import InOrder
from interlock.scripted.thread import ServerThread
from interlock.testing import FakeClock, Played, Stage, play
from phases.world.failures import FailureKind
from phases.world.limits import Limits
from phases.world.messages import Text
from phases.world.ports import Clock, ModelEvent, Request
from phases.world.states import State
from phases.world.updates import AttemptDropped, Retrying, TextArrived
from tests.model.streams import begun, closed, delta, ended, event, opened, said, text, typed, wire

# A second each: a busy machine is to keep them where the good answer comes.
LIMITS = Limits(first_event_s=1.0, stream_idle_s=1.0, request_timeout_s=30.0)
GOOD = reply("through")
K = FailureKind


def raw(*events: Any, end: str = "close", **more: Any) -> RawSse:
    lines = wire([one for part in events for one in (part if isinstance(part, list) else [part])])
    return RawSse(lines=tuple(lines.decode().split("\n")[:-1]), end=End(end), **more)


@frozen
class Told:
    """A run, and how often the server was asked."""

    run: Played
    requests: int
    verdict: tuple[str, ...]

    @property
    def shown(self) -> str:
        """What a screen shows in the end: an attempt that is dropped takes its text back."""
        text = ""
        for update in self.run.updates:
            if isinstance(update, TextArrived):
                text += update.text
            elif isinstance(update, AttemptDropped):
                text = ""
        return text

    @property
    def waits(self) -> list[Retrying]:
        return [update for update in self.run.updates if isinstance(update, Retrying)]


@frozen
class OverHttp:
    """The model port, its connection closed with each answer."""

    address: str
    clock: Clock

    async def ask(self, request: Request) -> AsyncGenerator[ModelEvent, None]:
        model = AnthropicModel(
            base_url=self.address, api_key="sk-test", limits=LIMITS, clock=self.clock
        )
        try:
            async with aclosing(model.ask(request)) as events:
                async for one in events:
                    yield one
        finally:
            await model.aclose()


def ask(*answers: Answer, **stage: Any) -> Told:
    preload().join()  # else the first test's limits would have to wait for it
    with ServerThread(InOrder(answers)) as server:

        def alter(parts: dict[str, Any]) -> None:
            parts["model"] = OverHttp(server.base_url, parts["clock"])

        run = play(stage=Stage(alter=alter, limits=LIMITS, models=("model-x",), **stage))
        return Told(run, len(server.requests), server.verdict())


LET_ME = [begun(), opened(0, "text", text=""), said(0, "Let me ")]
CALL = opened(0, "tool_use", id="toolu_1", name="Bash", input={})
PASSING: dict[str, tuple[FailureKind, Answer]] = {
    "pings and comments only": (
        K.STALLED,
        raw(
            LET_ME,
            end="repeat",
            repeat=("event: ping", 'data: {"type": "ping"}', "", ": keepalive", ""),
            every_s=0.1,
        ),
    ),
    "silence after a delta": (K.STALLED, raw(LET_ME, end="stall")),
    "silence from the start": (K.STALLED, RawSse(lines=(), end=End("stall"))),
    "a call cut in its JSON": (K.CUT, raw(begun(), CALL, typed(0, '{"command": "rm -r'))),
    "a whole call without an end": (
        K.CUT,
        raw(begun(), CALL, typed(0, '{"command": "rm"}'), closed(0)),
    ),
    "a reset in a call": (
        K.CUT,
        raw(begun(), CALL, typed(0, '{"command": "rm -r'), end="reset"),
    ),
    "overloaded at once": (K.OVERLOADED, stream_error("overloaded_error", "Overloaded")),
    "overloaded after text": (
        K.OVERLOADED,
        stream_error("overloaded_error", "Overloaded", "Let me ", after=4),
    ),
    "an api_error in a stream": (
        K.SERVER,
        raw(begun(), event("error", error={"type": "api_error", "message": "Internal"})),
    ),
    "529": (K.OVERLOADED, status(529, "overloaded_error", "Overloaded")),
    "a page of a proxy": (
        K.PROTOCOL,
        Status(
            status=200,
            headers={"content-type": "text/html"},
            raw_body="<html><body>proxy login</body></html>",
        ),
    ),
    "an empty body": (K.PROTOCOL, RawSse(lines=())),
    "no message_start": (K.PROTOCOL, raw(CALL, closed(0), ended("tool_use"))),
}


@pytest.mark.parametrize(("kind", "answer"), PASSING.values(), ids=PASSING)
def test_what_may_pass_is_tried_again_and_leaves_nothing_behind(
    kind: FailureKind, answer: Answer
) -> None:
    told = ask(answer, GOOD)

    assert (told.run.ending, told.run.error) == (State.COMPLETED, None)
    assert [wait.failure.kind for wait in told.waits] == [kind]
    assert told.shown == "through"
    assert [message.text for message in told.run.written] == ["do it", "through"]
    assert told.run.ports.executor.started == []  # type: ignore[attr-defined]
    assert (told.requests, told.verdict) == (2, ())


def test_what_cannot_pass_is_not_tried_again() -> None:
    refused = {"type": "invalid_request_error", "message": "bad"}

    told = ask(raw(begun(), event("error", error=refused)), GOOD)

    assert (told.run.error, told.requests, told.waits) == ("api_error", 1, [])


@pytest.mark.parametrize("code", [429, 500, 529])
def test_a_server_that_says_not_to_try_again_is_heard(code: int) -> None:
    hopeless = status(code, "api_error", "no use", headers={"x-should-retry": "false"})

    told = ask(hopeless, GOOD)

    assert (told.run.error, told.requests, told.waits) == ("api_error", 1, [])


def test_a_server_that_says_to_try_again_does_not_outvote_what_it_refused() -> None:
    refused = status(400, "invalid_request_error", "bad", headers={"x-should-retry": "true"})

    assert ask(refused, GOOD).requests == 1


def test_the_server_sets_the_least_wait_in_either_form_and_never_the_longest() -> None:
    clock = FakeClock(now=1_800_000_000.0, share=0.5)
    dated = {
        "retry-after": "Wed, 01 Jan 2031 00:00:30 GMT",
        "date": "Wed, 01 Jan 2031 00:00:00 GMT",
    }

    told = ask(
        status(429, "rate_limit_error", "slow down", headers={"retry-after": "3"}),
        status(529, "overloaded_error", "Overloaded"),
        status(503, "api_error", "later", headers=dated),
        GOOD,
        clock=clock,
    )

    assert told.run.error is None
    assert [wait.failure.retry_after for wait in told.waits] == [3.0, None, 30.0]
    assert clock.slept == [3.0 * 1.125, 1.0 * 1.125, 30.0 * 1.125]
    assert [wait.delay for wait in told.waits] == clock.slept


@pytest.mark.parametrize("pause", ["3600", "Wed, 01 Jan 2031 00:00:00 GMT"])
def test_a_pause_of_an_hour_or_of_years_is_told_and_not_waited_for(pause: str) -> None:
    busy = status(429, "rate_limit_error", "come back", headers={"retry-after": pause})

    told = ask(busy, GOOD)

    assert (told.run.error, told.requests, told.waits) == ("api_error", 1, [])
    assert "the server asks for a pause of" in (told.run.finished.terminal.text or "")


def test_events_blocks_and_deltas_of_tomorrow_do_no_harm() -> None:
    strange = raw(
        event("ping"),
        begun(),
        event("future_event", x=1),
        ("future_plain", b"not json at all"),
        [opened(0, "hologram", data="x"), delta(0, "hologram_delta", bits="01"), closed(0)],
        [opened(1, "text", text=""), delta(1, "future_delta", v=2), said(1, "ok"), closed(1)],
        ended("future_reason"),
    )

    told = ask(strange)

    assert (told.run.ending, told.run.error) == (State.COMPLETED, "unknown_stop_reason")
    assert told.run.finished.messages[-1].content == (Text("ok"),)


def test_a_retry_does_not_run_a_tool_again() -> None:
    told = ask(
        reply(tool_use("Bash", {"command": "make"}, id="toolu_1")),
        stream_error("overloaded_error", "Overloaded", "so", after=4),
        GOOD,
    )

    assert told.run.ports.executor.started == ["toolu_1"]  # type: ignore[attr-defined]
    assert told.shown.endswith("through")
    assert told.verdict == ()


def test_framing_of_a_gateway_is_no_failure() -> None:
    crlf = raw(begun(), text(0, "clean"), ended(), eol="\r\n")

    assert ask(crlf).run.error is None
