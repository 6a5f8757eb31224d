"""What a bash command line would run, told from its syntax tree: commands, files, doubts.

Knows bash; knows nothing of rules, modes or folders. Read `line.py` for the pieces, then
`reading.py` for how they are found.
"""

from interlock.permissions.shell.line import Command, File, Reading, Word
from interlock.permissions.shell.reading import read

__all__ = ["Command", "File", "Reading", "Word", "read"]
