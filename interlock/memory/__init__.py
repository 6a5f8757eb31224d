"""What the agent is told about the project and remembers of it, from files."""

from interlock.memory.auto import AutoMemory, beginning, project_of
from interlock.memory.excluding import Excluded, problem_of
from interlock.memory.files import Places, at_start, found, told, told_in
from interlock.memory.lazily import LazyNotes
from interlock.memory.note_file import NoteFile
from interlock.memory.relevant import Topic, manifest, relevant
from interlock.memory.withheld import Withheld

__all__ = [
    "AutoMemory",
    "Excluded",
    "LazyNotes",
    "NoteFile",
    "Places",
    "Topic",
    "Withheld",
    "at_start",
    "beginning",
    "found",
    "manifest",
    "problem_of",
    "project_of",
    "relevant",
    "told",
    "told_in",
]
