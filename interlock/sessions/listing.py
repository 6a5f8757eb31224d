"""Sessions that lie on disk, found by id, by name, or by a part of their title.

Of each file only the head and the tail are read (`ends`), so that a folder of large transcripts
is listed at once.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from interlock.errors import SessionNotFound, SeveralSessions
from interlock.home import project_key
from interlock.sessions.ends import Listed, listed

_MOST_LISTED = 5


def sessions_in(home: Path, cwd: Path) -> Iterator[Listed]:
    """The sessions of the working folder, the newest first; each is read when it is its turn."""
    yield from _in_order((home / "projects" / project_key(cwd)).glob("*.jsonl"))


def all_sessions(home: Path) -> Iterator[Listed]:
    """Those of every working folder, likewise."""
    yield from _in_order((home / "projects").glob("*/*.jsonl"))


def newest_session(home: Path, cwd: Path) -> Listed:
    """The one of the working folder that was written last. Raises SessionNotFound."""
    found = next(sessions_in(home, cwd), None)
    if found is None:
        raise SessionNotFound("there is no session to continue in this folder; begin one")
    return found


def session_named(home: Path, cwd: Path, name: str) -> Listed:
    """The session that `name` means: an id, its beginning, a title, a part of one.

    Only those of the working folder: elsewhere the agent would work on other files than it
    remembers. Raises SessionNotFound where none fits, or several do.
    """
    wanted = name.strip().casefold()
    if not wanted:
        raise SessionNotFound(f"say which session to resume; {_newest(home, cwd)}")
    here = list(sessions_in(home, cwd))
    ways: Sequence[Callable[[Listed], bool]] = (
        lambda one: one.session_id == wanted,
        lambda one: one.session_id.startswith(wanted),
        lambda one: wanted in (words.casefold() for words in one.words[:1]),
        lambda one: any(wanted in words.casefold() for words in one.words),
    )
    for fits in ways:
        found = [one for one in here if fits(one)]
        if len(found) == 1:
            return found[0]
        if found:
            line = f"{name!r} fits {len(found)} sessions: {_told(found)}"
            raise SeveralSessions(line, tuple(one.session_id for one in found))
    elsewhere = next(_in_order((home / "projects").glob(f"*/{_quoted(wanted)}.jsonl")), None)
    if elsewhere is not None and elsewhere.cwd is not None:
        raise SessionNotFound(f"session {wanted} belongs to {elsewhere.cwd}: resume it there")
    raise SessionNotFound(f"no session here is {name!r}; {_newest(home, cwd)}")


def session_anywhere(home: Path, cwd: Path, name: str) -> Listed:
    """As `session_named`; an id, or its beginning, may also be of another folder's session: to
    look at it, where the agent goes on with nothing. Raises SessionNotFound.
    """
    try:
        return session_named(home, cwd, name)
    except SeveralSessions:
        raise
    except SessionNotFound:
        paths = (home / "projects").glob(f"*/{_quoted(name.strip().casefold())}*.jsonl")
        found = list(_in_order(paths))
        if len(found) != 1:
            raise
        return found[0]


def _newest(home: Path, cwd: Path) -> str:
    found = list(islice(sessions_in(home, cwd), _MOST_LISTED))
    return f"the newest are: {_told(found)}" if found else "there is none in this folder"


def _told(found: Sequence[Listed]) -> str:
    more = f" and {len(found) - _MOST_LISTED} more" if len(found) > _MOST_LISTED else ""
    return ", ".join(str(one) for one in found[:_MOST_LISTED]) + more


def _quoted(name: str) -> str:
    """As part of a pattern: an id holds nothing but these."""
    return "".join(letter for letter in name if letter.isalnum() or letter == "-") or "-"


def _in_order(paths: Iterator[Path]) -> Iterator[Listed]:
    found = []
    for path in paths:
        try:
            uuid.UUID(path.stem)
            found.append((path.stat().st_mtime_ns, path))
        except (ValueError, OSError):
            continue  # a file of something else, or gone since
    for changed, path in sorted(found, reverse=True):
        found_there = listed(path, changed / 1e9)
        if found_there is not None:
            yield found_there
