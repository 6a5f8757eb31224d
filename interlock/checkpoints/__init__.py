"""Checkpoints of the agent's own file changes, and the way back to them.

What keeps them is here. The way back is in `plan`, `restore` and `shown`, for whoever goes it.
"""

from interlock.checkpoints.carrying import carry_over
from interlock.checkpoints.contents import Contents
from interlock.checkpoints.keeper import Checkpoints
from interlock.checkpoints.log import Kept, Log, damage_of, read_log

__all__ = ["Checkpoints", "Contents", "Kept", "Log", "carry_over", "damage_of", "read_log"]
