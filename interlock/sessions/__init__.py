"""Sessions on disk: the transcript, the way back from it, and where recorded runs lie."""

from interlock.sessions.facts import Facts
from interlock.sessions.forking import Forked, fork, origins
from interlock.sessions.listing import Listed, newest_session, session_named, sessions_in
from interlock.sessions.reading import Reading, find, in_call_order, read, read_messages
from interlock.sessions.transcript import Transcript

__all__ = [
    "Facts",
    "Forked",
    "Listed",
    "Reading",
    "Transcript",
    "find",
    "fork",
    "in_call_order",
    "newest_session",
    "origins",
    "read",
    "read_messages",
    "session_named",
    "sessions_in",
]
