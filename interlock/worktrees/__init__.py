"""Git worktrees that agents work in: made, told, and taken away only when nothing is in them.

Read `record` for what is known of one, `making` for how it comes to be, `checking` for what is
looked at before it may go, `clearing` for how it goes. Knows git and files; nothing of agents.
"""

from interlock.worktrees.checking import Examined, examined
from interlock.worktrees.clearing import Cleared, cleared, looked_at, swept
from interlock.worktrees.git import GitFailed
from interlock.worktrees.making import (
    BRANCHES,
    Ground,
    NoWorktree,
    Wanted,
    common_of,
    ground_of,
    made,
    planned,
)
from interlock.worktrees.record import Busy, Worktree, all_of, folder_for, held, tell
from interlock.worktrees.telling import left, told

__all__ = [
    "BRANCHES",
    "Busy",
    "Cleared",
    "Examined",
    "GitFailed",
    "Ground",
    "NoWorktree",
    "Wanted",
    "Worktree",
    "all_of",
    "cleared",
    "common_of",
    "examined",
    "folder_for",
    "ground_of",
    "held",
    "left",
    "looked_at",
    "made",
    "planned",
    "swept",
    "tell",
    "told",
]
