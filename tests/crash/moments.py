"""Kills that no one edge and no one write is: calls at work, summaries, the resume itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tests.crash.case import Case
from tests.crash.plays import AT_WORK, IN_THE_BACKGROUND, SIDE_BY_SIDE, named
from tests.crash.seam import Moment, Point

BEFORE_AND_AFTER = (Moment.BEFORE, Moment.AFTER)


def moments_of(what: str) -> Sequence[Moment]:
    """When a write of this kind can be cut short."""
    # A file is put in place whole or not at all: the system promises it.
    return BEFORE_AND_AFTER if what.endswith("put in place") else tuple(Moment)


def moments() -> Iterator[Case]:
    yield from _at_work()
    yield from _in_a_summary()
    yield from _in_the_resume()


def _at_work() -> Iterator[Case]:
    for nth in (1, 2, 3):
        row, point = (
            f"{nth} calls at work side by side",
            Point(what="calls", into="running", nth=nth),
        )
        yield Case(row=row, column="killed", play=SIDE_BY_SIDE, point=point)
    yield Case(row="a command at work", column="killed", play=AT_WORK, at_work=True)
    yield Case(
        row="a command in the background",
        column="killed",
        play=IN_THE_BACKGROUND,
        point=Point(what="transcript", nth=4),
    )


def _in_a_summary() -> Iterator[Case]:
    rows = {"asked compact": "a summary is asked for", "heard compact": "a summary is heard"}
    for what, row in rows.items():
        for moment in BEFORE_AND_AFTER:
            yield Case(
                row=row,
                column=moment,
                play=named("compacted"),
                point=Point(what=what, moment=moment),
            )


def _in_the_resume() -> Iterator[Case]:
    for what in ("transcript", "state", "state put in place"):
        for moment in moments_of(what):
            then = Point(what=what, moment=moment)
            for row, branches in (
                ("resumed, and killed as it closes open calls", False),
                ("a branch, killed as it closes open calls", True),
            ):
                yield Case(
                    row=row,
                    column=moment,
                    play=AT_WORK,
                    at_work=True,
                    then=then,
                    branches=branches,
                )
    for what in ("branch", "transcript put in place"):
        for moment in moments_of(what):
            yield Case(
                row="a branch, killed as it is copied",
                column=moment,
                play=named("work"),
                point=Point(what="calls", into="running"),
                then=Point(what=what, moment=moment),
                branches=True,
            )
