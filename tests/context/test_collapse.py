"""Level 4: old rounds of tools are told in a few lines; the history itself is not touched."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from attrs import evolve
from hypothesis import given, settings

from interlock.context.collapse import COLLAPSED, Collapses
from interlock.context.level import Level, Room
from phases.world.limits import Limits
from phases.world.messages import Kind, Message, Thinking
from phases.world.ports import Collapse
from phases.world.size import estimate
from tests.context.sessions import (
    answer,
    applied,
    call,
    person_said,
    refused,
    results,
    room,
    round_,
    rounds,
    says,
    sessions,
    signed,
    user,
)

_IS_A_LEVEL: type[Level] = Collapses  # for the type checker
_IS_A_PORT: type[Collapse] = Collapses
OUTPUT = "what the file says\n" * 100
LIMITS = Limits(context_window=10_000, collapse_keep_turns=4)
CALM = room(5_999, limits=LIMITS)  # tokens; below the share from which notes are prepared
STAGING = room(6_000, limits=LIMITS)
FULL = room(7_000, limits=LIMITS)  # the share from which they are put in place
# The same, where whatever there is to gain is worth it.
EAGER = room(7_000, limits=evolve(LIMITS, collapse_stage_share=0.7, collapse_worth=0.0))


def notes(messages: tuple[Message, ...]) -> list[str]:
    return [one.text for one in messages if one.text.startswith(COLLAPSED)]


async def test_below_the_first_share_nothing_is_prepared() -> None:
    collapses, messages = Collapses(None), rounds(20, OUTPUT)

    trimmed = await applied(collapses, messages, CALM)

    assert trimmed.messages is messages
    assert collapses.staged(messages) == 0


async def test_from_the_first_share_on_notes_are_staged_and_the_view_stays(
    tmp_path: Path,
) -> None:
    collapses, messages = Collapses(tmp_path / "collapses.jsonl"), rounds(20, OUTPUT)

    trimmed = await applied(collapses, messages, STAGING)

    assert trimmed.messages is messages
    assert collapses.staged(messages) == 2  # of eight rounds each; the last four stay


async def test_from_the_second_share_on_all_are_put_in_place_at_once() -> None:
    collapses, messages = Collapses(None), rounds(20, OUTPUT)

    trimmed = await applied(collapses, messages, FULL)

    assert len(notes(trimmed.messages)) == 2
    assert trimmed.messages[3:] == messages[33:]
    assert collapses.staged(trimmed.messages) == 0
    assert trimmed.freed == sum(map(estimate, messages)) - sum(map(estimate, trimmed.messages))


async def test_where_the_window_would_soon_be_as_full_again_the_cached_prefix_is_kept() -> None:
    collapses, messages = Collapses(None), rounds(20, OUTPUT)
    enough, too_little = (
        evolve(LIMITS, collapse_keep_turns=4),
        evolve(LIMITS, collapse_keep_turns=19),
    )

    kept = await applied(collapses, messages, room(7_000, limits=too_little))
    collapsed = await applied(collapses, messages, room(7_000, limits=enough))

    assert kept.messages is messages
    assert 7_000 - collapsed.freed < 6_000


async def test_a_drain_puts_all_in_place_that_is_staged() -> None:
    collapses, messages = Collapses(None), rounds(20, OUTPUT)
    await collapses.apply(messages, STAGING)

    view, committed = await collapses.drain(messages)

    assert committed == 2
    assert len(notes(view)) == 2
    assert view[3:] == messages[33:]
    assert collapses.staged(view) == 0
    assert await collapses.drain(view) == (view, 0)


async def test_the_note_tells_what_was_done_and_how_it_ended() -> None:
    read, grep, edit = (
        call("Read", file_path="src/a.py"),
        call("Grep", pattern="def main"),
        call("Edit", file_path="src/a.py"),
    )
    messages = (
        user("do it"),
        says("Let me  look.", read, grep),
        results(answer(read, OUTPUT), answer(grep, "[cleared: old output of Grep(def main)]")),
        says(edit),
        results(answer(edit, "no such text", is_error=True)),
        *rounds(4)[1:],
    )

    trimmed = await applied(Collapses(None), messages, EAGER)

    (note,) = notes(trimmed.messages)
    assert note == (
        "[collapsed: 2 replies with their calls of tools, to make room. What was done, in "
        "order; run a tool again if you need what it said.]\n"
        '- "Let me look."; Read(src/a.py): ok, 1,900 characters; Grep(def main): ok\n'
        "- Edit(src/a.py): error, 12 characters"
    )


async def test_answers_to_the_user_and_all_that_the_user_typed_stay() -> None:
    asked = call()
    messages = (
        user("first"),
        *rounds(3, OUTPUT)[1:],
        says("the first answer"),
        user("second"),
        says(asked),
        results(answer(asked, OUTPUT), typed="typed with a result"),
        user("typed meanwhile"),
        *rounds(6, OUTPUT)[1:],
    )

    trimmed = await applied(Collapses(None), messages, EAGER)

    assert person_said(trimmed.messages) == person_said(messages)
    assert "the first answer" in [one.text for one in trimmed.messages]
    assert len(notes(trimmed.messages)) == 2


async def test_a_line_of_thought_collapses_whole_or_not_at_all() -> None:
    thoughtful = round_(call(), OUTPUT, thinks=True)
    chain = (user("do it"), *thoughtful, *rounds(6, OUTPUT)[1:])
    finished = (*chain, says("done: it works"), user("more"), *rounds(4, OUTPUT)[1:])

    open_still = await applied(Collapses(None), chain, FULL)
    over = await applied(Collapses(None), finished, EAGER)

    assert open_still.messages is chain
    assert [one.kind for one in over.messages[:3]] == [Kind.PROMPT, Kind.NOTE, Kind.PROMPT]
    assert over.messages[1].text.endswith('- "done: it works"')


async def test_rounds_that_a_note_would_not_shorten_are_left() -> None:
    collapses, messages = Collapses(None), rounds(5, "ok")

    trimmed = await applied(collapses, messages, FULL)

    assert trimmed.messages is messages
    assert collapses.staged(messages) == 0


async def test_what_was_staged_is_forgotten_when_a_summary_has_taken_its_place() -> None:
    collapses, messages = Collapses(None), rounds(20, OUTPUT)
    await collapses.apply(messages, STAGING)
    summary = (user("so far: ...", kind=Kind.SUMMARY), *messages[25:])

    assert collapses.staged(summary) == 0
    assert await collapses.drain(summary) == (summary, 0)


async def test_a_round_of_which_only_a_part_is_left_is_shown_as_it_is() -> None:
    collapses, messages = Collapses(None), rounds(12, OUTPUT)
    await collapses.apply(messages, FULL)
    part = (messages[0], *messages[3:])

    trimmed = await collapses.apply(part, CALM)

    assert trimmed.messages is part


async def test_a_round_with_many_replies_and_calls_is_told_in_few_lines() -> None:
    thought = Thinking("hm", "sig")
    many = [call("Read", file_path=f"{at}.py") for at in range(20)]
    chain = (
        says(thought, *many),
        results(*(answer(one, OUTPUT) for one in many)),
        *rounds(40, OUTPUT, name="Bash")[1:],
        says("done"),
    )
    messages = (user("do it"), *chain, user("more"), *rounds(4)[1:])

    trimmed = await applied(Collapses(None), messages, FULL)

    (note,) = notes(trimmed.messages)
    lines = note.splitlines()
    assert len(lines) == 26
    assert lines[1] == "- 18 replies before these called Read 20 times, Bash 17 times"


@settings(max_examples=100)
@given(sessions())
async def test_a_projection_of_a_projection_is_the_same_and_the_strict_server_takes_it(
    messages: tuple[Message, ...],
) -> None:
    limits = Limits(context_window=10_000, collapse_keep_turns=1)
    before = tuple(messages)
    collapses = Collapses(None)

    trimmed = await applied(collapses, messages, _overfull(limits))
    view, _ = await collapses.drain(trimmed.messages)
    again = await collapses.apply(view, room(limits=limits))
    projected = await collapses.apply(messages, room(limits=limits))

    assert again.messages is view
    assert projected.messages == view
    assert messages == before
    assert refused(view, signed(messages)) == ()
    assert person_said(view) == person_said(messages)


@settings(max_examples=60)
@given(sessions())
async def test_the_last_turns_and_what_is_open_are_never_touched(
    messages: tuple[Message, ...],
) -> None:
    limits = Limits(context_window=10_000, collapse_keep_turns=2)

    trimmed = await Collapses(None).apply(messages, _overfull(limits))

    replies = [one for one in messages if one.role == "assistant"]
    assert [one for one in trimmed.messages if one in replies[-2:]] == replies[-2:]
    assert trimmed.messages[-1] is messages[-1]


def _overfull(limits: Limits) -> Room:
    return room(7_000, limits=evolve(limits, collapse_stage_share=0.7, collapse_worth=0.0))


async def test_collapses_come_in_batches_and_what_stands_before_them_is_not_touched() -> None:
    # Else the provider's prompt cache would be lost with each turn.
    collapses = Collapses(None)
    limits = Limits(context_window=100_000)
    view: tuple[Message, ...] = (user("do it"),)
    changes: list[int] = []
    for turn in range(1_000):
        view = (*view, *round_(call(), OUTPUT))
        size = sum(map(estimate, view))
        trimmed = await collapses.apply(view, room(size, limits=limits))
        if trimmed.messages is not view:
            changes.append(turn)
        view = trimmed.messages

    assert size < 70_000 + 2_000
    assert all(later - earlier >= 10 for earlier, later in pairwise(changes))
