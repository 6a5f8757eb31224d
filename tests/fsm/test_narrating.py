"""A whole run is told by its decisions; the plain way between them takes a line."""

from __future__ import annotations

from typing import Any

import pytest

from fsm import Machine, Record, Trace, TraceError, header_of, record_of
from fsm.narrate import narrate
from tests.fsm.doors import (
    DOOR,
    TURNSTILE,
    Coins,
    Door,
    Evening,
    Knocked,
    Pushed,
    Stumbled,
    Waited,
    Walked,
    walk,
)

SILENCE = Knocked("silence")
STORY = """\
#0  ready

#1  knocking (silence) went to waiting.pause (another_try), because silent and tries_left held.
    silent: `outcome.answer == 'silence'`
    tries_left: `loop.tries < loop.tries_cap`
    changed  tries: 0 -> 1

#2  waiting.pause

#3  knocking (silence) went to ready (another_key), because keys_left held. Not to waiting.pause
    (another_try), although silent held: tries_left was False.
    keys_left: Each key is tried once a day.
    another_key: Take the next key, and knock again as often.
    changed  tries: 0 -> 1

#4  ready

#5  knocking (come in) went to went_in, because invited held.
    invited: `outcome.answer == 'come in'`"""


def traced(machine: Machine[Any], loop: Any, *outcomes: object, **changed: Any) -> Trace:
    records = [
        record_of(
            step,
            sequence=number,
            time=0.0,
            payload={"answer": getattr(step.outcome, "answer", "")},
            changed=changed,
            chain_id="c",
            depth=0,
        )
        for number, step in enumerate(walk(machine, loop, *outcomes))
    ]
    return Trace(header_of(machine, chain_id="c", depth=0, start=None), tuple(records))


def answer(record: Record) -> str:
    return str(record.payload["answer"])


def test_the_whole_story_of_a_run() -> None:
    trace = traced(
        DOOR,
        Door(0, 0, 1, 1),
        Walked(),
        SILENCE,
        Waited(),
        SILENCE,
        Walked(),
        Knocked("come in"),
        tries=[0, 1],
        keys=[1, 0],
    )

    assert "\n\n".join(narrate(DOOR, trace, answer)) == STORY


def test_a_decision_that_repeats_is_told_once_and_counted() -> None:
    patient = Door(0, 0, 0, 1_000)
    trace = traced(DOOR, patient, Walked(), *[SILENCE, Waited()] * 700, Knocked("locked"))

    story = list(narrate(DOOR, trace))

    assert len(story) == 5
    assert story[2] == "Then the same 699 times, last at #1399, after waiting.pause."
    assert story[3:] == ["#1400  waiting.pause", "#1401  knocking went to gave_up."]


def test_a_long_plain_stretch_is_only_counted() -> None:
    trace = traced(TURNSTILE, Coins(0), *[Pushed()] * 1_300)

    assert list(narrate(TURNSTILE, trace)) == ["#0 to #1299  1,300 plain steps, to locked"]


def test_what_happened_beside_a_decision_stands_behind_it() -> None:
    trace = traced(DOOR, Door(0, 0, 0, 1_000), Walked(), *[SILENCE, Waited()] * 3)

    def beside(record: Record) -> str:
        return "A dog barked.\nIt stopped." if record.sequence in (2, 3) else ""

    story = [one.split("  ")[0] for one in narrate(DOOR, trace, answer, beside)]

    barked = "A dog barked.\nIt stopped."
    assert story == ["#0", "#1", "#2", barked, "#3", barked, "#4", "#5", "#6"]


@pytest.mark.parametrize(
    ("machine", "loop", "outcome", "told"),
    [
        (DOOR, Door(0, 0, 0, 0), Stumbled(), "#0  ready went to fell."),
        (TURNSTILE, Coins(0), Evening(), "#0  locked went to closed_down."),
    ],
    ids=["what no phase foresees", "an ending"],
)
def test_an_end_is_told_without_guards_too(
    machine: Machine[Any], loop: Any, outcome: object, told: str
) -> None:
    assert list(narrate(machine, traced(machine, loop, outcome))) == [told]


def test_a_run_that_is_not_over_is_told_as_far_as_it_goes() -> None:
    assert list(narrate(DOOR, traced(DOOR, Door(0, 0, 0, 1), Walked()))) == ["#0  ready"]
    assert list(narrate(DOOR, traced(DOOR, Door(0, 0, 0, 1)))) == []


def test_a_trace_of_another_machine_is_not_told() -> None:
    with pytest.raises(TraceError, match="is of machine turnstile, not door"):
        list(narrate(DOOR, traced(TURNSTILE, Coins(0), Pushed())))
