"""Git worktrees that agents work in: made, told, and taken away only when nothing is in them.

Read `record` for what is known of one, `making` for how it comes to be, `checking` for what is
looked at before it may go, `clearing` for how it goes. Knows git and files; nothing of agents.
"""

from interlock.worktrees.checking import Examined, examined
from interlock.worktrees.clearing import Cleared, cleared, swept
from interlock.worktrees.git import GitFailed
from interlock.worktrees.making import NoWorktree, made
from interlock.worktrees.record import Busy, Worktree, all_of, folder_for, held
from interlock.worktrees.telling import told

__all__ = [
    "Busy",
    "Cleared",
    "Examined",
    "GitFailed",
    "NoWorktree",
    "Worktree",
    "all_of",
    "cleared",
    "examined",
    "folder_for",
    "held",
    "made",
    "swept",
    "told",
]
