"""`interlock demo`: the whole of the program at work, without a key.

The model's words are scripted (`script.json`), all else is the ordinary command: HTTP, stream,
loop, permissions, tools, edit. What it claims in the end is checked by `repository.py`, which
asks neither model nor agent.
"""

from interlock.demo.command import run

__all__ = ["run"]
