"""Checkpoints of the agent's own file changes, and the way back to them."""

from interlock.checkpoints.carrying import carry_over
from interlock.checkpoints.contents import Contents
from interlock.checkpoints.keeper import Checkpoints
from interlock.checkpoints.log import Kept, Log, damage_of, read_log
from interlock.checkpoints.plan import Back, Left, Plan, Present, planned
from interlock.checkpoints.restore import Restored, current, present, restored
from interlock.checkpoints.shown import NOT_COVERED, lines_of

__all__ = [
    "NOT_COVERED",
    "Back",
    "Checkpoints",
    "Contents",
    "Kept",
    "Left",
    "Log",
    "Plan",
    "Present",
    "Restored",
    "carry_over",
    "current",
    "damage_of",
    "lines_of",
    "planned",
    "present",
    "read_log",
    "restored",
]
