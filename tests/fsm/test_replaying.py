"""Recorded decisions are taken once more, and the first that differs is named."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import evolve

from fsm import Edge, Machine, Record, record_of
from fsm.replay import Divergence, Replayed, render, replay
from tests.fsm.doors import (
    DOOR,
    At,
    Door,
    Knocked,
    Stumbled,
    Waited,
    Walked,
    another_try,
    keys_left,
    silent,
    walk,
)

START = Door(1, 1, 1, 1)
OUTCOMES = (Walked(), Knocked("silence"), Waited(), Knocked("silence"), Walked())


def changes(before: Door, after: Door) -> Mapping[str, Any]:
    names = ("oils", "keys", "tries")
    return {
        name: (getattr(before, name), getattr(after, name))
        for name in names
        if getattr(before, name) != getattr(after, name)
    }


def recording(*outcomes: object) -> list[tuple[Record, object]]:
    steps = walk(DOOR, START, *(outcomes or OUTCOMES))
    return [
        (
            record_of(
                step,
                sequence=n,
                time=0.0,
                payload=None,
                # As a file gives it back: lists, not tuples.
                changed={k: list(v) for k, v in changes(step.before, step.after).items()},
                chain_id="c",
                depth=0,
            ),
            step.outcome,
        )
        for n, step in enumerate(steps)
    ]


def parted(replayed: Replayed[Door]) -> Divergence:
    assert replayed.divergence is not None
    return replayed.divergence


def changed(machine: Machine[Door], reason: str, **fields: Any) -> Machine[Door]:
    """The machine with the fields of one edge replaced."""

    def maybe(edge: Edge) -> Edge:
        return evolve(edge, **fields) if edge.reason == reason else edge

    return machine.with_edges(map(maybe, machine.edges))


def test_a_recording_replays_to_the_loop_it_ended_with() -> None:
    replayed = replay(DOOR, START, recording(), changes=changes)

    assert replayed == Replayed(None, 5, At.KNOCKING, Door(1, 1, 1, 1, keys=1))


def test_nothing_recorded_replays_to_nothing() -> None:
    assert replay(DOOR, START, []) == Replayed(None, 0, At.READY, START)


def test_a_changed_outcome_names_the_step_and_the_guard_that_changed_its_mind() -> None:
    steps = recording()
    steps[3] = (steps[3][0], Knocked("come in"))

    replayed = replay(DOOR, START, steps, changes=changes)

    found = parted(replayed)
    assert (found.sequence, found.kind, replayed.steps) == (3, "edge", 3)
    assert found.changed_minds == ("invited",)
    assert (found.recorded.destination, found.recomputed.destination) == ("ready", "went_in")
    assert replayed.state is At.KNOCKING


def test_a_changed_guard_names_the_step_at_which_it_first_matters() -> None:
    def tries_left(loop: Door, outcome: object) -> bool:
        return True

    table = changed(DOOR, "another_try", guards=(silent, tries_left))

    found = parted(replay(table, START, recording()))

    assert (found.sequence, found.kind) == (3, "edge")
    assert found.changed_minds == ("tries_left",)


def test_a_guard_with_another_value_is_found_even_if_the_edge_is_the_same() -> None:
    steps = recording()
    steps[3] = (steps[3][0], Knocked("locked"))

    found = parted(replay(DOOR, START, steps))

    assert (found.sequence, found.kind, found.changed_minds) == (3, "guards", ("silent",))
    assert replay(DOOR, START, steps, what_if=True).divergence is None


def test_a_reducer_with_another_result_is_found_if_changes_are_compared() -> None:
    def another_key(loop: Door, outcome: Knocked) -> Door:
        return evolve(loop, keys=loop.keys + 1)

    table = changed(DOOR, "another_key", reducer=another_key)

    found = parted(replay(table, START, recording(), changes=changes))

    assert (found.sequence, found.kind) == (3, "changed")
    assert found.recorded.changed == {"keys": [0, 1], "tries": [1, 0]}
    assert found.recomputed.changed == {"keys": [0, 1]}


def test_a_recording_that_starts_elsewhere_is_found_at_once() -> None:
    found = parted(replay(DOOR, START, recording()[1:]))

    assert (found.sequence, found.kind) == (1, "source")
    assert (found.recorded.source, found.recomputed.source) == ("knocking", "ready")
    assert replay(DOOR, START, recording()[1:], start=At.KNOCKING).divergence is None


def test_an_outcome_that_the_table_no_longer_knows_is_told_as_such() -> None:
    table = DOOR.with_edges(edge for edge in DOOR.edges if edge.outcome is not Waited)

    found = parted(replay(table, START, recording()))

    assert (found.sequence, found.kind) == (2, "outcome")
    assert "knows no outcome Waited" in render(found)


def test_an_outcome_of_another_type_is_told_as_such() -> None:
    steps = recording()
    steps[1] = (steps[1][0], Stumbled(called=True))

    found = parted(replay(DOOR, START, steps))

    assert (found.sequence, found.kind) == (1, "outcome")
    assert (found.recorded.outcome, found.recomputed.outcome) == ("Knocked", "Stumbled")


def test_a_table_whose_edge_asks_other_guards_takes_another_edge() -> None:
    table = changed(DOOR, "another_try", guards=(silent,))

    found = parted(replay(table, START, recording()))

    assert (found.sequence, found.kind, found.changed_minds) == (1, "edge", ())
    assert "guards       silent, tries_left | silent" in render(found)


def test_a_guard_that_raises_is_told_and_not_raised() -> None:
    def keys_left(loop: Door, outcome: object) -> bool:
        raise LookupError("no pocket")

    table = changed(DOOR, "another_key", guards=(keys_left,))

    found = parted(replay(table, START, recording()))

    assert (found.sequence, found.kind) == (3, "broken")
    assert found.recomputed.problem == "LookupError: no pocket"


def test_over_a_changed_table_it_says_where_the_paths_part_and_only_that() -> None:
    def anybody_there(loop: Door, outcome: object) -> bool:
        return False

    first, *others = DOOR.edges
    harmless = DOOR.with_edges([first, evolve(first, guards=(anybody_there,)), *others])
    fewer = changed(DOOR, "another_key", guards=(keys_left, anybody_there))

    assert replay(harmless, START, recording(), what_if=True).divergence is None
    assert parted(replay(harmless, START, recording())).kind == "guards"
    found = parted(replay(fewer, START, recording(), what_if=True))
    assert (found.sequence, found.recomputed.reason) == (3, "oiled")


def test_a_divergence_is_shown_side_by_side() -> None:
    def tries_left(loop: Door, outcome: object) -> bool:
        return True

    table = changed(DOOR, "another_try", guards=(silent, tries_left), reducer=another_try)

    assert render(parted(replay(table, START, recording(), changes=changes))) == (
        "step 3 parts from the record: it takes another edge\n"
        "               recorded           now\n"
        "  source       knocking           knocking\n"
        "  outcome      Knocked            Knocked\n"
        "  destination  ready            | waiting.pause\n"
        "  reason       another_key      | another_try\n"
        "  guards       keys_left        | silent, tries_left\n"
        "  looked at    called False       called False\n"
        "               invited False      invited False\n"
        "               silent True        silent True\n"
        "               tries_left False | tries_left True\n"
        "               keys_left True   |\n"
        "  keys         [0, 1]           | -\n"
        "  tries        [1, 0]           | [1, 2]\n"
        "  guard tries_left changed its mind: False -> True\n"
    )
