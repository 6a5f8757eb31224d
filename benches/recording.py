"""What recording costs: sessions that are recorded and sessions that are not, one after another.

Processor time of a turn beside the same turn unrecorded, and the bytes that are left on the disk,
beside those of transcript and trace. Turns are those of `overhead.py`: 20 deltas and one Read.
Prints; judges nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import tempfile
from pathlib import Path
from statistics import median

from attrs import evolve

from benches.overhead import Costs, Place, interlock, place
from interlock.cli.logs import configure

_FROM = 20  # the turns before it warm up


async def measured(turns: int, repetitions: int) -> dict[bool, Costs]:
    costs = {False: Costs(), True: Costs()}
    with place(0.0) as here:
        for _ in range(repetitions):
            for recorded, costs_ in costs.items():
                gc.collect()
                with tempfile.TemporaryDirectory(prefix="interlock-bench-") as home:
                    there = evolve(here, home=Path(home))
                    marks = await interlock(there, turns, record=recorded)
                    costs_.add(marks.spent(range(_FROM, turns)))
                    if recorded:
                        sizes = _sizes(there)
    print("  ".join(f"{name} {size:,} bytes" for name, size in sizes.items()))
    return costs


def _sizes(place: Place) -> dict[str, int]:
    """Bytes of what a session leaves, by kind."""
    kinds = {"recording": "*.recording.jsonl*", "trace": "*.trace.jsonl", "transcript": "*.jsonl"}
    found, seen = dict[str, int](), set[Path]()
    for kind, pattern in kinds.items():
        paths = set(place.home.rglob(pattern)) - seen
        seen |= paths
        found[kind] = sum(path.stat().st_size for path in paths)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=100)
    parser.add_argument("--repetitions", type=int, default=6)
    asked = parser.parse_args()
    configure(debug=False)
    costs = asyncio.run(measured(asked.turns, asked.repetitions))
    # The least is what is left when nothing disturbs.
    for name, of in (("median", median), ("least", min)):
        plain, recorded = (of(costs[each].cpu) for each in (False, True))
        print(
            f"CPU of a turn, {name}: {plain:.2f} ms unrecorded, {recorded:.2f} ms recorded "
            f"(+{recorded - plain:.2f} ms, {recorded / plain - 1:+.1%})"
        )


if __name__ == "__main__":
    main()
