"""What the agent is told about the project and remembers of it, from files."""

from interlock.memory.files import NoteFile, found, told

__all__ = ["NoteFile", "found", "told"]
