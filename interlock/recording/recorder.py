"""The recordings of a session, one for each of its runs: begun, ended, packed.

A run that is not to be recorded has no wrappers at all. What an earlier recording of this process
has written of the history, the next one names; so a session's recordings grow with what is said.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path
from typing import IO, Protocol

import attrs
from attrs import define, frozen

from interlock import __version__
from interlock.context.surroundings import Surroundings
from interlock.drive import Ports
from interlock.home import AgentPaths, SessionPaths
from interlock.recording.codec import Pool
from interlock.recording.form import VERSION
from interlock.recording.outer import Spool, noted
from interlock.recording.tape import Tape
from interlock.recording.wrapped import on_tape, timed
from interlock.sessions import Transcript
from interlock.sessions.runs import PACKED, RECORDING, run_of
from interlock.window import Window
from phases.world.loop import Features, Loop
from phases.world.messages import Message
from phases.world.ports import Clock, Interrupt
from phases.world.updates import Notice, Show

Results = Callable[[tuple[Message, ...]], Awaitable[None]]

_LINKS = 50  # recordings that stand on one another: so many files are read for the last of them
_WORTH_PACKING = 4096  # bytes: a smaller file takes no less of a disk


class Recorder(Protocol):
    """What a prompt is run through: as it is, or written down on the way."""

    def ports(self, ports: Ports) -> Ports: ...
    def clock(self, clock: Clock) -> Clock: ...
    def results(self, record: Results) -> Results: ...


class NotRecorded:
    """It is not wanted, or cannot be."""

    def ports(self, ports: Ports) -> Ports:
        return ports

    def clock(self, clock: Clock) -> Clock:
        return clock

    def results(self, record: Results) -> Results:
        return record


Recorders = AbstractContextManager[Recorder]


@frozen
class _OnTape:
    tape: Tape

    def ports(self, ports: Ports) -> Ports:
        return on_tape(self.tape, ports)

    def clock(self, clock: Clock) -> Clock:
        return timed(self.tape, clock)

    def results(self, record: Results) -> Results:
        async def recorded(messages: tuple[Message, ...]) -> None:
            self.tape.gave("executor.results", self.tape.pool.encoded(messages))
            await record(messages)

        return recorded


@define(kw_only=True)
class Recordings:
    """Those of one session, and what keeps its window: that notes what it asks of the world."""

    wanted: bool
    window: Window
    results: Path
    spool: Spool
    _pool: Pool | None = None  # what the newest one and those before it have written
    _newest: str | None = None
    _links: int = 0

    @classmethod
    def of(
        cls,
        wanted: bool,
        around: Surroundings,
        paths: SessionPaths | AgentPaths,
        features: Features,
    ) -> Recordings:
        spool, results = Spool(), paths.tool_results
        window = Window.of(
            noted(spool, around) if wanted else around,
            results=results,
            collapses=paths.collapses,
            features=features,
        )
        return cls(wanted=wanted, window=window, results=results, spool=spool)

    @contextmanager
    def run(
        self, trace: Path, loop: Loop, transcript: Transcript, interrupt: Interrupt, show: Show
    ) -> Iterator[Recorder]:
        """The recorder of a run whose trace is `trace`; its file lies beside that one."""
        path = trace.with_name(run_of(trace) + RECORDING)
        file = self._begun(path, show) if self.wanted else None
        if file is None:
            yield NotRecorded()
            return
        with closing(Tape(file, interrupt, self._continued())) as tape:
            self._head(tape, path, loop, transcript)
            was, transcript.now = transcript.now, _noting_time(tape, transcript.now)
            self.spool.tape = tape
            try:
                yield _OnTape(tape)
            finally:  # also where it was cancelled: it has come to an ending then
                transcript.now, self.spool.tape = was, None
                tape.put({"to": _size(transcript.path)})
                tape.flush()
        self._ended(path, tape, show)

    def _begun(self, path: Path, show: Show) -> IO[bytes] | None:
        try:
            return open(path, "xb", opener=private)
        except OSError as error:
            show(_unwritten(path, error))
            return None

    def _continued(self) -> Pool:
        if self._pool is None or self._links >= _LINKS:
            self._pool, self._newest, self._links = Pool.writing(), None, 0
        return self._pool

    def _head(self, tape: Tape, path: Path, loop: Loop, transcript: Transcript) -> None:
        tape.put(
            {
                "recording": VERSION,
                "interlock": __version__,
                "facts": attrs.asdict(transcript.facts),
                "session": os.path.relpath(transcript.path, path.parent),
                "from": _size(transcript.path),
                "after": self._newest,
                "results": str(self.results),
            }
        )
        tape.gave("begin", tape.pool.encoded(loop))
        memory = tape.pool.encoded(self.window.memory)
        tape.gave("window", {"memory": memory, **self.spool.present})

    def _ended(self, path: Path, tape: Tape, show: Show) -> None:
        if tape.problem is not None:
            show(_unwritten(path, tape.problem))
            self._pool = None  # not all that it knows of stands in the file
            return
        self._newest, self._links = run_of(path), self._links + 1
        tape.pool.forget_what_is_gone()
        with suppress(OSError):  # it can be read as it is
            _pack(path)


def _pack(path: Path) -> None:
    """Only what is over is packed: a packed file could not be read behind a crash."""
    if path.stat().st_size < _WORTH_PACKING:
        return
    import zlib

    part = path.with_name(f"{run_of(path)}{PACKED}.part")
    packing = zlib.compressobj(level=1, wbits=31)
    try:
        with path.open("rb") as whole, open(part, "xb", opener=private) as out:
            while piece := whole.read(1 << 20):
                out.write(packing.compress(piece))
            out.write(packing.flush())
        part.rename(path.with_name(run_of(path) + PACKED))
    except OSError:
        part.unlink(missing_ok=True)
        raise
    path.unlink()


def _noting_time(tape: Tape, now: Callable[[], float]) -> Callable[[], float]:
    return lambda: tape.at_once("transcript.now", now)


def private(path: str, flags: int) -> int:
    """For `open`: what was said is for its owner's eyes only."""
    return os.open(path, flags, 0o600)


def _unwritten(path: Path, error: OSError) -> Notice:
    words = f"this run is not recorded: {path} cannot be written: {error.strerror or error}"
    return Notice("warning", words)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:  # nothing was said yet
        return 0
