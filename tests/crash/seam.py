"""Where a process can be killed: before, in the middle of and after each write, and as it shows.

The product has no hook for this. In a child that was forked to die, the two doors through which
bytes reach the disk (`os.write`, and the raw file behind every `open`) are watched; so a file
that the product begins to write tomorrow is watched too.
"""

from __future__ import annotations

import builtins
import io
import os
import signal
from collections import Counter
from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import IO, Any, TypeVar

import orjson
from attrs import define, field, frozen

T = TypeVar("T")


class Moment(StrEnum):
    """When, of one write. Half of its bytes are on the disk in the middle of it."""

    BEFORE = "before"
    TORN = "torn"
    AFTER = "after"


@frozen
class Event:
    """One write: to which file, and for a record of a machine, along which edge into what.

    Or another thing that can be seen from outside, such as an update that is shown.
    """

    what: str
    edge: int | None = None
    into: str | None = None
    is_write: bool = True


@frozen(kw_only=True)
class Point:
    """The n-th event that is like this. `what` None: any event; the same for the rest."""

    what: str | None = None
    edge: int | None = None
    into: str | None = None
    nth: int = 1
    moment: Moment = Moment.AFTER
    stops: bool = False  # not killed: the user asks the run to stop there

    def matches(self, event: Event) -> bool:
        return (
            self.what in (None, event.what)
            and self.edge in (None, event.edge)
            and self.into in (None, event.into)
        )

    def __str__(self) -> str:
        named = self.what or "anything"
        edge = "" if self.edge is None else f" of edge {self.edge}"
        into = "" if self.into is None else f" into {self.into}"
        return f"{self.moment} {named}{edge}{into} no. {self.nth}"


Raw = Callable[[bytes], int | None]


@define
class Seam:
    """Counts what happens under `home`, and ends the process at its point."""

    home: Path
    points: tuple[Point, ...] = ()
    stop: Callable[[], None] = lambda: None
    noted: list[Event] | None = None  # every event, where somebody wants to know
    _seen: Counter[Point] = field(factory=Counter)

    def passes(self, what: str) -> None:
        """Something that is no write."""
        self._at(Event(what, is_write=False), lambda: None, torn=lambda: None)

    def renamed(self, path: Path, rename: Callable[[], None]) -> None:
        self._at(Event(f"{_what(self._inside(path))} put in place"), rename, torn=lambda: None)

    def written(self, path: Path, data: bytes, write: Raw) -> int | None:
        """Write, unless this is where the process ends."""
        return self._at(
            event_of(self._inside(path), data),
            lambda: write(data),
            torn=lambda: write(data[: len(data) // 2]),
        )

    def watches(self, path: Path) -> bool:
        return path.is_relative_to(self.home)

    def _inside(self, path: Path) -> Path:
        return path.relative_to(self.home)

    def _at(self, event: Event, do: Callable[[], T], torn: Callable[[], object]) -> T:
        if self.noted is not None:
            self.noted.append(event)
        hit = [point for point in self.points if self._hits(point, event)]
        self._act(Moment.BEFORE, hit, event)
        if any(point.moment is Moment.TORN for point in hit):
            torn()
            self._act(Moment.TORN, hit, event)
        done = do()
        self._act(Moment.AFTER, hit, event)
        return done

    def _hits(self, point: Point, event: Event) -> bool:
        if not point.matches(event):
            return False
        self._seen[point] += 1
        return self._seen[point] == point.nth

    def _act(self, moment: Moment, hit: Sequence[Point], event: Event) -> None:
        for point in hit:
            if point.moment is not moment:
                continue
            if point.stops:
                self.stop()
            else:
                _WRITE(2, f"killed {moment} {event}\n".encode())
                os.kill(os.getpid(), signal.SIGKILL)


def event_of(path: Path, data: bytes) -> Event:
    """The event that these bytes on their way into this file are."""
    what = _what(path)
    if what not in ("trace", "calls"):
        return Event(what)
    try:
        record = orjson.loads(data)
    except orjson.JSONDecodeError:
        return Event(what)  # a line so long that it comes in parts
    if "edge" not in record:
        return Event(f"{what} begun", into=record.get("initial"))
    return Event(what, record["edge"], record["destination"])


_KINDS = {
    ".trace.jsonl": "trace",
    ".calls.jsonl": "calls",
    ".recording.jsonl": "recording",
    ".recording.jsonl.gz": "recording packed",
    "state.json": "state",
    "costs.jsonl": "costs",
    "checkpoints/log.jsonl": "checkpoints",
    "collapses.jsonl": "collapses",
}


def _what(path: Path) -> str:
    name = path.name.removesuffix(".part")
    if name != path.name:
        name = name.rstrip("0123456789").removesuffix(".")
    if "tool-results" in path.parts:
        return "spilled result"
    if path.parent.name == "checkpoints" and not name.endswith(".jsonl"):
        return "checkpoint content"  # each is named by its hash
    for end, kind in _KINDS.items():
        if f"{path.parent.name}/{name}".endswith(end):
            return kind
    if name.endswith(".jsonl"):
        return "branch" if path.name.endswith(".part") else "transcript"
    return name


# --- the doors -------------------------------------------------------------------------------

_OPEN, _WRITE, _RENAME = io.open, os.write, os.rename


class _Watched(io.FileIO):
    """The raw file behind what `open` gives."""

    def __init__(self, seam: Seam, path: Path, *given: Any) -> None:
        super().__init__(*given)
        self._seam, self._path = seam, path

    def write(self, data: Any) -> int | None:  # type: ignore[override]
        return self._seam.written(self._path, bytes(data), super().write)


def watch(seam: Seam) -> None:
    """Watch what this process writes from here on. For a forked child only: it stays so."""

    def opened(
        file: Any,
        mode: str = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
        closefd: bool = True,
        opener: Callable[[str, int], int] | None = None,
    ) -> IO[Any]:
        path = path_of(file)
        if path is None or not seam.watches(path) or not {*"wax+"} & {*mode}:
            return _OPEN(file, mode, buffering, encoding, errors, newline, closefd, opener)
        raw = _Watched(seam, path, file, mode.replace("b", "").replace("t", ""), closefd, opener)
        if buffering == 0:
            return raw
        buffered = io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)
        if "b" in mode:
            return buffered
        return io.TextIOWrapper(buffered, encoding, errors, newline, line_buffering=buffering == 1)

    def write(file: int, data: Any) -> int:
        path = path_of(file)
        if path is None or not seam.watches(path):
            return _WRITE(file, data)
        return seam.written(path, bytes(data), partial(_WRITE, file)) or 0

    def rename(source: Any, target: Any, **given: Any) -> None:
        path = path_of(target) if not given else None
        if path is None or not seam.watches(path):
            _RENAME(source, target, **given)
        else:
            seam.renamed(path, lambda: _RENAME(source, target))

    doors: Any = (builtins, "open", opened), (io, "open", opened), (os, "write", write)
    for module, name, door in (*doors, (os, "rename", rename)):
        setattr(module, name, door)


def path_of(file: Any) -> Path | None:
    """The path of what is given to `open`: a descriptor has one too."""
    try:
        if isinstance(file, int):
            return Path(f"/proc/self/fd/{file}").readlink()
        return Path(os.fsdecode(file)).absolute()
    except OSError:
        return None
