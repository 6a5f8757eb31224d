"""A record tells why its edge was taken, and why each of the others was not."""

from __future__ import annotations

from typing import Any

import pytest

from fsm import Machine, Record, TraceError, record_of
from fsm.explain import change, explain, render
from tests.fsm.doors import (
    DOOR,
    TURNSTILE,
    Coin,
    Coins,
    Door,
    Knocked,
    Pushed,
    Waited,
    Walked,
    walk,
)


def recorded(machine: Machine[Any], loop: Any, *outcomes: object, **changed: Any) -> Record:
    """The record of the last of the steps that `outcomes` lead to."""
    step = walk(machine, loop, *outcomes)[-1]
    return record_of(
        step, sequence=7, time=0.0, payload=None, changed=changed, chain_id="c", depth=0
    )


def test_the_whole_story_of_a_step() -> None:
    changed = {"tries": [1, 0], "notes": {"added": ["n4", "n5"], "count": 9}}
    record = recorded(
        DOOR,
        Door(0, 1, 1, 1),
        Walked(),
        Knocked("silence"),
        Waited(),
        Knocked("silence"),
        **changed,
    )

    assert render(explain(DOOR, record)) == (
        "#7 knocking, told Knocked, went to ready (another_key)\n"
        "    taken because keys_left held\n"
        "      True   keys_left: Each key is tried once a day.\n"
        "  before it stood\n"
        "    called_away: passed over because guard called was False\n"
        "      False  called: `outcome.called`\n"
        "    went_in: passed over because guard invited was False\n"
        "      False  invited: `outcome.answer == 'come in'`\n"
        "    waiting.pause (another_try): passed over because guard tries_left was False, "
        "although silent held\n"
        "      True   silent: `outcome.answer == 'silence'`\n"
        "      False  tries_left: `loop.tries < loop.tries_cap`\n"
        "  after it stand, not looked at because an earlier edge was taken\n"
        "    ready (oiled), ready (next_day), gave_up\n"
        "  what changed (Take the next key, and knock again as often.)\n"
        "    tries: 1 -> 0\n"
        "    notes: 2 added (n4, n5), 9 in all\n"
    )


def test_a_change_of_another_shape_is_told_as_it_is() -> None:
    text = render(
        explain(DOOR, recorded(DOOR, Door(0, 0, 0, 0), Walked(), note="wet", n={"count": 2}))
    )

    assert "    note: wet\n    n: 2 in all\n" in text


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([None, "late"], "now late"),
        (["late", None], "no longer late"),
        ([False, True], "now True"),
        ([0.1, 0.30000000000000004], "0.1 -> 0.3"),
        ([{"why": "late", "try": 1}, None], "no longer why late, try 1"),
        ({"added": ["n7"], "removed": 2, "count": 1}, "1 added (n7), 2 removed, 1 in all"),
        ({"added": [], "removed": 3, "count": 0}, "3 removed, none left"),
        ({"added": list("abcde"), "count": 5}, "5 added (a, b, c, d, …), 5 in all"),
    ],
)
def test_what_changed_is_told_in_words(value: object, words: str) -> None:
    assert change(value) == words


def test_an_edge_that_is_left_over_is_taken_because_no_other_would_have_it() -> None:
    text = render(explain(DOOR, recorded(DOOR, Door(0, 0, 0, 0), Walked())))

    assert "taken because no edge before it would have it" in text
    assert "what changed" not in text


def test_an_edge_that_stands_alone_needs_no_reason() -> None:
    text = render(explain(TURNSTILE, recorded(TURNSTILE, Coins(0), Pushed())))

    assert text == "#7 locked, told Pushed, went to locked\n    taken: nothing stood before it\n"


def test_an_explanation_is_data_in_the_order_of_the_table() -> None:
    record = recorded(DOOR, Door(0, 0, 0, 1), Walked(), Knocked("silence"))

    story = explain(DOOR, record)

    assert story.taken.edge.reason == "another_try"
    assert [each.refused_by for each in story.passed_over] == ["called", "invited"]
    assert [each.edge.reason for each in story.not_looked_at] == [
        "another_key",
        "oiled",
        "next_day",
        "gave_up",
    ]
    edges = tuple(each.edge for each in story.considered)
    assert edges == DOOR.rows[story.taken.edge.source, Knocked]


def test_a_record_of_another_machine_or_table_is_not_explained() -> None:
    record = recorded(TURNSTILE, Coins(0), Coin(True))

    with pytest.raises(TraceError, match="is of machine turnstile, not door"):
        explain(DOOR, record)
    with pytest.raises(TraceError, match="made by another table"):
        explain(TURNSTILE.with_edges(reversed(TURNSTILE.edges)), record)
