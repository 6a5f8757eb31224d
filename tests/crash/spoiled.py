"""What is broken on purpose between the kill and the resume: a harness that misses it is blind."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.crash.case import Case
from tests.crash.plays import named
from tests.crash.seam import Point

_LATE = Point(what="trace", into="continuation")  # its calls have run, their results are written


def _forget_the_calls(home: Path) -> None:
    for path in home.rglob("*.calls.jsonl"):
        path.unlink()
    _forget_the_results(home)


def _forget_the_results(home: Path) -> None:
    for path in home.glob("projects/*/*.jsonl"):
        lines = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join(line for line in lines if b'"tool_result"' not in line))


def _forget_the_cost(home: Path) -> None:
    for path in home.rglob("costs.jsonl"):
        path.unlink()


def _case(row: str, finds: str, spoils: Callable[[Path], None]) -> Case:
    play = named("work")
    return Case(row=row, column="found", play=play, point=_LATE, finds=finds, spoils=spoils)


SPOILED = (
    _case("no record of the calls", "no_effect_twice", _forget_the_calls),
    _case("results that were shown are gone", "shown_is_written", _forget_the_results),
    _case("no record of the cost", "cost_is_not_lost", _forget_the_cost),
)
