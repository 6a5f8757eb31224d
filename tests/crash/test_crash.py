"""Killed with `kill -9` at some points of every kind; `make crash` is killed at all of them.

`INTERLOCK_CRASH_EXAMPLES=500 pytest tests/crash -n 0` kills random scripts at random points more
often, and other ones each time.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from interlock.table import LOOP
from interlock.tools.lifecycle import TOOL_CALL
from tests.crash.case import Rehearsed
from tests.crash.matrix import matrix
from tests.crash.plays import ALL
from tests.crash.seam import Event, event_of

ROOT = Path(__file__).parents[2]
_ASKED_FOR = os.environ.get("INTERLOCK_CRASH_EXAMPLES")
_PATIENCE_S = 300 if _ASKED_FOR is None else None


def test_wherever_it_is_killed_the_session_goes_on_and_tells_the_truth() -> None:
    # A process of its own: it forks, which one with threads must not.
    drawn = (_ASKED_FOR, str(time.time_ns() % 10**6)) if _ASKED_FOR else ("6", "1")
    ran = subprocess.run(
        [sys.executable, "-m", "tests.crash", "--short", "--random", drawn[0], "--seed", drawn[1]],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=_PATIENCE_S,
        check=False,
    )

    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_an_edge_that_no_play_takes_is_named_and_one_that_is_taken_has_its_cases() -> None:
    nowhere = {play: Rehearsed(events=(), problem=None) for play in ALL}
    edge = next(each for each in LOOP.edges if each.destination == "tools")
    taken = Rehearsed(events=(Event("trace", edge.index, "tools"),), problem=None)

    nothing, one = matrix(nowhere), matrix({**nowhere, ALL[0]: taken})

    assert len(nothing.missing) == len(LOOP.edges) + len(TOOL_CALL.edges)
    assert f"loop: no play takes {edge}" in nothing.missing
    assert f"loop: no play takes {edge}" not in one.missing
    mine = [case for case in one.edges if case.point and case.point.edge == edge.index]
    assert [(case.play, case.column) for case in mine] == [(ALL[0], "before"), (ALL[0], "after")]


@pytest.mark.parametrize(
    ("path", "what"),
    [
        ("projects/p/s.jsonl", "transcript"),
        ("projects/p/s.jsonl.7.part", "branch"),
        ("projects/p/s/state.json.part", "state"),
        ("projects/p/s/tool-results/toolu_1-whole.txt", "spilled result"),
        ("projects/p/s/runs/r.recording.jsonl", "recording"),
        ("projects/p/s/of-tomorrow.json", "of-tomorrow.json"),
    ],
)
def test_each_file_that_is_written_has_its_row(path: str, what: str) -> None:
    assert event_of(Path(path), b"{}") == Event(what)
