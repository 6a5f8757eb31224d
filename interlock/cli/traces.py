"""The trace of a run, read for a command: from its file, or out of a recording that holds it.

What is damaged is told on stderr, and the command goes on with the rest.
"""

from __future__ import annotations

from pathlib import Path

from attrs import evolve

from fsm import Trace, TraceError, read_trace
from interlock.call_records import Calls, calls_of
from interlock.cli.main import complain
from interlock.counted import counted
from interlock.errors import UsageError
from interlock.sessions.runs import RunFile, is_recording
from interlock.table import LOOP

_TOLD = 5  # lines of a file: the sixth tells nothing new


def trace_of(found: RunFile) -> Trace:
    """Raises TraceError, RecordingError, OSError."""
    trace = _unpacked(found)
    if not trace.header.made_up:
        return trace
    from interlock.machines import MACHINES

    machine = MACHINES.get(trace.header.machine)
    endings = tuple(sorted(ending.value for ending in machine.endings)) if machine else ()
    return evolve(trace, header=evolve(trace.header, endings=endings))


def loop_trace_of(found: RunFile) -> Trace:
    """The same, where only that of the loop will do."""
    trace = trace_of(found)
    if trace.header.machine != LOOP.name:
        raise UsageError(f"{found.path}: a trace of {trace.header.machine}, not of {LOOP.name}")
    return trace


def lines_of(found: RunFile) -> bytes:
    """The bytes of its trace."""
    if not is_recording(found.path):
        return found.path.read_bytes()
    from interlock.recording.reading import read_recording

    recording = read_recording(found.path)
    if recording.bare:
        words = f"the trace stood behind that; try: interlock replay {found.path}"
        raise UsageError(f"{recording.damage}; {words}")
    return recording.trace.encode("utf-8", "surrogateescape")


def _unpacked(found: RunFile) -> Trace:
    if not is_recording(found.path):
        return read_trace(found.path)
    import tempfile

    with tempfile.TemporaryDirectory(prefix="interlock-") as folder:
        path = Path(folder) / "trace"
        path.write_bytes(lines_of(found))
        where = f"the trace in {found.path}"
        try:
            trace = read_trace(path)
        except TraceError as error:
            raise TraceError(where, error.problem) from error
    return evolve(trace, damage=tuple(each.replace(str(path), where) for each in trace.damage))


def calls_beside(found: RunFile) -> Calls:
    try:
        return calls_of(found.path)
    except ValueError as error:
        raise UsageError(str(error)) from error


def tell_damage(*files: Trace | Calls) -> bool:
    """On stderr what is wrong with these; whether anything was lost by it."""
    for each in files:
        for line in each.damage[:_TOLD]:
            complain(line)
        more = len(each.damage) - _TOLD
        if more > 0:
            complain(f"and {counted(more, 'more line')} of this file")
    return any(each.lossy for each in files)
