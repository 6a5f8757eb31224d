"""Level 3: what old tools said is forgotten, that they were called is not."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings

from interlock.context.level import Level, Room
from interlock.context.microcompact import CLEARED, Microcompact, context_edits, named
from interlock.context.result_budget import ResultBudget
from interlock.testing import FakeClock
from phases.world.limits import Limits
from phases.world.messages import Message, ToolResult, ToolUse
from phases.world.size import estimate
from tests.context.sessions import (
    answer,
    applied,
    call,
    refused,
    results,
    rounds,
    says,
    sessions,
    signed,
    user,
)
from tests.context.sessions import room as any_room

_IS_A_LEVEL: type[Level] = Microcompact  # for the type checker
LIMITS = Limits(microcompact_least_turns=5)
OUTPUT = "what the file says\n" * 100
HALF_FULL = 100_000  # of a window of 200,000


def room(size: int, *, freed: int = 0, limits: Limits = LIMITS) -> Room:
    return any_room(size, freed=freed, limits=limits)


PAST_HALF = room(HALF_FULL)


def cleared(messages: tuple[Message, ...]) -> list[str]:
    """The ids of the calls whose outputs are gone."""
    return [
        block.tool_use_id
        for message in messages
        for block in message.content
        if isinstance(block, ToolResult) and block.text.startswith(CLEARED)
    ]


def asked_in(messages: tuple[Message, ...]) -> list[str]:
    return [one.id for message in messages for one in message.calls]


async def test_of_fifteen_turns_the_first_five_are_cleared_and_the_last_ten_stay() -> None:
    messages = rounds(15, OUTPUT)

    trimmed = await applied(Microcompact(), messages, PAST_HALF)

    assert cleared(trimmed.messages) == asked_in(messages)[:5]
    assert trimmed.messages[11:] == messages[11:]


async def test_the_marker_says_what_was_called_and_how_to_have_it_back() -> None:
    messages = rounds(15, OUTPUT)

    trimmed = await applied(Microcompact(), messages, PAST_HALF)

    result = trimmed.messages[2].content[0]
    assert isinstance(result, ToolResult)
    assert result.text == ("[cleared: old output of Read(src/1.py); run it again if you need it]")


async def test_a_few_turns_are_not_worth_the_cached_prefix_unless_it_is_cold() -> None:
    clock = FakeClock()
    level, messages = Microcompact(clock=clock), rounds(14, OUTPUT)

    kept = await applied(level, messages, PAST_HALF)
    clock.now += 3_600
    after_a_pause = await applied(level, messages, PAST_HALF)

    assert kept.messages is messages
    assert cleared(after_a_pause.messages) == asked_in(messages)[:4]


async def test_calls_pairs_errors_and_ids_stay_and_what_is_freed_is_told() -> None:
    asked = call("Bash", command="make")
    failed = results(answer(asked, OUTPUT, is_error=True), typed="hm")
    messages = (user("do it"), says(asked), failed, *rounds(14, OUTPUT)[1:])

    trimmed = await applied(Microcompact(), messages, PAST_HALF)

    after = trimmed.messages[2]
    result = after.content[0]
    assert isinstance(result, ToolResult)
    assert (after.id, result.tool_use_id, result.is_error) == (failed.id, asked.id, True)
    assert after.content[1:] == failed.content[1:]
    assert trimmed.freed == sum(map(estimate, messages)) - sum(map(estimate, trimmed.messages)) > 0


async def test_under_half_of_the_window_nothing_is_cleared() -> None:
    messages = rounds(15, OUTPUT)

    below = await applied(Microcompact(), messages, room(HALF_FULL - 1))
    by_snip = await applied(Microcompact(), messages, room(HALF_FULL + 9, freed=10))

    assert below.messages is messages
    assert by_snip.messages is messages


async def test_a_tool_that_cannot_be_run_again_keeps_its_output() -> None:
    messages = rounds(15, OUTPUT, name="Edit")

    trimmed = await applied(Microcompact(), messages, PAST_HALF)

    assert trimmed.messages is messages


async def test_an_output_shorter_than_the_marker_stays() -> None:
    messages = rounds(15, "ok")

    trimmed = await applied(Microcompact(), messages, PAST_HALF)

    assert trimmed.messages is messages


async def test_clearing_waits_until_the_window_has_grown_by_a_good_deal() -> None:
    # Every clearing makes the provider read the rest of the history anew.
    level, messages = Microcompact(), rounds(15, OUTPUT)
    first = await level.apply(messages, PAST_HALF)
    left = HALF_FULL - first.freed
    longer = (*first.messages, *rounds(5, OUTPUT)[1:])
    growth = 40_000

    soon = await level.apply(longer, room(left + growth - 1))
    later = await level.apply(longer, room(left + growth))

    assert soon.messages is longer
    assert cleared(later.messages) == asked_in(longer)[:10]


async def test_near_the_next_level_it_waits_less_long() -> None:
    level, messages = Microcompact(), rounds(15, OUTPUT)
    first = await level.apply(messages, room(145_000))
    left = 145_000 - first.freed
    longer = (*first.messages, *rounds(5, OUTPUT)[1:])

    later = await level.apply(longer, room(left + 20_000))

    assert later.freed > 0


async def test_after_a_compaction_the_growth_is_counted_anew() -> None:
    level = Microcompact()
    await level.apply(rounds(15, OUTPUT), room(160_000))
    compacted = rounds(15, OUTPUT)

    small = await level.apply(compacted, room(20_000))
    full = await level.apply(compacted, PAST_HALF)

    assert small.messages is compacted
    assert full.freed > 0


async def test_a_pause_longer_than_the_cache_lives_is_a_good_time_to_clear() -> None:
    clock = FakeClock()
    level, messages = Microcompact(clock=clock), rounds(15, OUTPUT)
    empty = room(10_000)
    assert (await level.apply(messages, empty)).messages is messages

    clock.now += 300
    warm = await level.apply(messages, empty)
    clock.now += 301
    cold = await level.apply(messages, empty)

    assert warm.messages is messages
    assert cleared(cold.messages) == asked_in(messages)[:5]


async def test_what_was_settled_before_stays_the_same_objects() -> None:
    level = Microcompact()
    first = await level.apply(rounds(15, OUTPUT), PAST_HALF)
    longer = (*first.messages, *rounds(12, OUTPUT)[1:])

    second = await level.apply(longer, room(150_000))

    assert all(
        one is other for one, other in zip(first.messages[:11], second.messages[:11], strict=True)
    )


@settings(max_examples=60)
@given(sessions())
async def test_the_strict_server_takes_what_is_left(messages: tuple[Message, ...]) -> None:
    where = room(150_000, limits=Limits(microcompact_keep_turns=1, microcompact_least_turns=1))

    trimmed = await applied(Microcompact(), messages, where)

    assert refused(trimmed.messages, signed(messages)) == ()
    assert [one.id for one in trimmed.messages] == [one.id for one in messages]


@settings(max_examples=60)
@given(sessions())
async def test_it_decides_the_same_whether_level_1_has_cut_the_results_or_not(
    messages: tuple[Message, ...],
) -> None:
    limits = Limits(tool_output_cap=1_000, microcompact_keep_turns=1, microcompact_least_turns=1)
    where = room(150_000, limits=limits)
    cut = await _budgeted(messages, where)

    alone = await Microcompact().apply(messages, where)
    after = await Microcompact().apply(cut, where)

    assert cleared(alone.messages) == cleared(after.messages)


async def _budgeted(messages: tuple[Message, ...], where: Room) -> tuple[Message, ...]:
    with tempfile.TemporaryDirectory() as folder:
        return (await ResultBudget(Path(folder)).apply(messages, where)).messages


async def test_with_context_editing_the_history_stays_and_the_server_is_asked() -> None:
    messages = rounds(15, OUTPUT)

    trimmed = await applied(Microcompact(cached=True), messages, room(190_000))

    assert trimmed.messages is messages
    assert context_edits(Limits(), ("Read", "Edit", "Bash")) == {
        "edits": [
            {
                "type": "clear_tool_uses_20250919",
                "trigger": {"type": "input_tokens", "value": 100_000},
                "keep": {"type": "tool_uses", "value": 10},
                "clear_at_least": {"type": "input_tokens", "value": 40_000},
                "exclude_tools": ["Edit"],
            }
        ]
    }


def test_a_call_is_named_by_its_main_argument_in_few_words() -> None:
    many = ToolUse("t", "Bash", {"description": "run", "command": "make\n  " + "x" * 200})

    assert named(ToolUse("t", "Grep", {"pattern": "foo", "path": "src"})) == "Grep(foo)"
    assert named(many) == f"Bash(make {'x' * 74}…)"
    assert named(ToolUse("t", "Custom", {"depth": 3})) == "Custom()"
