"""Sessions on disk: the transcript, the way back from it, and where recorded runs lie."""

from interlock.sessions.facts import Facts
from interlock.sessions.forking import Forked, fork
from interlock.sessions.listing import Listed, newest_session, session_named, sessions_in
from interlock.sessions.points import Point, Points, marker_of, points_of
from interlock.sessions.reading import Reading, find, read, read_messages
from interlock.sessions.transcript import Transcript

__all__ = [
    "Facts",
    "Forked",
    "Listed",
    "Point",
    "Points",
    "Reading",
    "Transcript",
    "find",
    "fork",
    "marker_of",
    "newest_session",
    "points_of",
    "read",
    "read_messages",
    "session_named",
    "sessions_in",
]
