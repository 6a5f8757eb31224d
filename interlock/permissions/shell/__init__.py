"""What a bash command line would run, told from its syntax tree: commands, files, doubts.

Knows bash; knows nothing of rules, modes or folders. Read `line.py` for the pieces, then
`reading.py` for how they are found; it is imported with the first line, since most of it are
tables and patterns that a session without shell lines never asks.
"""

from interlock.permissions.shell.line import SAFE_NAMES, Command, File, Reading, Word


def read(line: str) -> Reading:
    """What the line would run. Any line has an answer; what cannot be read has a doubt."""
    from interlock.permissions.shell import reading

    return reading.read(line)


__all__ = ["SAFE_NAMES", "Command", "File", "Reading", "Word", "read"]
