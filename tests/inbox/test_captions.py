"""Captions of rounds of tools: one iteration later, for nothing in time, and never an error."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio
import pytest
from attrs import define, evolve, field

from interlock.inbox import CAPTION_SYSTEM, Captions
from interlock.inbox.captions import caption_of
from interlock.interrupt import InterruptSignal
from interlock.ledger import Ledger
from interlock.options import Options, PermissionMode
from interlock.scripted import Answer, ScriptedServer, SentRequest, cut, reply, status, tool_use
from interlock.settings import Settings
from interlock.testing import Captions as ScriptedCaptions
from interlock.testing import SequentialIds, Stage, call, play, says, tool
from phases.world.failures import Failure, FailureKind
from phases.world.loop import Loop, Now, Reply
from phases.world.messages import Kind, Message, Text, ToolResult
from phases.world.ports import Caption, Failed, ModelEvent, Replied, Request
from phases.world.states import State
from phases.world.updates import Notice, RequestStarted, Update
from phases.world.usage import Usage
from tests.agent.support import MODEL, Room, tell
from tests.inbox.looking import notices

SMALL = "claude-3-5-haiku"
ASKED = Request(model=SMALL, messages=(), max_tokens=1)
HALF_CENT = Usage(input_tokens=10, output_tokens=7)


# --- the service by itself ---------------------------------------------------------------------


@define
class SmallModel:
    """Says its line once it is let go."""

    line: str = "Read a.txt"
    fault: Failure | Exception | None = None
    cost: float | None = 0.005
    asked: list[Request] = field(factory=list)
    go: anyio.Event = field(factory=anyio.Event)

    async def ask(self, request: Request) -> AsyncGenerator[ModelEvent, None]:
        self.asked.append(request)
        await self.go.wait()
        if isinstance(self.fault, Exception):
            raise self.fault
        if self.fault is not None:
            yield Failed(failure=self.fault, usage=Usage(), cost=0.0)
            return
        said = Message(
            id=SequentialIds().new(), role="assistant", kind=Kind.REPLY, content=(Text(self.line),)
        )
        answered = Reply(message=said, stop_reason="end_turn", calls=(), cut_calls=())
        yield Replied(reply=answered, usage=HALF_CENT, cost=self.cost)


@define
class Desk:
    captions: Captions
    small: SmallModel
    interrupt: InterruptSignal
    shown: list[Update]


@asynccontextmanager
async def desk(small: SmallModel) -> AsyncIterator[Desk]:
    shown: list[Update] = []
    interrupt = InterruptSignal()
    async with anyio.create_task_group() as tasks:
        captions = Captions(
            model=small,
            name=SMALL,
            ids=SequentialIds(),
            interrupt=interrupt,
            show=shown.append,
            tasks=tasks,
        )
        yield Desk(captions, small, interrupt, shown)
        tasks.cancel_scope.cancel()


def after_tools(agent_id: str | None = None) -> tuple[Loop, tuple[Message, ...]]:
    """A loop whose turn has run one call, and the result."""
    use = tool("Read")
    said = Message(id=SequentialIds().new(), role="assistant", kind=Kind.REPLY, content=(use,))
    answered = Reply(message=said, stop_reason="tool_use", calls=(use.id,), cut_calls=())
    result = Message(
        id=SequentialIds().new(),
        role="user",
        kind=Kind.RESULT,
        content=(ToolResult(use.id, (Text("alpha"),)),),
    )
    loop = Stage(agent_id=agent_id).loop(SequentialIds())
    return evolve(loop, now=Now(reply=answered)), (result,)


async def settled() -> None:
    """Let every task run until it waits."""
    await anyio.wait_all_tasks_blocked()


async def test_a_caption_that_is_there_is_handed_over_with_its_cost_once() -> None:
    async with desk(SmallModel()) as at:
        job = at.captions.start(*after_tools())
        at.small.go.set()
        await settled()

        assert at.shown == []
        assert await at.captions.collect(job) == Caption(text="Read a.txt", cost=0.005, tokens=7)
        assert await at.captions.collect(job) == Caption()
        assert at.shown == []


async def test_one_that_comes_late_is_shown_as_it_comes_and_booked_afterwards() -> None:
    async with desk(SmallModel()) as at:
        job = at.captions.start(*after_tools())
        await settled()
        assert await at.captions.collect(job) == Caption()

        at.small.go.set()
        await settled()

        assert at.shown == [Notice("info", "Read a.txt")]
        assert await at.captions.collect(None) == Caption(cost=0.005, tokens=7)
        assert await at.captions.collect(None) == Caption()


async def test_the_small_model_is_told_what_was_called_and_what_came_of_it() -> None:
    async with desk(SmallModel()) as at:
        at.captions.start(*after_tools())
        await settled()

        (request,) = at.small.asked
        assert (request.model, request.purpose) == (SMALL, "summary")
        assert request.messages[0].text == "Read {}\n  gave: alpha"


async def test_a_price_that_is_not_known_is_no_zero() -> None:
    async with desk(SmallModel(cost=None)) as at:
        job = at.captions.start(*after_tools())
        at.small.go.set()
        await settled()

        assert (await at.captions.collect(job)).cost is None


async def refused(at: Desk, **more: str) -> bool:
    loop, results = after_tools(**more)
    return at.captions.start(loop, results) is None and at.small.asked == []


async def test_nothing_is_asked_after_an_interrupt() -> None:
    async with desk(SmallModel()) as at:
        at.interrupt.request()

        assert await refused(at)


async def test_nothing_is_asked_for_a_sub_agent() -> None:
    async with desk(SmallModel()) as at:
        assert await refused(at, agent_id="child")


async def test_nothing_is_asked_where_no_tool_ran() -> None:
    async with desk(SmallModel()) as at:
        loop, _ = after_tools()

        assert at.captions.start(loop, ()) is None


@pytest.mark.parametrize(
    "fault",
    [
        Failure(kind=FailureKind.OVERLOADED, message="busy"),
        RuntimeError("broken"),
    ],
    ids=["failed", "raised"],
)
@pytest.mark.parametrize("late", [False, True])
async def test_a_small_model_that_fails_gives_no_caption_and_no_error(
    fault: Failure | Exception, late: bool
) -> None:
    async with desk(SmallModel(fault=fault)) as at:
        job = at.captions.start(*after_tools())
        await settled()
        if late:
            await at.captions.collect(job)
        at.small.go.set()
        await settled()

        assert await at.captions.collect(job) == Caption()
        assert at.shown == []


async def test_what_comes_after_an_interrupt_is_not_shown() -> None:
    async with desk(SmallModel()) as at:
        job = at.captions.start(*after_tools())
        await at.captions.collect(job)
        at.interrupt.request()
        at.small.go.set()
        await settled()

        assert at.shown == []


@pytest.mark.parametrize(
    ("said", "caption"),
    [
        ("Read a.txt", "Read a.txt"),
        ('\n"Read a.txt."\nIt holds alpha.', "Read a.txt"),
        ("", None),
        ("**Ran the tests**", "Ran the tests"),
        ("x" * 200, None),
    ],
)
def test_what_a_small_model_says_is_made_one_line(said: str, caption: str | None) -> None:
    assert caption_of(said) == caption


# --- in the loop -------------------------------------------------------------------------------


def with_caption(cost: float | None) -> Stage:
    def alter(parts: dict[str, object]) -> None:
        parts["summaries"] = ScriptedCaptions(["read it"], cost=cost, tokens=7)

    return Stage(budget_usd=0.5, alter=alter)


def test_what_a_caption_cost_counts_against_the_budget() -> None:
    run = play(call(tool("Read")), stage=with_caption(1.0))

    assert run.ending is State.BUDGET_EXHAUSTED
    assert run.finished.loop.spent.cost == pytest.approx(1.01)


def test_and_so_do_its_tokens() -> None:
    run = play(call(tool("Read")), says("done"), stage=with_caption(0.0))

    assert run.finished.loop.spent.tokens == 5 + 7 + 5


# --- the whole agent ---------------------------------------------------------------------------


def by_model(
    small: Callable[[int], Answer], *main: Answer
) -> Callable[[SentRequest], Answer | None]:
    """Answers for the main model in order; for the small one by the number of its request."""
    left, count = iter(main), iter(range(1, 100))

    def answer(request: SentRequest) -> Answer | None:
        if request.body["model"] == SMALL:
            return small(next(count))
        return next(left, None)

    return answer


def asked(server: ScriptedServer, model: str) -> list[SentRequest]:
    return [request for request in server.requests if request.body["model"] == model]


async def test_a_caption_comes_while_the_next_turn_is_under_way_and_is_paid_for(
    room: Room,
) -> None:
    flag = room.work / "shown"
    until_shown = reply(tool_use("Bash", {"command": f"until [ -e {flag} ]; do sleep 0.01; done"}))
    answers = by_model(
        lambda number: (
            reply("Read the first file.") if number == 1 else status(400, "api_error", "no")
        ),
        reply(tool_use("Read", {"file_path": str(room.work / "a.txt")})),
        until_shown,
        reply("Done."),
    )

    def on(update: Update, number: int) -> None:
        if isinstance(update, Notice) and update.level == "info":
            flag.touch()

    async with (
        ScriptedServer(answers) as server,
        room.open(server, environ={"INTERLOCK_SMALL_MODEL": SMALL}) as agent,
    ):
        told = await tell(agent, "look", on=on)

        assert told.ending == ("completed", None)
        assert server.verdict() == ()
        captions = [text for text in notices(told.updates) if "bypassed" not in text]
        assert captions == ["Read the first file"]
        turns = [n for n, update in enumerate(told.updates) if isinstance(update, RequestStarted)]
        assert turns[1] < told.updates.index(Notice("info", captions[0])) < turns[2]
        # On the books of its own model, and in what the budget is held against.
        assert told.summary.models[SMALL].usage.output_tokens > 0
        spent = [record.payload.get("cost", 0.0) for record in told.trace]
        assert sum(spent) == pytest.approx(told.summary.cost)
        # Neither its prompt nor its words get into the main model's requests.
        small = asked(server, SMALL)[0].body
        assert small["system"][0]["text"] == CAPTION_SYSTEM
        assert "tools" not in small
        assert not any(b"Read the first file" in one.raw for one in asked(server, MODEL))


async def test_the_main_models_cache_is_as_warm_with_captions_as_without(room: Room) -> None:
    read = reply(tool_use("Read", {"file_path": str(room.work / "a.txt")}))
    shares = []
    for name in ("off", SMALL):
        answers = by_model(lambda number: reply("Read."), read, read, reply("Done."))
        async with (
            ScriptedServer(answers) as server,
            room.open(server, environ={"INTERLOCK_SMALL_MODEL": name}) as agent,
        ):
            await tell(agent, "look")
            shares.append([one.cache_read_share > 0.5 for one in asked(server, MODEL)])

    assert shares[0] == shares[1] == [False, True, True]


async def test_a_small_model_that_never_answers_holds_nothing_up(room: Room) -> None:
    read = reply(tool_use("Read", {"file_path": str(room.work / "a.txt")}))
    answers = by_model(lambda number: cut("I", after=1, end="stall"), read, read, reply("Done."))
    async with (
        ScriptedServer(answers) as server,
        room.open(server, environ={"INTERLOCK_SMALL_MODEL": SMALL}) as agent,
    ):
        told = await tell(agent, "look")

        assert told.ending == ("completed", None)
        assert [text for text in notices(told.updates) if "bypassed" not in text] == []
        assert server.verdict() == ()


async def test_how_the_small_model_fared_is_not_how_the_run_did() -> None:
    busy = Failure(kind=FailureKind.OVERLOADED, message="busy")
    small, main = SmallModel(fault=busy), SmallModel()
    small.go.set()
    main.go.set()
    ledger = Ledger(main, helpers={"summary": small})

    for purpose in ("main", "summary"):
        async for _ in ledger.ask(evolve(ASKED, purpose=purpose)):
            pass

    assert ledger.last_failure is None
    assert [request.purpose for request in (*main.asked, *small.asked)] == ["main", "summary"]


# --- the setting -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("environ", "small"),
    [
        ({}, None),
        ({"INTERLOCK_SMALL_MODEL": "a"}, "a"),
        ({"ANTHROPIC_SMALL_FAST_MODEL": "b"}, "b"),
        ({"INTERLOCK_SMALL_MODEL": "a", "ANTHROPIC_SMALL_FAST_MODEL": "b"}, "a"),
        ({"INTERLOCK_SMALL_MODEL": "off", "ANTHROPIC_SMALL_FAST_MODEL": "b"}, None),
    ],
)
def test_captions_are_off_unless_a_small_model_is_named(
    environ: dict[str, str], small: str | None
) -> None:
    assert Settings.of({"HOME": "/tmp", **environ}).small_model == small


async def test_a_budget_needs_the_small_models_price_too(room: Room) -> None:
    options = Options(
        model=MODEL, max_budget_usd=1.0, permission_mode=PermissionMode.BYPASS_PERMISSIONS
    )

    with pytest.raises(Exception, match="no price is known for the model tiny"):
        async with room.open(
            "http://x", options=options, environ={"INTERLOCK_SMALL_MODEL": "tiny"}
        ):
            pass
