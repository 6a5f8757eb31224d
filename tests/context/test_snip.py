"""Level 2: very old turns go, what the user said stays."""

from __future__ import annotations

from hypothesis import given, settings

from interlock.context.collapse import COLLAPSED
from interlock.context.level import Level
from interlock.context.snip import Snip
from phases.world.limits import Limits
from phases.world.messages import Kind, Message, note
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

_IS_A_LEVEL: type[Level] = Snip  # for the type checker
KEEP_4 = Limits(snip_keep_turns=4)


def snipped(count: int) -> str:
    return f"[snipped: {count} older messages are left out from here on, to make room"


async def test_the_last_turns_stay_and_a_note_says_how_much_is_gone() -> None:
    messages = rounds(10)

    trimmed = await applied(Snip(), messages, room(limits=KEEP_4))

    assert trimmed.messages[0] is messages[0]
    assert trimmed.messages[1].text.startswith(snipped(12))
    assert trimmed.messages[2:] == messages[13:]
    assert trimmed.freed == sum(map(estimate, messages)) - sum(map(estimate, trimmed.messages))


async def test_it_waits_until_half_as_many_turns_again_have_gathered() -> None:
    messages = rounds(5)

    trimmed = await applied(Snip(), messages, room(limits=KEEP_4))
    one_more = await applied(Snip(), rounds(6), room(limits=KEEP_4))

    assert trimmed.messages is messages
    assert one_more.freed > 0


async def test_what_the_user_said_and_summaries_are_kept_in_their_places() -> None:
    asked = call()
    messages = (
        user("so far: ...", kind=Kind.SUMMARY),
        *rounds(3),
        says("done"),
        user("and then this"),
        says(asked),
        results(answer(asked), typed="typed with a result"),
        *rounds(8),
    )

    trimmed = await applied(Snip(), messages, room(limits=KEEP_4))

    assert trimmed.messages[0] is messages[0]
    assert person_said(trimmed.messages) == person_said(messages)


async def test_a_later_snip_counts_what_earlier_ones_took() -> None:
    level = Snip()
    first = await level.apply(rounds(10), room(limits=KEEP_4))

    second = await level.apply((*first.messages, *rounds(6)[1:]), room(limits=KEEP_4))

    notes = [one.text for one in second.messages if one.kind is Kind.NOTE]
    assert len(notes) == 1
    assert notes[0].startswith(snipped(12 + 12))


async def test_notes_of_collapsed_rounds_go_with_the_old_turns() -> None:
    first, *rest = rounds(10)
    collapsed = note(first.id, "collapse", f"{COLLAPSED} 8 replies with their calls of tools")

    trimmed = await applied(Snip(), (first, collapsed, *rest), room(limits=KEEP_4))

    assert collapsed not in trimmed.messages


async def test_a_line_of_thought_is_kept_whole_even_if_it_began_long_ago() -> None:
    # One reply thought; the others go on from it, so there is no gap to cut in.
    thoughtful = round_(call(), thinks=True)
    messages = (user("do it"), *thoughtful, *rounds(10)[1:])

    trimmed = await applied(Snip(), messages, room(limits=KEEP_4))

    assert trimmed.messages is messages


@settings(max_examples=60)
@given(sessions())
async def test_the_strict_server_takes_what_is_left(messages: tuple[Message, ...]) -> None:
    limits = Limits(snip_keep_turns=2)

    trimmed = await applied(Snip(), messages, room(limits=limits))

    assert refused(trimmed.messages, signed(messages)) == ()
    assert person_said(trimmed.messages) == person_said(messages)
    assert trimmed.freed >= 0
