"""The model check finds each way in which a machine can be wrong, and shows the path there."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import pytest
from attrs import evolve, frozen

from fsm import Edge, Machine, Step, at, machine, to, when
from fsm.check import Finding, Law, Measure, Verdict, check, render
from fsm.explore import explore
from tests.fsm.doors import (
    CHANCES,
    DOOR,
    TRIES,
    At,
    Door,
    Knocked,
    door_specimens,
    is_next_day,
    oil_left,
    same_door,
    silent,
)

SMALL = [Door(1, 1, 1, 1), Door(2, 2, 2, 2)]


def checked(machine: Machine[Door], **changes: Any) -> Verdict[Door]:
    usual: dict[str, Any] = {
        "starts": SMALL,
        "specimens": door_specimens,
        "normal": same_door,
        "outer": CHANCES,
        "inner": TRIES,
        "turn_over": is_next_day,
    }
    return check(machine, **usual | changes)


def changed(reason: str, **fields: Any) -> Machine[Door]:
    """The door with the fields of one edge replaced."""

    def maybe(edge: Edge) -> Edge:
        return evolve(edge, **fields) if edge.reason == reason else edge

    return DOOR.with_edges(map(maybe, DOOR.edges))


def only(verdict: Verdict[Any], law: str) -> Finding:
    """The one finding of this law; whoever breaks one law may break others with it."""
    (found,) = [finding for finding in verdict.findings if finding.law == law]
    return found


def way(finding: Finding) -> list[str]:
    """The path to a finding: where it starts, then where each step leads."""
    first = [step.edge.source.value for step in finding.path[:1]]
    return first + [step.edge.destination.value for step in finding.path]


def test_a_door_that_can_only_be_tried_so_often_keeps_every_law() -> None:
    verdict = checked(DOOR)

    assert verdict.ok, render(verdict)
    assert verdict.counts.places > 100
    assert verdict.counts.steps > verdict.counts.places


def test_the_verdict_states_the_bounds_for_the_limits_in_force() -> None:
    verdict = checked(DOOR, full=Door(days_cap=9, oils_cap=1, keys_cap=2, tries_cap=10)).timed(0.5)

    counts = f"{verdict.counts.places} places, {verdict.counts.steps} steps in 0.50 s"
    assert render(verdict) == (
        f"door: all laws hold ({counts})\n"
        "  in 1 turn at most\n"
        "      6 iterations\n"
        "     66 times knocking\n"
        "    133 edges\n"
        "      4 another_key\n"
        "     60 another_try\n"
        "      1 oiled\n"
    )


# Law 1: it ends.


def test_an_edge_back_to_the_start_needs_a_measure() -> None:
    verdict = checked(DOOR, outer=None)

    found = [finding for finding in verdict.findings if finding.law == "law 1"]
    assert [finding.edge and finding.edge.reason for finding in found] == ["another_key", "oiled"]
    assert found[0].text == "goes back to the start without a measure"
    assert way(found[0]) == ["ready", "knocking", "ready"]
    assert verdict.bounds is None


def test_a_new_turn_must_be_declared_as_one() -> None:
    found = only(checked(DOOR, turn_over=lambda edge: False), "law 1")

    assert found.edge is not None
    assert found.edge.reason == "next_day"


def test_a_reducer_that_gives_a_better_chance_back_is_found_with_the_path_that_shows_it() -> None:
    def another_key(loop: Door, outcome: Knocked) -> Door:
        return evolve(loop, keys=loop.keys + 1, tries=0, oils=0)

    verdict = checked(changed("another_key", reducer=another_key))

    found = only(verdict, "law 1")
    assert found.edge is not None
    assert found.edge.reason == "another_key"
    assert found.text == (
        "goes back to the start and does not shrink chances: (oils 0, keys 1) -> (oils 1, keys 0)"
    )
    assert [step.edge.reason for step in found.path] == [
        None,
        "another_key",
        None,
        "oiled",
        None,
        "another_key",
    ]


def test_a_reducer_that_counts_nothing_is_found() -> None:
    found = only(checked(changed("oiled", reducer=lambda loop, outcome: loop)), "law 1")

    assert "(oils 1, keys 0) -> (oils 1, keys 0)" in found.text


def test_coming_back_counts_as_a_whole_and_must_shrink_the_inner_measure() -> None:
    found = only(checked(changed("another_try", reducer=lambda loop, outcome: loop)), "law 1")

    assert str(found.edge) == "waiting.pause --Waited[otherwise]--> knocking"
    assert found.text == (
        "comes back to knocking and does not shrink tries: (tries 1) -> (tries 1)"
    )
    assert way(found) == ["ready", "knocking", "waiting.pause", "knocking"]


def test_nothing_within_an_iteration_may_give_the_outer_chances_back() -> None:
    def another_try(loop: Door, outcome: Knocked) -> Door:
        return evolve(loop, tries=loop.tries + 1, keys=0)

    verdict = checked(changed("another_try", reducer=another_try))

    texts = {finding.text.partition(":")[0] for finding in verdict.findings}
    assert "raises chances within an iteration" in texts


@pytest.mark.parametrize(("keys", "count"), [(-1, 2), (+2, -1)])
def test_no_loop_may_hold_more_chances_than_its_start_or_fewer_than_none(
    keys: int, count: int
) -> None:
    def next_day(loop: Door, outcome: Knocked) -> Door:
        return evolve(loop, days=loop.days + 1, oils=0, keys=keys, tries=0)

    verdict = checked(changed("next_day", reducer=next_day), starts=[Door(1, 1, 1, 1)])

    found = next(finding for finding in verdict.findings if finding.law == "law 1")
    assert found.text == f"keys is {count}, and the start had 1"
    assert found.edge is not None
    assert found.edge.reason == "next_day"


class Room(StrEnum):
    HALL = "hall"
    CELLAR = "cellar"
    ATTIC = "attic"
    OUT = "out"


@frozen
class Climbed:
    up: bool


def goes_up(loop: int, outcome: Climbed) -> bool:
    return outcome.up


def stay(loop: int, outcome: object) -> int:
    return loop


HOUSE = machine(
    "house",
    at(Room.HALL, Climbed, when(goes_up, go=Room.ATTIC), otherwise=to(Room.CELLAR)),
    at(Room.ATTIC, Climbed, when(goes_up, go=Room.OUT), otherwise=to(Room.CELLAR)),
    at(Room.CELLAR, Climbed, when(goes_up, go=Room.ATTIC), otherwise=to(Room.OUT)),
    loop=int,
    states=Room,
    initial=Room.HALL,
    endings=[Room.OUT],
    keep=stay,
)


def in_the_house(**changes: Any) -> Verdict[int]:
    usual: dict[str, Any] = {
        "starts": [0],
        "specimens": lambda kind: (kind(True), kind(False)),
        "normal": lambda loop: loop,
    }
    return check(HOUSE, **usual | changes)


def test_a_circle_that_no_measure_watches_is_found_and_walked_once_round() -> None:
    found = only(in_the_house(), "law 1")

    assert found.text == "goes round without a measure: attic -> cellar -> attic"
    assert str(found.edge) == "cellar --Climbed[goes_up]--> attic"
    assert way(found) == ["hall", "attic", "cellar", "attic"]


def test_a_circle_is_fine_if_each_round_of_it_is_a_new_turn() -> None:
    assert in_the_house(turn_over=lambda edge: edge.source == Room.CELLAR).ok


# Law 2: every outcome has an edge.


def test_a_gap_is_found_with_the_path_to_it() -> None:
    gap = DOOR.with_edges(e for e in DOOR.edges if e.destination != At.GAVE_UP)

    found = only(checked(gap), "law 2")

    assert found.text == "no edge holds: a gap, told Knocked"
    assert found.edge is not None
    assert found.edge.reason == "next_day"
    assert way(found)[-1] == "knocking"


def broken(loop: Door, outcome: Knocked) -> Any:
    raise LookupError("no oil can")


@pytest.mark.parametrize(
    ("changes", "who"),
    [
        ({"guards": (oil_left, broken)}, "guard broken"),
        ({"reducer": broken}, "reducer broken"),
    ],
    ids=["guard", "reducer"],
)
def test_a_guard_or_reducer_that_raises_is_found(changes: dict[str, Any], who: str) -> None:
    verdict = checked(changed("oiled", **changes))

    found = only(verdict, "law 2")
    assert found.text == f"{who} raised LookupError: no oil can, told Knocked"
    assert found.edge is not None
    assert found.edge.reason == "oiled"


# Law 3: nothing is dead.


def never_holds(loop: Door, outcome: Knocked) -> bool:
    return False


def always_holds(loop: Door, outcome: Knocked) -> bool:
    return True


def test_a_dead_edge_is_found_and_so_is_the_guard_that_kills_it() -> None:
    verdict = checked(changed("oiled", guards=(never_holds,)))

    texts = [f.text for f in verdict.findings if f.edge and f.edge.reason == "oiled"]
    assert texts == [
        "is never taken, refused each time",
        "guard never_holds is never True here",
    ]
    assert way(verdict.findings[0])[:2] == ["ready", "knocking"]


def test_an_edge_that_is_never_looked_at_is_found() -> None:
    by_reason = {edge.reason: edge for edge in DOOR.edges if edge.source == At.KNOCKING}
    last, late = by_reason["gave_up"], by_reason["oiled"]
    others = [edge for edge in DOOR.edges if edge not in (last, late)]

    verdict = checked(DOOR.with_edges([*others, last, late]))

    texts = [finding.text for finding in verdict.findings if finding.law == "law 3"]
    assert texts == ["is never taken, and never looked at"]


def test_a_guard_that_is_never_false_where_it_stands_is_found() -> None:
    verdict = checked(changed("another_try", guards=(silent, always_holds)))

    found = [f.text for f in verdict.findings if f.law == "law 3"]
    assert "guard always_holds is never False here" in found


def test_a_state_that_no_specimen_leads_out_of_is_found() -> None:
    verdict = in_the_house(
        specimens=lambda kind: (), turn_over=lambda edge: edge.source == Room.CELLAR
    )

    texts = [finding.text for finding in verdict.findings if finding.edge is None]
    assert texts == [f"state {room} is never left" for room in ("hall", "cellar", "attic")]


def test_a_machine_that_would_go_on_for_ever_is_found_without_following_it() -> None:
    verdict = checked(changed("another_key", guards=()))

    texts = {f.text for f in verdict.findings if f.law == "law 1"}
    assert "keys is -1, and the start had 1" in texts
    assert not any(finding.law == "search" for finding in verdict.findings)


# The caller's own laws, and the search.


def test_a_law_of_the_callers_is_asked_of_every_step() -> None:
    def holds(step: Step[Door]) -> bool:
        return step.after.oils >= step.before.oils

    law = Law("law 4", "oil is never given back", holds)

    found = only(checked(DOOR, laws=[law]), "law 4")

    assert (found.edge and found.edge.reason, found.text) == ("next_day", law.text)
    assert not holds(found.path[-1])
    assert all(map(holds, found.path[:-1]))


def test_a_search_that_was_cut_off_proves_nothing() -> None:
    verdict = checked(DOOR, limit=20, full=Door(1, 1, 1, 1))

    assert only(verdict, "search").text == "the search was ended at 20 places: nothing is proven"
    assert verdict.bounds is None


def test_a_specimen_of_another_type_is_refused() -> None:
    with pytest.raises(TypeError, match="is no specimen of Walked"):
        checked(DOOR, specimens=lambda kind: ("hello",))


def test_loops_that_are_normalised_to_the_same_are_explored_once() -> None:
    def forgetful(loop: Door) -> Door:
        return evolve(loop, days=0)

    whole = explore(DOOR, SMALL, door_specimens, same_door, 10_000)
    folded = explore(DOOR, SMALL, door_specimens, forgetful, 10_000)

    assert len(folded.places) < len(whole.places)


def test_a_finding_is_told_as_a_path_of_edges_with_their_guards() -> None:
    verdict = checked(changed("another_try", reducer=lambda loop, outcome: loop))

    assert (
        "law 1: waiting.pause --Waited[otherwise]--> knocking: "
        "comes back to knocking and does not shrink tries: (tries 1) -> (tries 1)\n"
        "    1. ready --Walked--> knocking [called False]\n"
        "    2. knocking --Knocked--> waiting.pause / another_try "
        "[called False, invited False, silent True, tries_left True]\n"
        "    3. waiting.pause --Waited--> knocking [called False]\n"
    ) in render(verdict)


def test_a_measure_says_its_components_by_name() -> None:
    measure = Measure[Door]("m", (("a", lambda d: d.keys), ("b", lambda d: d.oils)))

    assert measure.told(measure.of(Door(0, 0, 0, 0, keys=3))) == "(a 3, b 0)"
