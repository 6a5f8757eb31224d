"""`interlock context RUN`: what filled the window when a run ended, and what made room before.

A trace knows which messages stood in the window and what each level freed; what they say is in
the transcript. Looks at both once, and keeps of the transcript only what the window held.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Set
from pathlib import Path

from attrs import Factory, define

from fsm import Trace
from interlock import records
from interlock.closing import final_history
from interlock.context.collapse_store import CollapseStore
from interlock.context.gauge import fill, render
from interlock.context.microcompact import cleared
from interlock.context.trajectories import recent
from interlock.counted import counted
from interlock.errors import TranscriptError
from interlock.sessions import find
from interlock.sessions.runs import RunFile
from phases.world.limits import Limits
from phases.world.loop import Loop, Reason
from phases.world.messages import Message
from phases.world.states import ENDINGS, State


@define
class Passed:
    """What a trace tells of the window. The messages in it are blank."""

    loop: Loop
    state: State
    times: Counter[str] = Factory(Counter)  # by level
    freed: Counter[str] = Factory(Counter)  # tokens, by level
    reactive: int = 0  # compactions because the server, or our own limit, said no
    fullest: int = 0  # tokens of the largest view that was prepared
    cleared: set[str] = Factory(set)  # ids of messages whose old outputs were forgotten
    steps: int = 0
    stopped: str | None = None  # why the rest of the trace cannot be followed

    @property
    def view(self) -> tuple[Message, ...]:
        """What the session went on with; of a run that is not over, what it had so far."""
        if self.state in ENDINGS:
            return final_history(self.state, self.loop)
        return self.loop.now.view or self.loop.state.messages


def passed(trace: Trace) -> Passed:
    """Walk through a trace once, as far as it can be followed.

    Raises ValueError for one whose first step cannot.
    """
    found = Passed(records.loop_from(trace.header.start), State(trace.header.initial))
    try:
        _walk(trace, found)
    except ValueError as error:
        found.stopped = str(error)
    if found.stopped is None and found.steps < trace.steps:
        found.stopped = f"step {found.steps} cannot be read"
    if found.stopped is not None and not found.steps:
        raise ValueError(found.stopped)
    return found


def _walk(trace: Trace, found: Passed) -> None:
    for record, before, found.loop in records.loops_of(trace):
        found.steps += 1
        found.state = State(record.destination)
        found.reactive += record.reason == Reason.REACTIVE_COMPACT_RETRY
        if record.outcome != "Prepared":
            continue
        found.fullest = max(found.fullest, record.payload.get("size", 0))
        for one in record.payload.get("freed", ()):
            found.times[one["level"]] += 1
            found.freed[one["level"]] += one["tokens"]
            if one["level"] == "microcompact":
                history = before.state.messages
                end = recent(history, before.run.limits.microcompact_keep_turns)
                found.cleared.update(message.id for message in history[:end])


def told(trace: Trace, run: RunFile) -> Iterator[str]:
    """The report, line by line. Raises ValueError as `passed` does, and at its end for a trace
    that could be followed in part only."""
    found = passed(trace)
    how = f"ended: {trace.ending}" if trace.ending else f"not over, at {trace.path[-1]}"
    session = f", session {run.session_id}" if run.session_id else ""
    yield f"run {run.run_id}{session}; {how}"
    if found.stopped is not None:
        steps = counted(trace.steps, "step")
        yield f"as it was after {found.steps} of {steps}: the rest cannot be followed"
    try:
        view = _filled(found, run)
    except TranscriptError as error:
        yield f"what fills the window is not known: {error}"
    else:
        yield render(fill(view, found.loop))
    yield from _thresholds(found.loop.run.limits)
    yield f"fullest in this run: {found.fullest:,} tokens"
    yield from _made_room(found)
    if found.stopped is not None:
        raise ValueError(found.stopped)


def _filled(found: Passed, run: RunFile) -> tuple[Message, ...]:
    """The view with what its messages say; those that nobody wrote down stay blank."""
    if not run.session_id:
        raise TranscriptError(str(run.path), "lies in no session, so what was said is not at hand")
    folder = run.path.absolute().parent.parent
    view = found.view
    wanted = {message.id for message in view}
    known: Mapping[str, Message] = find(folder.with_suffix(".jsonl"), wanted)
    marks = _marks(folder / "collapses.jsonl", wanted)
    whole = [known.get(one.id) or marks.get(one.id) or one for one in view]
    end = next((n for n in range(len(whole), 0, -1) if whole[n - 1].id in found.cleared), 0)
    for at, message in cleared(whole, 0, end).items():
        whole[at] = message
    return tuple(whole)


def _marks(path: Path, wanted: Set[str]) -> dict[str, Message]:
    committed = CollapseStore(path).committed.values() if path.is_file() else ()
    return {one.id: one.mark for one in committed if one.id in wanted}


def _thresholds(limits: Limits) -> Iterator[str]:
    marks = {
        "warning": limits.warn_at,
        "autocompact": limits.compact_at,
        "hard limit": limits.hard_limit,
    }
    said = ", ".join(
        f"{name} from {at:,} ({at / limits.context_window:.0%})" for name, at in marks.items()
    )
    yield f"thresholds: {said}"


def _made_room(found: Passed) -> Iterator[str]:
    automatic = found.times["autocompact"]
    yield f"compactions: {automatic} automatic, {found.reactive} reactive"
    if not found.times:
        yield "no level of the context pipeline had to free anything"
        return
    yield "freed over the run"
    for level, times in found.times.most_common():
        often = "once" if times == 1 else f"{times:,} times"
        yield f"  {level:<14} {found.freed[level]:>12,} tokens, {often}"
