"""Many small jobs, each in a forked child, so many at a time."""

from __future__ import annotations

import os
import pickle
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Generic, TypeVar

from attrs import frozen

from tests.crash.fork import Child, fork

J = TypeVar("J")
R = TypeVar("R")


@frozen
class Done(Generic[J, R]):
    """A job and what came of it; without a result, what its process said last."""

    job: J
    result: R | None
    said: str


def each(
    work: Callable[[J], R], jobs: Sequence[J], *, at_once: int | None = None
) -> Iterator[Done[J, R]]:
    """Do `work` for each job, by default as many at a time as there are processors."""
    at_once = at_once or os.cpu_count() or 1
    with tempfile.TemporaryDirectory(prefix="crash-pool-") as name:
        folder, under_way = Path(name), dict[int, tuple[int, Child]]()
        for number, job in enumerate(jobs):
            if len(under_way) == at_once:
                yield _next(folder, jobs, under_way)
            child = fork(partial(_do, work, job, folder / f"{number}"), folder / f"{number}.log")
            under_way[child.pid] = number, child
        while under_way:
            yield _next(folder, jobs, under_way)


def _do(work: Callable[[J], R], job: J, result: Path) -> None:
    result.write_bytes(pickle.dumps(work(job)))


def _next(folder: Path, jobs: Sequence[J], under_way: dict[int, tuple[int, Child]]) -> Done[J, R]:
    pid, _ = os.waitpid(-1, 0)
    number, child = under_way.pop(pid)
    path = folder / f"{number}"
    result: R | None = pickle.loads(path.read_bytes()) if path.exists() else None
    return Done(jobs[number], result, child.said)
