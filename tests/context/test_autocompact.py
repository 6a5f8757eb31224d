"""When the history is summarised by itself, when that is given up, and what the user is told."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from attrs import define, evolve, field

from interlock.context.autocompact import Autocompact, by_hand, fixed_part_warning
from interlock.context.level import Level, Room, Trimmed
from interlock.context.pipeline import ContextPipeline
from interlock.context.summary import ModelSummariser
from interlock.testing import (
    FakeClock,
    Played,
    ScriptedModel,
    SequentialIds,
    Stage,
    call,
    fails,
    play,
    says,
    tool,
)
from phases.world.failures import FailureKind
from phases.world.limits import Limits
from phases.world.loop import NEVER_COMPACTED, AutoCompactTracking, Loop
from phases.world.messages import Kind, Message
from phases.world.ports import Pipeline, Request, Summarised
from phases.world.states import State
from phases.world.updates import Compaction, Notice, Show, Update
from phases.world.usage import Usage
from tests.context.sessions import loop_of, rounds, user
from tests.context.sessions import says as said

LIMITS = Limits()
AT = LIMITS.compact_at
VIEW = (*rounds(3), said("done"), user("and now?"))
_IS_A_LEVEL: type[Level] = Autocompact  # for the type checker


@define
class Scribe:
    """A summariser that makes a view of one message, or fails as often as it is told to."""

    failures: int = 0
    asked: int = 0

    async def summarise(
        self, loop: Loop, view: tuple[Message, ...], *, trigger: str, media: bool = True
    ) -> Summarised:
        self.asked += 1
        assert trigger == "auto"
        if self.failures:
            self.failures -= 1
            return Summarised(view=None, problem="no luck", cost=0.5, tokens=3)
        return Summarised(view=(user("so far", kind=Kind.SUMMARY),), cost=0.25, tokens=7)


@define
class Watched:
    """The level with what it was told and what it showed."""

    scribe: Scribe = field(factory=Scribe)
    shown: list[Update] = field(factory=list)
    level: Autocompact = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.level = Autocompact(self.scribe, show=self.shown.append)

    def at(
        self,
        size: int,
        tracking: AutoCompactTracking = NEVER_COMPACTED,
        *,
        freed: int = 0,
        fixed: int = 100,
        view: tuple[Message, ...] = VIEW,
    ) -> Trimmed:
        loop = loop_of(view, fixed=fixed)
        loop = evolve(loop, state=evolve(loop.state, auto_compact_tracking=tracking))
        room = Room(loop=loop, size=size, freed=freed)
        return anyio.run(self.level.apply, view, room)

    @property
    def notices(self) -> list[str]:
        return [one.text for one in self.shown if isinstance(one, Notice)]


def tracking(**changes: int) -> AutoCompactTracking:
    return evolve(NEVER_COMPACTED, **changes)


# --- the threshold -------------------------------------------------------------------------------


@pytest.mark.parametrize(("size", "asked"), [(AT - 1, 0), (AT, 1), (AT + 1, 1)])
def test_the_threshold_is_exact(size: int, asked: int) -> None:
    level = Watched()

    trimmed = level.at(size)

    assert level.scribe.asked == asked
    assert (trimmed.messages is VIEW) is (asked == 0)


@pytest.mark.parametrize(("freed", "asked"), [(1, 1), (2, 0)])
def test_what_lighter_levels_have_freed_counts(freed: int, asked: int) -> None:
    level = Watched()

    level.at(AT + 1, freed=freed)

    assert level.scribe.asked == asked


def test_the_threshold_is_a_share_of_the_window_less_the_room_for_a_summary() -> None:
    assert int((200_000 - 20_000) * 0.9) == AT
    assert Limits(compact_threshold=0.5).compact_at == 90_000
    assert Limits(context_window=32_768, compact_threshold=0.85).compact_at == 24_371
    assert Limits(context_window=4_000).compact_at == Limits(context_window=4_000).hard_limit


def test_a_compaction_is_shown_counted_and_paid() -> None:
    level = Watched()

    trimmed = level.at(AT, tracking(failures=2))

    assert trimmed.tracking == tracking(compactions=1)
    assert (trimmed.cost, trimmed.tokens) == (0.25, 7)
    (shown,) = level.shown
    assert isinstance(shown, Compaction)
    assert (shown.trigger, shown.tokens_before) == ("auto", AT)
    assert trimmed.freed == AT - shown.tokens_after


def test_a_paused_turn_goes_back_as_it_is() -> None:
    view = (*rounds(1), said("searching"))

    assert Watched().at(AT, view=view).messages is view


# --- giving up -----------------------------------------------------------------------------------


def test_three_failures_in_a_row_suspend_it() -> None:
    level, now = Watched(Scribe(failures=9)), NEVER_COMPACTED

    for _ in range(5):
        trimmed = level.at(AT, now)
        now = trimmed.tracking or now

    assert level.scribe.asked == now.failures == 3
    assert level.notices[-1].startswith("Compaction failed 3 times in a row and is suspended")
    assert len(level.notices) == 4  # the suspension is told once


def test_a_success_or_a_compaction_by_hand_gives_all_chances_back() -> None:
    assert Watched().at(AT, tracking(failures=2)).tracking == tracking(compactions=1)
    assert by_hand(tracking(failures=3, fruitless=2)) == tracking(compactions=1)


def test_a_failure_is_paid_for_and_leaves_the_history_alone() -> None:
    trimmed = Watched(Scribe(failures=1)).at(AT)

    assert trimmed.messages is VIEW
    assert (trimmed.cost, trimmed.tokens) == (0.5, 3)
    assert trimmed.tracking == tracking(failures=1)


def test_a_window_that_is_full_again_at_once_stops_it_after_two_compactions() -> None:
    level, now = Watched(), NEVER_COMPACTED

    for _ in range(6):
        trimmed = level.at(AT, now)
        assert trimmed.tracking is not None
        now = evolve(trimmed.tracking, turns_since=trimmed.tracking.turns_since + 1)

    assert level.scribe.asked == 2
    assert now.fruitless == LIMITS.max_fruitless_compactions == 2
    (told,) = level.notices
    assert "full again right after 2 compactions" in told
    assert "The largest part is " in told


def test_a_compaction_that_lasted_counts_as_fruitful() -> None:
    full_later = tracking(compactions=1, turns_since=2, fruitless=1)

    assert Watched().at(AT, full_later).tracking == tracking(compactions=2)


def test_room_for_longer_than_a_turn_takes_the_count_back() -> None:
    stopped = tracking(compactions=2, fruitless=2)

    assert Watched().at(10, evolve(stopped, turns_since=1)).tracking is None
    assert Watched().at(10, evolve(stopped, turns_since=2)).tracking == tracking(
        compactions=2, turns_since=2
    )


def test_a_fixed_part_above_the_threshold_is_named_and_never_summarised_for() -> None:
    level = Watched()

    level.at(AT + 10, fixed=AT)

    assert level.scribe.asked == 0
    assert "the tools and the notes alone take about 162,000 tokens" in level.notices[0]
    assert fixed_part_warning(AT - 1, LIMITS) is None


def test_the_user_is_told_once_that_the_window_fills_up() -> None:
    level = Watched()

    for size in (LIMITS.warn_at - 1, LIMITS.warn_at, LIMITS.warn_at + 900):
        level.at(size)

    (told,) = level.notices
    assert "72% full" in told
    assert "162,000" in told


# --- counted by the server -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "counted", "compacted", "asked"),
    [
        (AT + 100, AT - 1, False, 1),  # the estimate was too high
        (AT - 100, AT + 1, True, 1),
        (AT + 100, None, True, 1),  # the server cannot count
        (AT // 2, AT * 2, False, 0),  # far from the threshold nobody asks
        (AT * 2, 1, True, 0),
    ],
)
def test_near_the_threshold_the_server_is_asked_for_a_count(
    size: int, counted: int | None, compacted: bool, asked: int
) -> None:
    requests: list[Request] = []

    async def count(request: Request) -> int | None:
        requests.append(request)
        return counted

    scribe = Scribe()
    level = Autocompact(scribe, show=list[Update]().append, count=count)
    anyio.run(level.apply, VIEW, Room(loop=loop_of(VIEW), size=size))

    assert scribe.asked == compacted
    assert [one.messages for one in requests] == [VIEW] * asked


# --- whole runs ----------------------------------------------------------------------------------


def piped(model: ScriptedModel, show: Show) -> Pipeline:
    summariser = ModelSummariser(model=model, ids=SequentialIds(1_000), clock=FakeClock())
    return ContextPipeline((Autocompact(summariser, show=show),))


def run(*answers: Any, **stage: Any) -> Played:
    return play(*answers, stage=Stage(pipeline=piped, **stage))


def reads(counted: int, number: int = 1) -> Any:
    """A call in an answer for which the server counted so many tokens."""
    return evolve(call(tool("Read", number)), usage=Usage(input_tokens=counted, output_tokens=5))


def test_a_full_window_is_summarised_before_the_next_request() -> None:
    told = run(reads(AT), says("a summary"), says("done"))

    assert [request.purpose for request in told.requests] == ["main", "compact", "main"]
    assert told.ending is State.COMPLETED
    assert told.finished.messages[0].kind is Kind.SUMMARY
    assert told.finished.loop.now.tracking.compactions == 1
    assert told.finished.loop.spent.cost == pytest.approx(0.03)
    freed = [step.outcome for step in told.steps if getattr(step.outcome, "freed", ())]
    assert [one.level for one in freed[0].freed] == ["autocompact"]


def test_a_window_that_stays_full_ends_the_run_and_names_the_culprit() -> None:
    limits = Limits(context_window=32_768, compact_threshold=0.85)
    full = 30_000
    told = run(*[reads(full, at) for at in range(3)], limits=limits, fixed_tokens=8_000)

    assert len([one for one in told.updates if isinstance(one, Compaction)]) == 2
    assert told.visited[-2:] == ("recovery.reactive_compact", "blocking_limit")
    text = told.finished.terminal.text or ""
    assert "The largest part is system prompt, tools, notes: 29," in text
    assert "full again right after compacting" in text


def test_a_fixed_part_that_fills_the_window_is_the_culprit_and_nothing_is_asked() -> None:
    told = run(fixed_tokens=250_000)

    assert (told.ending, told.requests) == (State.BLOCKING_LIMIT, ())
    text = told.finished.terminal.text or ""
    assert "system prompt, tools, notes: 250,000 tokens" in text
    assert "Offer fewer tools" in text


def test_a_summary_that_fails_for_good_is_not_asked_for_in_every_turn() -> None:
    no = fails(FailureKind.AUTHENTICATION)
    answers = [each for at in range(5) for each in (reads(AT + 2_000, at), no)]

    told = run(*[*answers[:6], *answers[6::2], says("done")])

    assert [request.purpose for request in told.requests].count("compact") == 3
    assert told.ending is State.COMPLETED


def test_an_interrupt_while_the_history_is_summarised_ends_the_run_with_the_history_whole() -> (
    None
):
    stage = Stage(pipeline=piped)
    summary = evolve(says("half a summary"), during=stage.interrupt.request)

    told = play(reads(AT), summary, stage=stage)

    assert told.visited[-2:] == ("preprocess", "aborted_streaming")
    assert not any(message.kind is Kind.SUMMARY for message in told.finished.messages)
