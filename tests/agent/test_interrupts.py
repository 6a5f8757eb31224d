"""A stop at any moment: the run ends, nothing of it lives on, and the session goes on."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import anyio
import pytest
from attrs import define, field, frozen
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from fsm import read_trace
from interlock.agent import Agent
from interlock.options import Options
from interlock.permissions.ask import Answer as Said
from interlock.permissions.decision import Decision, Question
from interlock.scripted import Answer, ScriptedServer, SentRequest, cut, reply, status, tool_use
from interlock.sessions.reading import read_messages
from interlock.tools.calls import NOT_STARTED, WHILE_RUNNING
from phases.world.messages import is_blank
from phases.world.updates import (
    Ended,
    Recorded,
    RequestStarted,
    Retrying,
    StreamEvent,
    TextArrived,
    ToolProgress,
    ToolStarted,
    Update,
)
from tests.agent.support import (
    MODEL,
    Room,
    Watcher,
    living,
    results,
    sent,
    tell,
    unanswered,
)

# How many updates of each kind the long prompt below has, so that few stops come too late.
SHOWN = {
    Recorded: 11,
    RequestStarted: 3,
    Retrying: 1,
    StreamEvent: 60,
    TextArrived: 3,
    ToolProgress: 3,
    ToolStarted: 7,
}
INTERRUPTED = "[The user interrupted here.]"
_folders = itertools.count(1)


@frozen(kw_only=True)
class Stop:
    """When and how a run is stopped."""

    at: tuple[type[Update], int]  # after so many updates of this kind
    turns: int  # and so many turns of the event loop
    again: int | None  # and once more, so many turns later: while it is closing
    how: str  # interrupt; cancel: the task, from outside


STOPS = st.builds(
    Stop,
    at=st.sampled_from(sorted(SHOWN.items(), key=str)).flatmap(
        lambda shown: st.tuples(st.just(shown[0]), st.integers(1, shown[1]))
    ),
    turns=st.integers(0, 12),
    again=st.none() | st.integers(0, 8),
    how=st.sampled_from(["interrupt", "interrupt", "interrupt", "cancel"]),
)


@define
class Dealt:
    """A model that gives the answers it was dealt last."""

    hand: Iterator[Answer] = field(factory=lambda: iter(()))

    def deal(self, *answers: Answer) -> None:
        self.hand = iter(answers)

    def __call__(self, request: SentRequest) -> Answer | None:
        return next(self.hand, None)


@frozen
class SlowToAllow:
    """A person who says yes after some turns of the event loop; None: who never answers."""

    turns: int | None = 3
    asked: asyncio.Event = field(factory=asyncio.Event)

    async def ask(self, question: Question, decision: Decision) -> Said:
        self.asked.set()
        if self.turns is None:
            await anyio.sleep_forever()
        for _ in range(self.turns or 0):
            await asyncio.sleep(0)
        return Said(allowed=True, reason="the user allowed it")


def work(room: Room, drip_s: float) -> tuple[Answer, ...]:
    """What the model does with a long prompt: calls side by side, calls in turn, a pause."""
    a, b, c = (str(room.work / name) for name in ("a.txt", "b.txt", "c.txt"))
    return (
        reply(
            "Let me look at both files, and then at what is around them.",
            tool_use("Read", {"file_path": a}),
            tool_use("Read", {"file_path": b}),
            tool_use("Bash", {"command": "echo one; sleep 0.02 & wait; echo two"}),
            tool_use("Write", {"file_path": c, "content": "gamma\n"}),
            tool_use("Glob", {"pattern": "*.txt"}),
            tool_use("Read", {"file_path": c}),
            drip_s=drip_s,
        ),
        status(529, "overloaded_error", "Overloaded"),
        reply("Now the tests.", tool_use("Bash", {"command": "echo three"}), drip_s=drip_s),
        reply("All of it is done.", drip_s=drip_s),
    )


@define
class Stopper:
    """Stops a run at its moment; used as the watcher's `on`."""

    stop: Stop
    acts: Callable[[], object]
    server: ScriptedServer
    seen: int = 0
    started: int = 0  # requests that were announced
    allowed: int | None = None  # requests that may have left, once it has acted
    after: list[Update] = field(factory=list)
    over: bool = False

    def __call__(self, update: Update, number: int) -> None:
        if self.allowed is not None:
            self.after.append(update)
        announces = isinstance(update, RequestStarted | Retrying)
        self.started += announces
        kind, number_of_kind = self.stop.at
        if isinstance(update, kind):
            self.seen += 1
            if self.seen == number_of_kind:
                soon(self.stop.turns, self._act)

    def _act(self) -> None:
        if self.over:
            return  # it would hit the next prompt
        # What was announced in this very moment has not left yet, and never will.
        at_once = not self.stop.turns and self.stop.at[0] in (RequestStarted, Retrying)
        self.allowed = max(len(self.server.requests), self.started - at_once)
        self.acts()
        if self.stop.again is not None:
            soon(self.stop.again, self._act_again)

    def _act_again(self) -> None:
        if not self.over:
            self.acts()


def soon(turns: int, act: Callable[[], object]) -> None:
    """Do it after so many turns of the event loop; 0 means now."""
    if turns == 0:
        act()
    else:
        asyncio.get_running_loop().call_soon(soon, turns - 1, act)


async def stopped(agent: Agent, server: ScriptedServer, stop: Stop) -> tuple[Watcher, Stopper]:
    """Give a long prompt, and stop it."""
    task: asyncio.Task[object]
    before = len(server.requests)

    def cancel() -> None:
        task.cancel()

    stopper = Stopper(stop, cancel if stop.how == "cancel" else agent.interrupt, server)
    stopper.started = before
    watcher = Watcher(stopper)
    task = asyncio.create_task(agent.prompt("Work on it.", watcher))
    await asyncio.wait([task])
    stopper.over = True
    if not task.cancelled():
        task.result()
    return watcher, stopper


@settings(
    max_examples=20,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],  # a shrunk stop is no clearer, and shrinking takes minutes
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(stops=st.lists(STOPS, min_size=4, max_size=4), drip=st.booleans())
def test_a_run_can_be_stopped_at_any_moment_and_the_session_goes_on(
    tmp_path: Path, stops: list[Stop], drip: bool
) -> None:
    room = Room.made(tmp_path / str(next(_folders)))

    asyncio.run(_stop_and_go_on(room, stops, 0.001 if drip else 0.0))


async def _stop_and_go_on(room: Room, stops: list[Stop], drip_s: float) -> None:
    model = Dealt()
    options = Options(model=MODEL, include_partial_messages=True)
    async with (
        ScriptedServer(model) as server,
        room.open(server, options=options, asker=SlowToAllow()) as agent,
    ):
        for stop in stops:
            model.deal(*work(room, drip_s))

            watcher, stopper = await stopped(agent, server, stop)

            assert living(room.work) == []
            ended = [update for update in watcher.updates if isinstance(update, Ended)]
            assert len(ended) == 1
            assert ended == watcher.updates[-1:]
            if stopper.allowed is None or ended[0].reason == "completed":  # it came too late
                assert (ended[0].reason, ended[0].error) == ("completed", None)
                assert not any(isinstance(one, RequestStarted) for one in stopper.after)
            else:
                assert ended[0].reason in ("aborted_streaming", "aborted_tools")
                assert len(server.requests) <= stopper.allowed
            assert unanswered(agent.transcript_path) == []

            model.deal(reply("Going on."))
            told = await tell(agent, "go on")

            assert told.ending == ("completed", None)
            assert server.verdict() == ()
            assert sent(server.requests[-1]) == written(agent.transcript_path)[:-1]


def written(path: Path) -> list[dict[str, object]]:
    """The blocks that a resumed session would send."""
    return [
        block.wire()
        for message in read_messages(path)
        for block in message.content
        if not is_blank(block)
    ]


# --- moments that a person chooses -----------------------------------------------------------


@pytest.mark.parametrize("how", ["interrupt", "cancel"])
@pytest.mark.parametrize("again", [None, 4])
async def test_a_stop_ends_a_command_with_all_it_started_and_every_call_is_told_the_truth(
    room: Room, how: str, again: int | None
) -> None:
    stubborn = "trap '' TERM; echo begun; sleep 60 & sleep 60"
    unwritten = room.work / "c.txt"
    calls = (
        tool_use("Read", {"file_path": str(room.work / "a.txt")}, id="toolu_done"),
        tool_use("Bash", {"command": stubborn}, id="toolu_runs"),
        tool_use(
            "Write", {"file_path": str(room.work / "c.txt"), "content": "c"}, id="toolu_write"
        ),
    )
    async with (
        ScriptedServer([reply(*calls), reply("Going on.")]) as server,
        room.open(server) as agent,
    ):
        stop = Stop(at=(ToolProgress, 1), turns=0, again=again, how=how)
        watcher, _ = await stopped(agent, server, stop)
        left = living(room.work)

        await tell(agent, "go on")

    assert left == []
    assert watcher.updates[-1] == Ended(
        "aborted_tools", "aborted_tools", "Interrupted while tools ran."
    )
    done, runs, waits = results(server.requests[-1])
    assert done == ("toolu_done", "1\talpha\n", False)
    assert (runs[0], runs[2]) == ("toolu_runs", True)
    assert runs[1].startswith(f"{WHILE_RUNNING} Output until then:\nbegun")
    assert waits == ("toolu_write", NOT_STARTED, True)
    assert unanswered(agent.transcript_path) == []
    assert not unwritten.exists()
    assert server.verdict() == ()


@pytest.mark.parametrize("how", ["interrupt", "cancel"])
async def test_a_stop_breaks_the_wait_before_another_attempt(room: Room, how: str) -> None:
    answers: list[Answer] = [status(529, "overloaded_error", "Overloaded"), reply("Going on.")]
    hour = {"INTERLOCK_BACKOFF_FIRST_S": "3600", "INTERLOCK_BACKOFF_CAP_S": "3600"}
    async with ScriptedServer(answers) as server, room.open(server, environ=hour) as agent:
        stop = Stop(at=(Retrying, 1), turns=3, again=None, how=how)
        watcher, _ = await stopped(agent, server, stop)

        told = await tell(agent, "go on")

    assert isinstance(watcher.updates[-1], Ended)
    assert watcher.updates[-1].reason == "aborted_streaming"
    assert watcher.updates[-1].text == "Interrupted while waiting to ask the model again."
    assert told.ending == ("completed", None)
    assert [block["text"] for block in sent(server.requests[-1])] == [
        "Work on it.",
        INTERRUPTED,
        "go on",
    ]
    assert server.verdict() == ()


@pytest.mark.parametrize("how", ["interrupt", "cancel"])
async def test_a_stop_withdraws_a_question_that_nobody_answered(room: Room, how: str) -> None:
    path = room.work / "c.txt"
    write = tool_use("Write", {"file_path": str(path), "content": "c"}, id="toolu_w")
    asker = SlowToAllow(turns=None)
    async with (
        ScriptedServer([reply(write), reply("Going on.")]) as server,
        room.open(server, options=Options(model=MODEL), asker=asker) as agent,
    ):
        task = asyncio.create_task(agent.prompt("Write it.", Watcher()))
        await asyncio.wait_for(asker.asked.wait(), 10)
        stopped_by = task.cancel if how == "cancel" else agent.interrupt
        stopped_by()
        await asyncio.wait([task])

        await tell(agent, "go on")

    assert results(server.requests[-1]) == [("toolu_w", NOT_STARTED, True)]
    assert how == "cancel" or task.result().denials == ()
    assert not path.exists()
    assert server.verdict() == ()


@pytest.mark.parametrize("how", ["interrupt", "cancel"])
async def test_what_a_cut_off_answer_had_said_is_no_part_of_the_history(
    room: Room, how: str
) -> None:
    look = tool_use("Glob", {"pattern": "*.txt"})
    half = cut(look, "And then I would have", after=8, end="stall")
    async with (
        ScriptedServer([half, reply("Going on.")]) as server,
        room.open(server) as agent,
    ):
        stop = Stop(at=(TextArrived, 1), turns=2, again=None, how=how)
        watcher, _ = await stopped(agent, server, stop)
        await asyncio.wait_for(server.wait_for_disconnect(1), 10)

        await tell(agent, "go on")

    assert any(isinstance(update, ToolStarted) for update in watcher.updates)
    assert [block["text"] for block in sent(server.requests[-1])] == [
        "Work on it.",
        INTERRUPTED,
        "go on",
    ]
    assert server.verdict() == ()


@pytest.mark.parametrize("how", ["interrupt", "cancel"])
async def test_a_cut_off_answer_costs_the_prompt_that_the_server_had_counted(
    room: Room, how: str
) -> None:
    usage = {"input_tokens": 50_000, "output_tokens": 1}
    half = cut("I would have", after=4, end="stall", usage=usage)
    none = {"input_tokens": 0, "output_tokens": 0}
    async with (
        ScriptedServer([half, reply("Going on.", usage=none)]) as server,
        room.open(server) as agent,
    ):
        stop = Stop(at=(TextArrived, 1), turns=2, again=None, how=how)
        await stopped(agent, server, stop)
        (path,) = agent.paths.transcript.parent.rglob("*.trace.jsonl")
        streamed = next(one for one in read_trace(path) if one.source == "api_call")

        told = await tell(agent, "go on")

    assert told.summary.cost == pytest.approx(0.15, rel=1e-3)  # at $3 a million, and once
    if how == "interrupt":  # what is cancelled from outside reports nothing to the loop
        assert streamed.payload["aborted"]
        assert streamed.payload["cost"] == told.summary.cost
        assert streamed.payload["tokens"] == told.summary.models[MODEL].usage.output_tokens
    assert server.verdict() == ()


async def test_an_interrupt_between_two_prompts_does_nothing(room: Room) -> None:
    async with (
        ScriptedServer([reply("One."), reply("Two.")]) as server,
        room.open(server) as agent,
    ):
        agent.interrupt()
        first = await tell(agent, "one")
        agent.interrupt()
        second = await tell(agent, "two")

    assert (first.ending, second.ending) == (("completed", None), ("completed", None))
    assert server.verdict() == ()


async def test_closing_the_session_ends_what_a_command_left_running(room: Room) -> None:
    call = tool_use("Bash", {"command": "sleep 60 & echo done"})
    async with (
        ScriptedServer([reply(call), reply("Done.")]) as server,
        room.open(server) as agent,
    ):
        await tell(agent, "start it")
        during = living(room.work)
    after = living(room.work)

    assert during != []
    assert after == []
