"""What test runs have taken and seen, added up over processes, and what is missing."""

from __future__ import annotations

from fsm.cover import Coverage, Taken, Valued, render
from tests.fsm.doors import (
    DOOR,
    TURNSTILE,
    Coin,
    Coins,
    Door,
    Evening,
    Knocked,
    Pushed,
    Walked,
    walk,
)

HALF = (Coin(True), Pushed(), Pushed())
REST = (Coin(False), Coin(True), Evening())


def coverage(*outcomes: object) -> Coverage:
    seen = Coverage()
    for step in walk(TURNSTILE, Coins(0), *outcomes):
        seen.saw(step)
    return seen


def test_nothing_run_is_nothing_covered() -> None:
    report = Coverage().report(TURNSTILE)

    assert report.missing_edges == TURNSTILE.edges
    assert len(report.missing_values) == 2
    assert not report.whole


def test_a_report_counts_each_edge_and_each_value_of_a_guard() -> None:
    report = coverage(*HALF).report(TURNSTILE)

    assert [each.times for each in report.edges] == [1, 0, 0, 1, 1, 0]
    assert report.edges[0] == Taken(TURNSTILE.edges[0], 1)
    assert report.guards == (Valued(TURNSTILE.edges[0], "is_good", true=1, false=0),)


def test_what_is_missing_is_named() -> None:
    assert render(coverage(*HALF).report(TURNSTILE)) == (
        "turnstile: 3 of 6 edges taken, 1 of 2 guard values seen\n"
        "  never taken: locked --Coin[otherwise]--> locked\n"
        "  never taken: locked --Evening[otherwise]--> closed_down (closed_down)\n"
        "  never taken: open --Evening[otherwise]--> closed_down (closed_down)\n"
        "  never False: is_good of locked --Coin[is_good]--> open (paid)\n"
    )


def test_runs_add_up() -> None:
    both = coverage(*HALF)
    both.merge(coverage(*REST))
    both.merge(coverage(Evening()))

    report = both.report(TURNSTILE)

    assert report.whole
    assert [each.times for each in report.edges] == [2, 1, 1, 1, 1, 1]


def test_a_file_of_dumps_is_the_sum_of_the_processes_that_wrote_it() -> None:
    file = coverage(*HALF).dump() + coverage(*REST).dump() + coverage(Evening()).dump()

    assert file.count("\n") == 3
    assert Coverage.load(file).report(TURNSTILE).whole
    assert Coverage.load("").report(TURNSTILE).missing_edges == TURNSTILE.edges


def test_a_dump_still_counts_for_a_table_in_another_order() -> None:
    reordered = TURNSTILE.with_edges(reversed(TURNSTILE.edges))

    report = Coverage.load(coverage(*HALF, *REST).dump()).report(reordered)

    assert len(report.missing_edges) == 1


def test_machines_are_kept_apart() -> None:
    seen = coverage(*HALF)
    for step in walk(DOOR, Door(0, 0, 0, 0), Walked(), Knocked("come in")):
        seen.saw(step)

    assert len(seen.report(DOOR).missing_edges) == len(DOOR.edges) - 2
    assert len(seen.report(TURNSTILE).missing_edges) == 3


def test_a_guard_counts_anew_on_each_edge_it_stands_on() -> None:
    seen = Coverage()
    for step in walk(DOOR, Door(0, 0, 0, 0), Walked(), Knocked("", called=True)):
        seen.saw(step)

    called = [each for each in seen.report(DOOR).guards if each.guard == "called"]

    assert [(each.true, each.false) for each in called][:3] == [(0, 1), (0, 0), (1, 0)]
