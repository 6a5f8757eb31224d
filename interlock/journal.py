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
from interlock.durability import Moment, mend_of
from interlock.errors import CallsError, TraceFileError
from interlock.quiet import Quiet
from interlock.sessions.transcript import Transcript, private_folder, unwritable
from interlock.table import LOOP
from interlock.tools.lifecycle import TOOL_CALL, CallFacts, CallState
from phases.world.loop import Loop
from phases.world.ports import Clock
from phases.world.updates import Notice, Show, Update

_log = Quiet("interlock.loop")


def opened_trace(path: Path, loop: Loop) -> TraceWriter:
    """The trace of a run that begins. Raises TraceFileError where it cannot be written."""
    header = header_of(
        LOOP, chain_id=loop.run.chain_id, depth=loop.run.depth, start=records.start(loop)
    )
    try:
        private_folder(path.parent)
        return TraceWriter(header, path, log=_log.debug)
    except OSError as error:
        raise unwritable(path, error, TraceFileError) from error


def _why(error: OSError) -> str:
    return f"cannot be written: {error.strerror or error}; {mend_of(error)}"


def _nobody(update: Update) -> None:
    """Nobody watches."""


@define(eq=False)
class Journal:
    """The trace of one run. A step is in the file before the next one begins.

    Nothing that happens later rests on it, so a trace that cannot go on is told, and the run goes
    on without: its file then ends with the last whole step.
    """

    _writer: TraceWriter
    _clock: Clock
    _transcript: Transcript | None = None  # whose disk it is written to
    _show: Show = _nobody
    _lost: bool = False

    def taken(self, step: Step[Loop]) -> None:
        if self._lost:
            return
        run = step.before.run
        record = record_of(
            step,
            sequence=self._writer.next_sequence,
            time=self._clock.time(),
            payload=records.payload(step.outcome, step.before),
            changed=records.changes(step.before, step.after),
            chain_id=run.chain_id,
            depth=run.depth,
        )
        try:
            self._writer.write(record)
            if self._transcript is not None and self._transcript.disk.wants(Moment.RECORD):
                self._writer.sync(self._transcript.disk.sync)
        except OSError as error:
            self._lost = True
            words = "explain and replay will see this run up to here: its trace"
            self._show(Notice("warning", f"{words} {_why(error)}"))


@define(eq=False)
class CallJournal:
    """The calls of one run, beside its trace. The file is made with the first call.

    A step is in the file before the call goes on. So for a call that had begun when the process
    went away, the file says so, and for one that had not, that it had not. One that changes
    something begins when the disk has that and the reply it stands in, if the policy wants it.
    """

    _run: TraceWriter
    _path: Path  # the run's trace
    _clock: Clock
    _transcript: Transcript | None = None  # where the replies are
    _known: set[str] = field(factory=set)  # calls whose facts are written
    _writer: TraceWriter | None = None
    _named: bool = False  # the disk knows the file by its name

    def taken(self, step: Step[CallFacts]) -> None:
        """Raises CallsError, and then the step must not be taken."""
        try:
            self._write(step)
        except OSError as error:
            where = call_records.beside(self._path)
            raise unwritable(where, error, CallsError) from error

    def _write(self, step: Step[CallFacts]) -> None:
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
        if self._transcript is not None:
            self._settle(self._writer, self._transcript, step)

    def _settle(self, writer: TraceWriter, transcript: Transcript, step: Step[CallFacts]) -> None:
        begins = step.edge.destination is CallState.RUNNING and step.before.effects
        moment, disk = Moment.EFFECT if begins else Moment.RECORD, transcript.disk
        if not disk.wants(moment):
            return
        transcript.settle(moment)
        for trace in (self._run, writer):  # the run's says whether it received this reply
            trace.sync(disk.sync)
        if not self._named:
            runs = self._path.parent
            disk.sync_folders((runs, runs.parent, runs.parent.parent))
            self._named = True

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
