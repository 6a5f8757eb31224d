"""Sessions on disk: the transcript, the way back from it, and where recorded runs lie."""

from interlock.sessions.branches import Family, Part, family_of
from interlock.sessions.ends import Listed
from interlock.sessions.facts import Facts
from interlock.sessions.forking import Forked, fork, origins
from interlock.sessions.holding import delete, insist_on_usable
from interlock.sessions.kin import Node, kin_of, tree_of
from interlock.sessions.listing import (
    all_sessions,
    newest_session,
    session_anywhere,
    session_named,
    sessions_in,
)
from interlock.sessions.names import rename, tag
from interlock.sessions.points import Point, Points, marker_of, points_of
from interlock.sessions.reading import Reading, find, in_call_order, read, read_messages
from interlock.sessions.transcript import Transcript

__all__ = [
    "Facts",
    "Family",
    "Forked",
    "Listed",
    "Node",
    "Part",
    "Point",
    "Points",
    "Reading",
    "Transcript",
    "all_sessions",
    "delete",
    "family_of",
    "find",
    "fork",
    "in_call_order",
    "insist_on_usable",
    "kin_of",
    "marker_of",
    "newest_session",
    "origins",
    "points_of",
    "read",
    "read_messages",
    "rename",
    "session_anywhere",
    "session_named",
    "sessions_in",
    "tag",
    "tree_of",
]
