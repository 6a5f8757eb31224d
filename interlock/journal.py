"""Write down each step of a run: what was decided, why, and what it changed.

The calls of a run have machines of their own; their steps go into a file beside its trace.
"""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Self

from attrs import define, field

from fsm import Step, TraceWriter, header_of, record_of
from interlock import call_records, records
from interlock.errors import TranscriptError
from interlock.quiet import Quiet
from interlock.sessions.transcript import private_folder
from interlock.table import LOOP
from interlock.tools.lifecycle import TOOL_CALL, CallFacts
from phases.world.loop import Loop
from phases.world.ports import Clock

_log = Quiet("interlock.loop")


def opened_trace(path: Path, loop: Loop) -> TraceWriter:
    """The trace of a run that begins. Raises TranscriptError where it cannot be written."""
    header = header_of(
        LOOP, chain_id=loop.run.chain_id, depth=loop.run.depth, start=records.start(loop)
    )
    try:
        private_folder(path.parent)
        return TraceWriter(header, path, log=_log.debug)
    except OSError as error:
        why = error.strerror or error
        problem = f"cannot be written: {why}; set INTERLOCK_HOME to a folder that can"
        raise TranscriptError(str(error.filename or path), problem) from error


class Journal:
    """The trace of one run. A step is in the file before the next one begins."""

    def __init__(self, writer: TraceWriter, clock: Clock) -> None:
        self._writer = writer
        self._clock = clock

    def taken(self, step: Step[Loop]) -> None:
        run = step.before.run
        self._writer.write(
            record_of(
                step,
                sequence=self._writer.next_sequence,
                time=self._clock.time(),
                payload=records.payload(step.outcome, step.before),
                changed=records.changes(step.before, step.after),
                chain_id=run.chain_id,
                depth=run.depth,
            )
        )


@define(eq=False)
class CallJournal:
    """The calls of one run, beside its trace. The file is made with the first call.

    A step is in the file before the call goes on. So for a call that had begun when the process
    went away, the file says so, and for one that had not, that it had not.
    """

    _run: TraceWriter
    _path: Path  # the run's trace
    _clock: Clock
    _known: set[str] = field(factory=set)  # calls whose facts are written
    _writer: TraceWriter | None = None

    def taken(self, step: Step[CallFacts]) -> None:
        header, call = self._run.header, step.before.id
        if self._writer is None:
            own = header_of(TOOL_CALL, chain_id=header.chain_id, depth=header.depth, start=None)
            self._writer = TraceWriter(own, call_records.beside(self._path))
        under = self._run.next_sequence
        self._writer.write(
            record_of(
                step,
                sequence=self._writer.next_sequence,
                time=self._clock.time(),
                payload=call_records.payload(step, under, first=call not in self._known),
                changed=call_records.changes(step.before, step.after),
                chain_id=header.chain_id,
                depth=header.depth,
            )
        )
        self._known.add(call)
        if step.edge.destination in TOOL_CALL.endings:
            self._known.discard(call)  # another reply may use the id again

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._writer is not None:
            self._writer.close()
