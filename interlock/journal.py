"""Write down each step of a run: what was decided, why, and what it changed."""

from __future__ import annotations

from fsm import Step, TraceWriter, record_of
from interlock import records
from phases.world.loop import Loop
from phases.world.ports import Clock


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
