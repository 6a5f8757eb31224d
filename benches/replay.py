"""How fast runs are replayed: decisions through the compiled table, and whole runs again.

Decisions: the traces of `tests/golden` over and over, and one run of many turns; reading the file
is not counted (it is told apart). Whole runs: the recordings of `tests/golden`, each through the
real phases into a real transcript and trace, and once more under another setting. Times are those
of the processor. Prints; judges nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from fsm import Record, Trace, TraceWriter, read_trace
from fsm.replay import Changes, replay
from interlock import records
from interlock.recording import read_recording
from interlock.recording.rerun import rerun
from interlock.table import LOOP
from interlock.testing import call, play, says, tool
from interlock.what_if import Verdict, change_of, run_otherwise
from phases.world.loop import Loop

GOLDEN = Path(__file__).parents[1] / "tests" / "golden"
T = TypeVar("T")
Steps = list[tuple[Record, Any]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=200, help="of the long run")
    parser.add_argument("--runs", type=int, default=100, help="times each recording is run again")
    asked = parser.parse_args()
    golden = [read_trace(path) for path in sorted(GOLDEN.glob("*.trace.jsonl"))]
    decisions("golden traces", golden, times=20)
    decisions(f"a run of {asked.turns:,} turns", [long_run(asked.turns)], times=3)
    for path in sorted(GOLDEN.glob("*.recording.jsonl")):
        whole(path, asked.runs)
        what_if(path, asked.runs)


def long_run(turns: int) -> Trace:
    """A played run, written into a file and read back, as a user's would be."""
    played = play(*[call(tool("Read", number)) for number in range(turns - 1)], says("done"))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "long.trace.jsonl"
        with TraceWriter(played.trace.header, path) as writer:
            for record in played.trace:
                writer.write(record)
        trace, seconds = timed(lambda: read_trace(path))
    print(f"reading {len(trace):,} records: {seconds:.2f} s")
    return trace


def decisions(name: str, traces: list[Trace], times: int) -> None:
    """Steps a second, all compared, and the way alone (as `--what-if` does)."""
    read: list[tuple[Loop, Steps]]
    read, seconds = timed(
        lambda: [
            (records.loop_from(each.header.start), list(records.steps_of(each))) for each in traces
        ]
    )
    count = sum(len(steps) for _, steps in read)
    print(f"{name}: {count:,} steps; outcomes from JSON {count / seconds:,.0f} a second")
    compared: dict[str, tuple[Changes | None, bool]] = {
        "edges": (None, True),
        "edges and every guard": (None, False),
        "all, and what each step changed": (records.changes, False),
    }
    for what, (changes, what_if) in compared.items():

        def all_of_them(changes: Changes | None = changes, what_if: bool = what_if) -> int:
            again = (
                replay(LOOP, loop, steps, changes=changes, what_if=what_if)
                for _ in range(times)
                for loop, steps in read
            )
            return sum(each.steps for each in again)

        rounds = [timed(all_of_them) for _ in range(5)]
        assert all(agreed == times * count for agreed, _ in rounds)
        best = max(agreed / seconds for agreed, seconds in rounds)
        print(f"  {what}: {best:,.0f} steps a second")


def whole(path: Path, times: int) -> None:
    """How long one recording takes to be run again, file to verdict."""

    async def again() -> bool:
        with tempfile.TemporaryDirectory() as folder:
            return (await rerun(read_recording(path), Path(folder))).identical

    async def every() -> int:
        return sum([await again() for _ in range(times)])

    same, seconds = timed(lambda: asyncio.run(every()))
    print(
        f"{path.name}: run again {times} times, {same} the same to the byte, "
        f"{1000 * seconds / times:.1f} ms each"
    )


def what_if(path: Path, times: int) -> None:
    """The same run under a threshold that is never reached: followed to its end."""
    changes = [change_of("compact_threshold=0.99")]

    async def judged() -> int:
        unlike = 0
        for _ in range(times):
            verdict = Verdict(steps=0, of=0, divergence=None)
            verdict = await run_otherwise(verdict, read_recording(path), changes)
            unlike += verdict.differs
        return unlike

    differ, seconds = timed(lambda: asyncio.run(judged()))
    print(f"  what if: {differ} of {times} differ, {1000 * seconds / times:.1f} ms each")


def timed(work: Callable[[], T]) -> tuple[T, float]:
    began = time.process_time()
    made = work()
    return made, time.process_time() - began


if __name__ == "__main__":
    main()
