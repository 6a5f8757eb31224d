"""A recorded run, run again under other settings: where it would have done something else.

Up to there it is the same run, its context pipeline included. From the first question that the
recorded run did not ask nobody knows the answer, so nothing is said of what would have come.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from attrs import frozen

from fsm import Record, Trace, read_trace
from interlock.recording.form import Recording
from interlock.recording.rerun import rerun
from phases.world.loop import Run


@frozen(kw_only=True)
class Otherwise:
    """The first thing that would have been done otherwise, in the step with this number."""

    step: int
    state: str
    recorded: str
    now: str


async def otherwise(recording: Recording, changed: Callable[[Run], Run]) -> Otherwise | None:
    """Where this run parts from the recorded one under `changed` settings; None: nowhere.

    Raises RecordingError.
    """
    with tempfile.TemporaryDirectory(prefix="interlock-") as folder:
        again = await rerun(recording, Path(folder), changed)
        now = read_trace(Path(folder) / "run.trace.jsonl")
        Path(folder, "then").write_bytes(recording.trace.encode("utf-8", "surrogateescape"))
        then = read_trace(Path(folder) / "then")
    recorded = {each.sequence: each for each in then}  # a damaged line is not there
    for other in now:
        one = recorded.get(other.sequence, other)
        if _way(one) != _way(other):
            step = other.sequence
            return Otherwise(step=step, state=one.source, recorded=_way(one), now=_way(other))
    if again.parting is None:
        return None
    step = len(now.records)
    return Otherwise(
        step=step,
        state=_state(now, then, step),
        recorded=_words(again.parting.recorded),
        now=_words(again.parting.now),
    )


def _way(record: Record) -> str:
    return f"goes to {record.destination}"


def _state(now: Trace, then: Trace, step: int) -> str:
    if now.records:
        return now.records[-1].destination
    return then.records[step].source if step < len(then.records) else "(the end)"


_WORDS = {
    "model.ask": "asks the model",
    "context.refusal": "is about to compact the history",
    "context.count": "asks the server how large the history is",
    "context.keepsakes": "gathers what is kept beside a summary",
    "shelf.put": "puts the whole of a long result aside",
    "shelf.has": "looks for the whole of a long result",
    "clock.sleep": "waits",
    "clock.time": "goes on to the next step",
    "executor.begin": "goes on to the next request",
}


def _words(said: str) -> str:
    return _WORDS.get(said, said)


def told(found: Otherwise, of: int) -> str:
    """Both sides, and what cannot be known."""
    return (
        f"in step {found.step} of {of}, {found.state}:\n"
        f"  recorded  {found.recorded}\n"
        f"  now       {found.now}\n"
        "  what would have come of that cannot be known: it was never answered\n"
    )
