"""Sessions on disk: the transcript, the way back from it, and where recorded runs lie."""

from interlock.sessions.facts import Facts
from interlock.sessions.reading import Reading, find, read, read_messages
from interlock.sessions.transcript import Transcript

__all__ = ["Facts", "Reading", "Transcript", "find", "read", "read_messages"]
