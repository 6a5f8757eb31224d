"""`interlock sessions clean`: what is older than the period goes, after it was said what that is.

Sessions of every folder, as the cleaning that happens by itself; the plan and its execution are
`interlock.sessions`'s.
"""

from __future__ import annotations

import os
import sys
import time
from argparse import Namespace
from collections.abc import Iterator

from interlock.cli.flags import Parser
from interlock.cli.main import complain
from interlock.cli.picking import ago
from interlock.cli.session_list import size_of
from interlock.configuration import Flags, sources_of
from interlock.configured import configured
from interlock.counted import counted
from interlock.errors import UsageError
from interlock.options import Options
from interlock.sessions.cleaning import Cleaned, clean
from interlock.sessions.ends import listed
from interlock.sessions.retention import DAY, Plan, plan
from interlock.visible import visible


def flags(parser: Parser) -> None:
    parser.add_argument("--days", metavar="N", help="older than these; default: cleanupPeriodDays")
    parser.add_argument("--dry-run", action="store_true", help="only say what would go")
    parser.add_argument("--yes", action="store_true", help="do not ask")


def run(asked: Namespace) -> None:
    """Raises UsageError."""
    days, now = _days(asked), time.time()
    before = now - days * DAY
    planned = plan(asked.home, before=before, now=now) or Plan()
    if not (planned.sessions or planned.folders or planned.parts):
        print(f"nothing to clean: no session of ours is older than {counted(days, 'day')}")
        return
    for line in _told(planned, now):
        print(visible(line))
    if asked.dry_run:
        print("nothing was deleted")
        return
    if not asked.yes and not _agreed():
        print("nothing was deleted")
        return
    done = clean(asked.home, planned, before=before)
    print(_done(done, planned))


def _days(asked: Namespace) -> int:
    if asked.days is None:
        sources = Flags(sources=sources_of(None))
        found = configured(Options(cwd=asked.cwd), sources, os.environ, key=False)
        for warning in found.configuration.warnings:
            complain(warning)
        return found.settings.cleanup_days
    text = str(asked.days).strip()
    if not (text.isascii() and text.isdigit() and int(text[:10]) >= 1 and len(text) <= 9):
        raise UsageError(f"--days is {asked.days!r}; say a whole number of days from 1 up")
    return int(text)


def _told(planned: Plan, now: float) -> Iterator[str]:
    for one in planned.sessions:
        found = listed(one.transcript, one.written)
        title, where = (found.title, found.cwd) if found else ("(no title)", None)
        size = size_of(Plan(sessions=(one,)).size)
        folder = where or one.folder.parent.name
        yield f"{one.session_id}  {ago(now - one.written):>6}  {size:>7}  {title}  in {folder}"
    for one in planned.folders:
        size = size_of(Plan(folders=(one,)).size)
        age = ago(now - one.written)
        yield f"{one.session_id}  {age:>6}  {size:>7}  (its transcript is gone)"
    if planned.parts:
        yield f"{counted(len(planned.parts), 'file')} that a crash left half written"
    sessions = counted(len(planned.sessions), "session")
    leftovers = len(planned.folders) + len(planned.parts)
    yield f"{sessions}, {counted(leftovers, 'leftover')}: {size_of(planned.size)}"


def _agreed() -> bool:
    if not (os.isatty(0) and os.isatty(1)):
        raise UsageError("to delete them without being asked, say --yes; --dry-run only looks")
    print("  delete them for good? y, or anything else to keep them > ", end="", flush=True)
    return sys.stdin.readline().strip().casefold() in ("y", "yes")


def _done(done: Cleaned, planned: Plan) -> str:
    line = f"deleted: {counted(done.sessions, 'session')}, {size_of(done.size)} are free"
    stayed = len(planned.sessions) - done.sessions
    return f"{line}; {stayed} stayed, in use or not to be deleted" if stayed else line
