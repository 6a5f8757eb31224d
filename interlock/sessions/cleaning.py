"""Take away what `retention` found: by hand, or by itself at most once a day.

A kill at any moment leaves whole sessions and no half ones: the transcript goes first, then the
folder in one move to where nobody looks for sessions, and only there it is emptied.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from attrs import frozen

from interlock.errors import TranscriptError
from interlock.sessions.holding import ASIDE, emptied, held, put_aside
from interlock.sessions.retention import DAY, Plan, Stored, plan

STAMP = ".interlock-cleaned"  # in the user's folder; its time is that of the last cleaning


@frozen(kw_only=True)
class Cleaned:
    """What went. `whole` is false where time was up before all of it had."""

    sessions: int = 0
    leftovers: int = 0
    size: int = 0  # bytes
    whole: bool = True


def _never() -> bool:
    return False


def clean(
    home: Path, planned: Plan, *, before: float, stop: Callable[[], bool] = _never
) -> Cleaned:
    """Carry the plan out. What cannot be deleted, is written again or in use by now stays, with
    all that it needs."""
    size, whole = planned.size, True
    spared: set[str] = set()
    gone: list[Stored] = []
    stayed: list[Stored] = []
    for one in (*planned.sessions, *planned.folders):
        whole = whole and not stop()
        if whole and one.session_id not in spared and _taken_away(one, before, stop):
            gone.append(one)
        else:
            stayed.append(one)
            spared |= planned.needs.get(one.session_id, frozenset())
    for part in planned.parts:
        with suppress(OSError):
            part.unlink()
    _empty_what_is_aside(home, stop)
    sessions = sum(one in planned.sessions for one in gone)
    return Cleaned(
        sessions=sessions,
        leftovers=len(gone) - sessions + len(planned.parts),
        size=max(0, size - Plan(sessions=tuple(stayed)).size),
        whole=whole and not stop(),
    )


def clean_daily(
    home: Path, days: int, *, now: float, stop: Callable[[], bool] = _never
) -> Cleaned | None:
    """Clean, unless that was done within the last day or is being done. Raises OSError."""
    if not (home / "projects").is_dir():
        return None
    stamp = home / STAMP
    if _is_fresh(stamp, now):
        return None
    file = os.open(stamp, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return None
        except OSError:
            pass  # a file system without locks: two at once find less to do
        return _clean_and_stamp(home, days, now, stop, file)
    finally:
        os.close(file)


def _clean_and_stamp(
    home: Path, days: int, now: float, stop: Callable[[], bool], stamp: int
) -> Cleaned:
    before = now - days * DAY
    planned = plan(home, before=before, now=now, stop=stop)
    if planned is None:
        return Cleaned(whole=False)
    done = clean(home, planned, before=before, stop=stop)
    if done.whole:  # else the next session goes on with it
        os.ftruncate(stamp, 0)
        os.pwrite(stamp, b"x", 0)  # an empty one is of a cleaning that did not come to its end
        os.utime(stamp, (now, now))
    return done


def _is_fresh(stamp: Path, now: float) -> bool:
    """One of the future was made by a clock that was wrong."""
    try:
        there = stamp.stat()
    except OSError:
        return False
    return there.st_size > 0 and 0 <= now - there.st_mtime < DAY


def _taken_away(one: Stored, before: float, stop: Callable[[], bool]) -> bool:
    try:
        if not one.said:
            put_aside(one.folder, stop)
            return True
        with held(one.transcript):
            if one.written >= before:  # somebody went on with it since the plan was made
                return False
            one.transcript.unlink()
            put_aside(one.folder, stop)
            return True
    except (OSError, TranscriptError):
        return False


def _empty_what_is_aside(home: Path, stop: Callable[[], bool]) -> None:
    """What a cleaning or a deletion before this one did not come to."""
    aside = home / ASIDE
    with suppress(OSError):
        for folder in list(aside.iterdir()):
            emptied(folder, stop)
        aside.rmdir()
