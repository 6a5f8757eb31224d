"""The window of one agent, and the recordings of what it asks of the world.

The same for the main agent and for its children; whose parts these are is their affair.
"""

from __future__ import annotations

from interlock.context.keepsakes import Keepsakes
from interlock.front import Line
from interlock.home import AgentPaths, SessionPaths
from interlock.permissions import ChildGate, Gate
from interlock.recording import Recordings
from interlock.running import Shared
from interlock.tools import FileReads
from interlock.window import surroundings


def recordings_of(
    shared: Shared,
    line: Line,
    *,
    gate: Gate | ChildGate,
    reads: FileReads,
    keepsakes: tuple[Keepsakes, ...],
    paths: SessionPaths | AgentPaths,
) -> Recordings:
    """`keepsakes` are what is put back beside a summary, before the recently read files."""
    settings, wanted = shared.settings, shared.options.record
    around = surroundings(
        model=line.ledger,
        count=line.adapter.count,
        clock=shared.clock,
        ids=shared.ids,
        hooks=shared.hooks,
        keepsakes=keepsakes,
        recent_files=reads.recent,
        hides=gate.hides,
        limits=settings.limits,
    )
    return Recordings.of(
        settings.record if wanted is None else wanted, around, paths, settings.features
    )
