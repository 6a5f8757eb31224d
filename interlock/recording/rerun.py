"""Run a recorded run once more: real phases, real driver, a real transcript and a real trace.

The context pipeline is the real one too, around what the world answered it; else the ports are
played. Then the two files are held against the recorded ones, byte for byte;
of a header, only what this version knows beyond the recorded one may differ, and it is told.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import zip_longest
from pathlib import Path
from typing import Any

import anyio
import attrs
import orjson
from attrs import define, evolve, frozen

from fsm import TraceWriter, header_of
from interlock import records
from interlock.drive import Finished, Ports, drive
from interlock.journal import Journal
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
class Difference:
    """The first line at which a file came out otherwise; None: one of them ends before it."""

    file: str  # "transcript" or "trace"
    line: int
    recorded: str | None
    now: str | None


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
    notes, expected = _header_notes(recording.trace, trace)
    told = recording.transcript
    if player.went_away:
        # What followed its last answer it may not have come to write; others have, behind it.
        told = _as_far_as_known(told, added, (written.settled or written.size) - len(before))
        expected += _unwritten(expected, trace)
    difference = _difference("transcript", told, added)
    return Rerun(
        recording=recording,
        transcript=added,
        trace=trace,
        steps=max(trace.count("\n") - 1, 0),
        parting=player.parting,
        difference=_difference("trace", expected, trace) or difference,
        notes=notes,
        updates=tuple(updates),
        finished=ended[0] if ended else None,
        went_away=player.went_away,
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


def _as_far_as_known(told: str, added: str, settled: int) -> str:
    """The recorded transcript where it is known; beyond that, what we have made ourselves."""
    sure = added.encode("utf-8", "surrogateescape")[:settled].decode("utf-8", "surrogateescape")
    return told[: len(sure)] + added[len(sure) :]


def _unwritten(recorded: str, now: str) -> str:
    """The last record, where the process went away before it was written."""
    return now[len(recorded) :] if now.startswith(recorded) else ""


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


# --- what came of it -------------------------------------------------------------------------


def _difference(file: str, recorded: str, now: str) -> Difference | None:
    if recorded == now:
        return None
    pairs = zip_longest(recorded.splitlines(), now.splitlines())
    for line, (then, made) in enumerate(pairs, start=1):
        if then != made:
            return Difference(file=file, line=line, recorded=then, now=made)
    return Difference(file=file, line=recorded.count("\n") + 1, recorded="", now=None)


def _header_notes(recorded: str, now: str) -> tuple[tuple[str, ...], str]:
    """What the two headers differ in and may; and the trace to be held against ours."""
    then_line, _, rest = recorded.partition("\n")
    now_line = now.partition("\n")[0]
    if then_line == now_line:
        return (), recorded
    then, made = orjson.loads(then_line), orjson.loads(now_line)
    notes = []
    if then.get("table") != made["table"]:
        notes.append(f"made by another table, {then.get('table')}")
    new = _unknown_then(then.get("start"), made["start"])
    if new:
        notes.append(f"settings that are new since: {', '.join(new)}")
    if then | {"table": made["table"], "start": _filled(then.get("start"), made["start"])} != made:
        return (), recorded
    return tuple(notes), f"{now_line}\n{rest}"


def _filled(then: Any, now: Any) -> Any:
    """`then`, with what only `now` has."""
    if not isinstance(then, dict) or not isinstance(now, dict):
        return then
    return now | {key: _filled(value, now.get(key)) for key, value in then.items()}


def _unknown_then(then: Any, now: Any) -> list[str]:
    if not isinstance(then, dict) or not isinstance(now, dict):
        return []
    new = [key for key in now if key not in then]
    return new + [each for key in then for each in _unknown_then(then[key], now.get(key))]


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
        found = rerun.difference
        lines += [f"the {found.file} parts at line {found.line}:"]
        lines += [f"  {side}" for side in _beside(found.recorded, found.now)]
    return "".join(f"{line}\n" for line in lines)


def _beside(recorded: str | None, now: str | None, width: int = 100) -> list[str]:
    """Two long lines by the place where they begin to differ."""
    if recorded is None or now is None:
        return [f"recorded  {_cut(recorded, 0, width)}", f"now       {_cut(now, 0, width)}"]
    pairs = enumerate(zip(recorded, now, strict=False))
    at = next((n for n, (one, other) in pairs if one != other), min(len(recorded), len(now)))
    start = max(at - width // 2, 0)
    cells = [_cut(recorded, start, width), _cut(now, start, width)]
    mark = " " * (at - start + len("recorded  ") + bool(start)) + "^"
    return [f"recorded  {cells[0]}", f"now       {cells[1]}", mark]


def _cut(text: str | None, start: int, width: int) -> str:
    if text is None:
        return "(ends before)"
    shown = text[start : start + width]
    return f"{'…' if start else ''}{shown}{'…' if start + width < len(text) else ''}"
