"""`python -m tests.crash`: kill it everywhere, and print the matrix. `make crash` runs this.

Its process has all imports done and neither thread nor event loop: every case is a fork of it.
"""

from __future__ import annotations

import argparse
import sys
import time

from attrs import evolve

from tests.crash.case import Case, Rehearsed, judged, rehearse
from tests.crash.chance import drawn
from tests.crash.laws import wrong
from tests.crash.matrix import Matrix, matrix, short
from tests.crash.plays import ALL, Play
from tests.crash.pool import each
from tests.crash.spoiled import SPOILED
from tests.crash.table import Result, reds, rendered
from tests.crash.warm import warm_up


def main() -> int:
    asked = _asked()
    began = time.monotonic()
    warm_up()
    rehearsals = _rehearsed()
    whole = matrix(rehearsals)
    chosen = short(whole) if asked.short else whole
    parts = {
        "edge": chosen.edges,
        "journal write": chosen.writes,
        "moment": chosen.moments,
        "by chance": drawn(asked.random, asked.seed),
        "what is spoiled on purpose, and has to be found": SPOILED,
    }
    every = [case for cases in parts.values() for case in cases]
    results = _judged([case for case in every if asked.only in str(case) + case.row])
    by_case = {one.case: one for one in results}
    for title, cases in parts.items():
        mine = [by_case[case] for case in cases if case in by_case]
        if mine:
            print(f"\n{rendered(title, mine)}")
    return _told(chosen, results, time.monotonic() - began)


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.crash", description=__doc__)
    parser.add_argument("--short", action="store_true", help="a few of each kind")
    parser.add_argument("--only", default="", metavar="WORDS", help="cases with these words")
    parser.add_argument("--random", type=int, default=0, metavar="N", help="so many by chance")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of what is by chance")
    return parser.parse_args()


def _rehearsed() -> dict[Play, Rehearsed]:
    """What each play comes by when nobody kills it."""
    found = {}
    for done in each(rehearse, ALL):
        if done.result is None or done.result.problem is not None:
            sys.exit(
                f"the play {done.job} fails by itself: {done.said or done.result or 'it hangs'}"
            )
        found[done.job] = done.result
    return {play: found[play] for play in ALL}


def _judged(cases: list[Case]) -> list[Result]:
    results = []
    for done in each(_judge, cases):
        if done.result is None:
            said = done.said or "its process hung"
            results.append(Result(case=done.job, wrong=(said,), killed=False, seconds=0))
        else:
            results.append(evolve(done.result, case=done.job))
        print("." if results[-1].good else "X", end="", flush=True)
    return results


def _judge(case: Case) -> Result:
    began = time.monotonic()
    found, killed = judged(case, wrong)
    missed = () if killed or not case.must else ("its point was never reached",)
    if case.finds is not None:
        found = () if any(line.startswith(case.finds) for line in found) else ("it was not found",)
    return Result(
        case=case, wrong=(*missed, *found), killed=killed, seconds=time.monotonic() - began
    )


def _told(chosen: Matrix, results: list[Result], seconds: float) -> int:
    print()
    for line in reds(results):
        print(line)
    for line in chosen.missing:
        print(f"RED {line}")
    bad = sum(not one.good for one in results) + len(chosen.missing)
    print(
        f"{len(results)} kills, {len(results) - bad} as they should be, {bad} not; {seconds:.0f} s"
    )
    return 1 if bad or not results else 0


if __name__ == "__main__":
    sys.exit(main())
