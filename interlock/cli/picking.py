"""Which session a person at the terminal means: a list with numbers, the newest first."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from interlock.errors import SessionNotFound
from interlock.sessions import Listed, sessions_in
from interlock.visible import visible

_MOST = 10


def newest(home: Path, cwd: Path) -> tuple[Listed, ...]:
    """The sessions of the folder that are worth a line."""
    return tuple(islice(sessions_in(home, cwd), _MOST))


def lines(sessions: Sequence[Listed], now: float) -> list[str]:
    """A line for each; what others wrote must not repaint the screen."""
    return [
        f"{n:>3}  {ago(now - one.changed):>8}  {visible(one.title)}"
        for n, one in enumerate(sessions, 1)
    ]


def picked(sessions: Sequence[Listed]) -> str:
    """The id of the one that the person names by its number. Raises SessionNotFound."""
    if not sessions:
        raise SessionNotFound("there is no session to resume in this folder; begin one")
    print("\n".join(lines(sessions, time.time())), flush=True)
    while True:
        print("  a number, or nothing to leave > ", end="", flush=True)
        said = sys.stdin.readline().strip()
        if not said:
            raise SessionNotFound("no session was picked")
        if said.isascii() and said.isdigit() and 1 <= int(said) <= len(sessions):
            return sessions[int(said) - 1].session_id


def ago(seconds: float) -> str:
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return "now"
