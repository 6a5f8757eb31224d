"""Run a recorded run once more: real phases, real driver, a real transcript and a real trace.

The context pipeline is the real one too, around what the world answered it; else the ports are
played. Then the two files are held against the recorded ones, byte for byte (see `compared`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import attrs
from attrs import define, evolve, frozen

from fsm import TraceWriter, header_of
from interlock import records
from interlock.drive import Finished, Ports, drive
from interlock.journal import Journal
from interlock.recording.compared import Difference, compared, side_by_side
from interlock.recording.form import Recording, RecordingError
from interlock.recording.player import (
    OPTIONAL,
    Parted,
    Parting,
    PlayedClock,
    PlayedExecutor,
    PlayedHistory,
    PlayedIds,
    PlayedInterrupt,
    PlayedModel,
    PlayedSummaries,
    Player,
    WentAway,
)
from interlock.recording.surrounded import window_of
from interlock.sessions import Transcript
from interlock.sessions.facts import Facts
from interlock.table import LOOP
from interlock.window import Window
from phases.world.loop import Loop, Run
from phases.world.updates import Update


@frozen(kw_only=True)
class Rerun:
    """What came of a run that was run again."""

    recording: Recording
    transcript: str  # what this run added to it
    trace: str
    steps: int
    parting: Parting | None
    difference: Difference | None
    notes: tuple[str, ...] = ()  # what is new since, and changed nothing
    updates: tuple[Update, ...] = ()
    finished: Finished | None = None
    went_away: bool = False  # the recorded run's process, before the run was over
    unread: tuple[int, ...] = ()  # lines of the recorded trace that are damaged, so not compared

    @property
    def identical(self) -> bool:
        """Whether it is the same run, to the byte."""
        return self.parting is None and self.difference is None


def _as_it_was(run: Run) -> Run:
    return run


async def rerun(
    recording: Recording, folder: Path, changed: Callable[[Run], Run] = _as_it_was
) -> Rerun:
    """Run it again; its files are written into `folder`, which must be empty.

    With settings that are `changed`, where it is to be seen what would be otherwise.
    Raises RecordingError for a recording that cannot be played.
    """
    try:
        return await _played(recording, folder, changed)
    except WentAway as error:
        words = "ends before the run begins: there is nothing to run again"
        raise RecordingError(recording.name, words) from error
    except (ValueError, KeyError, TypeError) as error:
        raise RecordingError(recording.name, f"cannot be played: {error}") from error


async def _played(recording: Recording, folder: Path, changed: Callable[[Run], Run]) -> Rerun:
    transcript_path, trace_path = folder / "session.jsonl", folder / "run.trace.jsonl"
    before = recording.before.encode("utf-8", "surrogateescape")
    if before:
        transcript_path.write_bytes(before)
    ended: list[Finished] = []
    updates: list[Update] = []
    written = Written(transcript_path)
    with anyio.CancelScope() as outside:
        player = Player(recording, outside)
        loop: Loop = player.pool.decoded(player.take("begin"), Loop)
        loop = evolve(loop, run=changed(loop.run))
        transcript = _transcript(player, recording.header["facts"], written, updates)
        window = None
        if "results" in recording.header:
            results = Path(recording.header["results"])
            window = window_of(player, results, loop.run.features, updates.append)
        ports = _ports(player, transcript, updates, window)
        header = header_of(
            LOOP, chain_id=loop.run.chain_id, depth=loop.run.depth, start=records.start(loop)
        )
        with TraceWriter(header, trace_path) as writer:
            taken = Journal(writer, PlayedClock(player)).taken
            with suppress(Parted, WentAway):  # the player knows where
                await drive(loop, ports, taken, ended.append)
    added = written.text(behind=len(before))
    transcript.close()
    trace = trace_path.read_text("utf-8", "surrogateescape")
    left = player.left()
    if player.parting is None and left is not None:
        player.part(left, "(the run was over)")
    settled = None
    if player.went_away:
        settled = (written.settled or written.size) - len(before)
    found = compared(recording, added, trace, settled)
    return Rerun(
        recording=recording,
        transcript=added,
        trace=trace,
        steps=max(trace.count("\n") - 1, 0),
        parting=player.parting,
        difference=found.difference,
        notes=found.notes,
        updates=tuple(updates),
        finished=ended[0] if ended else None,
        went_away=player.went_away,
        unread=found.unread,
    )


@define
class Written:
    """The transcript of a rerun, and how much of it was written when the answers gave out."""

    path: Path
    settled: int | None = None  # None: all of it

    @property
    def size(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0

    def text(self, behind: int) -> str:
        data = self.path.read_bytes() if self.path.exists() else b""
        return data[behind:].decode("utf-8", "surrogateescape")


def _transcript(
    player: Player, facts: Mapping[str, Any], written: Written, updates: list[Update]
) -> Transcript:
    def now() -> float:
        time = float(player.take("transcript.now"))
        if player.at_the_end():  # what is written now may not have been
            written.settled = written.size
        return time

    transcript = Transcript(
        written.path,
        session_id=facts["session_id"],
        cwd=written.path.parent,
        show=updates.append,
        now=now,
    )
    known = {each.name for each in attrs.fields(Facts)}
    transcript.facts = Facts(**{key: facts[key] for key in facts if key in known})
    return transcript


def _ports(
    player: Player, transcript: Transcript, updates: list[Update], window: Window | None
) -> Ports:
    present = player.take("ports")
    optional: dict[str, Any] = {name: OPTIONAL[name](player) for name in present["played"]}
    if window is not None:
        optional |= {name: getattr(window, name) for name in present["run"]}
    return Ports(
        model=PlayedModel(player),
        executor=PlayedExecutor(player, transcript.record_results),
        history=PlayedHistory(player, transcript),
        interrupt=PlayedInterrupt(player),
        clock=PlayedClock(player),
        ids=PlayedIds(player),
        show=updates.append,
        summaries=PlayedSummaries(player),
        **optional,
    )


def render(rerun: Rerun) -> str:
    """Where it parted first, the two side by side; nothing for one that is the same."""
    lines = []
    if rerun.parting is not None:
        parting = rerun.parting
        lines += [
            f"what is asked of the world parts at answer {parting.line}:",
            f"  recorded  {parting.recorded}",
            f"  now       {parting.now}",
        ]
    if rerun.difference is not None:
        lines += side_by_side(rerun.difference)
    return "".join(f"{line}\n" for line in lines)
