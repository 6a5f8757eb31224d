"""The five levels in their order, and what is known of the window between them."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from attrs import define, evolve, field

from interlock.context.collapse import Collapses
from interlock.context.level import Level, Room, Trimmed
from interlock.context.microcompact import Microcompact
from interlock.context.pipeline import ContextPipeline, Scale
from interlock.context.result_budget import ResultBudget
from interlock.context.snip import Snip
from interlock.sessions.reading import read_messages
from interlock.sessions.transcript import Transcript
from interlock.testing import Stage, call, fails, play, says, tool
from phases.world.failures import FailureKind
from phases.world.limits import Limits
from phases.world.loop import NEVER_COMPACTED, AutoCompactTracking, Features
from phases.world.messages import Kind, Message
from phases.world.outcomes import Freed
from phases.world.ports import Pipeline
from phases.world.size import estimate, tokens_of
from phases.world.states import State
from phases.world.usage import Usage
from tests.context.sessions import call as asks
from tests.context.sessions import loop_of, round_, rounds, user, with_messages
from tests.context.sessions import says as replied

_IS_A_PORT: type[Pipeline] = ContextPipeline  # for the type checker
NAMES = ("result_budget", "snip", "microcompact", "collapse", "autocompact")
OUTPUT = "what the file says\n" * 100
ONCE = AutoCompactTracking(compactions=1, turns_since=0, failures=0, fruitless=0)


@define
class Frees:
    """A level that says it has freed so much, and keeps what room it was given."""

    name: str
    tokens: int = 0
    seen: list[Room] = field(factory=list)

    async def apply(self, messages: tuple[Message, ...], room: Room) -> Trimmed:
        self.seen.append(room)
        return Trimmed(messages=messages[:1] if self.tokens else messages, freed=self.tokens)


@define
class SummarisesOver:
    """Autocompact as the others see it: over its threshold, one summary takes the place of all."""

    threshold: int
    name: str = "autocompact"
    summaries: int = 0

    async def apply(self, messages: tuple[Message, ...], room: Room) -> Trimmed:
        if room.size - room.freed < self.threshold:
            return Trimmed(messages=messages)
        self.summaries += 1
        summary = user("so far: ...", kind=Kind.SUMMARY)
        freed = sum(map(estimate, messages)) - estimate(summary)
        return Trimmed(messages=(summary,), freed=freed, tracking=ONCE, cost=0.5, tokens=300)


ALL_ON = Features(snip=True)


# --- the order -------------------------------------------------------------------------------


async def test_each_level_is_told_what_came_in_and_what_those_before_it_have_freed() -> None:
    levels = tuple(Frees(name, at * 10) for at, name in enumerate(NAMES))
    loop = loop_of(rounds(3), features=ALL_ON)

    piped = await ContextPipeline(levels).prepare(loop)

    assert [one.seen[0].freed for one in levels] == [0, 0, 10, 30, 60]
    assert {one.seen[0].size for one in levels} == {tokens_of(loop.state.messages, fixed=100)}
    assert piped.freed == tuple(Freed(level=one.name, tokens=one.tokens) for one in levels[1:])


@pytest.mark.parametrize("off", NAMES)
async def test_each_level_can_be_switched_off_by_its_name(off: str) -> None:
    levels = tuple(Frees(name) for name in NAMES)
    features = evolve(ALL_ON, **{off: False})

    await ContextPipeline(levels).prepare(loop_of(features=features))

    assert [one.name for one in levels if not one.seen] == [off]


async def test_snip_is_off_unless_it_is_switched_on() -> None:
    levels = tuple(Frees(name) for name in NAMES)

    await ContextPipeline(levels).prepare(loop_of())

    assert [one.name for one in levels if not one.seen] == ["snip"]


async def test_with_nothing_to_do_the_view_is_the_history_itself(tmp_path: Path) -> None:
    levels: tuple[Level, ...] = (
        ResultBudget(tmp_path),
        Snip(),
        Microcompact(),
        Collapses(None),
        SummarisesOver(180_000),
    )
    loop = loop_of(rounds(3), features=ALL_ON)

    piped = await ContextPipeline(levels).prepare(loop)

    assert piped.view is loop.state.messages
    assert (piped.freed, piped.tracking, piped.cost, piped.tokens) == ((), NEVER_COMPACTED, 0.0, 0)
    assert piped.size == tokens_of(piped.view, fixed=100)


async def test_what_the_heaviest_level_reports_is_handed_on() -> None:
    piped = await ContextPipeline((SummarisesOver(0),)).prepare(loop_of(rounds(3)))

    assert [one.kind for one in piped.view] == [Kind.SUMMARY]
    assert (piped.tracking, piped.cost, piped.tokens) == (ONCE, 0.5, 300)
    assert piped.size == 100 + estimate(piped.view[0])


async def test_the_largest_item_of_the_view_is_named() -> None:
    asked = asks("Bash")
    loop = loop_of((user("do it"), *round_(asked, OUTPUT * 10)))

    piped = await ContextPipeline(()).prepare(loop)

    assert piped.heaviest is not None
    assert piped.heaviest.startswith(f"result of Bash ({asked.id}): ")


@pytest.mark.parametrize("threshold", [-1, 0, 1])
async def test_what_snip_frees_counts_for_autocompact(threshold: int) -> None:
    limits = Limits(snip_keep_turns=4)
    messages = rounds(10, OUTPUT)
    left = (await Snip().apply(messages, Room(loop=loop_of(limits=limits), size=0))).messages
    compact = SummarisesOver(tokens_of(left, fixed=100) + threshold)
    loop = loop_of(messages, limits=limits, features=ALL_ON)

    await ContextPipeline((Snip(), compact)).prepare(loop)

    assert compact.summaries == (0 if threshold == 1 else 1)


async def test_snip_and_autocompact_cannot_be_exchanged_else_it_summarises_for_nothing() -> None:
    limits = Limits(snip_keep_turns=4)
    loop = loop_of(rounds(10, OUTPUT), limits=limits, features=ALL_ON)
    right, wrong = SummarisesOver(5_000), SummarisesOver(5_000)

    await ContextPipeline((Snip(), right)).prepare(loop)
    await ContextPipeline((wrong, Snip())).prepare(loop)

    assert (right.summaries, wrong.summaries) == (0, 1)


async def test_collapse_and_autocompact_cannot_be_exchanged_else_detail_is_lost() -> None:
    limits = Limits(
        context_window=16_000,
        microcompact_keep_turns=4,
        microcompact_least_turns=4,
        collapse_keep_turns=4,
        collapse_worth=0.0,
    )
    loop = loop_of(rounds(20, OUTPUT), limits=limits)
    right, wrong = SummarisesOver(11_100), SummarisesOver(11_100)

    kept = await ContextPipeline((Collapses(None), right)).prepare(loop)
    lost = await ContextPipeline((wrong, Collapses(None))).prepare(loop)

    assert (right.summaries, wrong.summaries) == (0, 1)
    assert len(kept.view) > len(lost.view) == 1


async def test_microcompact_and_collapse_cannot_be_exchanged_else_calls_vanish_needlessly() -> (
    None
):
    # Forgetting what was said is enough here; what was called could stay.
    limits = Limits(
        context_window=16_000,
        microcompact_keep_turns=4,
        microcompact_least_turns=4,
        collapse_keep_turns=4,
        collapse_worth=0.0,
    )
    loop = loop_of(rounds(20, OUTPUT), limits=limits)

    right = await ContextPipeline((Microcompact(), Collapses(None))).prepare(loop)
    wrong = await ContextPipeline((Collapses(None), Microcompact())).prepare(loop)

    assert [one.id for one in right.view] == [one.id for one in loop.state.messages]
    assert len(wrong.view) < len(right.view)


# --- in the loop -----------------------------------------------------------------------------


def with_pipeline(*levels: Level, collapse: Collapses | None = None) -> Any:
    def alter(parts: dict[str, Any]) -> None:
        parts["pipeline"] = ContextPipeline(levels)
        parts["collapse"] = collapse

    return alter


def test_a_prompt_too_long_drains_what_is_staged_and_the_transcript_keeps_the_whole(
    tmp_path: Path,
) -> None:
    collapses = Collapses(tmp_path / "collapses.jsonl")
    earlier = (*rounds(11, OUTPUT), replied("done"))
    path = tmp_path / "session.jsonl"

    def alter(parts: dict[str, Any]) -> None:
        with_pipeline(collapses, collapse=collapses)(parts)
        parts["history"] = Transcript(path, session_id="s", cwd=tmp_path, show=parts["show"])

    stage = Stage(
        limits=Limits(context_window=10_000, collapse_keep_turns=2), earlier=earlier, alter=alter
    )
    run = play(fails(FailureKind.PROMPT_TOO_LONG), says("there"), stage=stage)

    assert run.reasons == ("collapse_drain_retry",)
    assert run.ending is State.COMPLETED
    first, second = (request.messages for request in run.requests)
    assert len(second) < len(first)
    assert [one.id for one in read_messages(path)][:-2] == [one.id for one in earlier]
    assert len(run.finished.messages) == len(second) + 1


def test_a_long_run_keeps_within_its_window_and_its_beginning_stays_the_same(
    tmp_path: Path,
) -> None:
    collapses = Collapses(tmp_path / "collapses.jsonl")
    limits = Limits(
        context_window=20_000,
        tool_output_cap=2_000,
        microcompact_least_turns=5,
        collapse_worth=0.0,
    )
    stage = Stage(
        limits=limits,
        features=Features(autocompact=False),
        alter=with_pipeline(
            ResultBudget(tmp_path / "results"), Microcompact(), collapses, collapse=collapses
        ),
    )
    # A server that counts nothing: all sizes are estimates then.
    turns = [
        evolve(call(tool("Read", at), text="Let me look. " * 100), usage=Usage())
        for at in range(100)
    ]

    run = play(*turns, says("done"), stage=stage)

    views = [request.messages for request in run.requests]
    changed = [one for one, other in pairwise(views) if other[: len(one)] != one]
    assert run.ending is State.COMPLETED
    largest = max(tokens_of(view, fixed=100) for view in views)
    assert largest < 0.7 * limits.context_window + 500  # its share, and one turn
    assert 0 < len(changed) < len(views) / 5


async def test_the_work_of_a_turn_does_not_grow_with_the_turns_already_done(
    tmp_path: Path,
) -> None:
    looked_at: list[int] = []

    class Counted(Scale):
        def _read(self, view: tuple[Message, ...]) -> None:
            before = self._view
            super()._read(view)
            looked_at.append(len(view) - len(before))

    pipeline = ContextPipeline((ResultBudget(tmp_path), Microcompact(), Collapses(None)))
    pipeline._scale = Counted()
    loop = loop_of((user("do it"),))
    for _ in range(500):
        piped = await pipeline.prepare(loop)
        loop = with_messages(loop, (*piped.view, *round_(asks())))

    assert max(looked_at) <= 2
