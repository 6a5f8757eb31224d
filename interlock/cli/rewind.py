"""`interlock rewind [SESSION]`: go back to before a prompt of a session that nobody has open.

Exit code 0: done, shown with --dry-run, or listed; 1: not done, or some file was left as it is.
"""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from interlock.checkpoints import Checkpoints
from interlock.cli.choosing import person_or_nobody
from interlock.cli.flags import Parser, decoded
from interlock.cli.main import complain
from interlock.cli.place import folder_of, insist_on_stdout
from interlock.cli.taking_back import Desk, forced
from interlock.errors import SessionBusy, UsageError
from interlock.home import SessionPaths, home_of
from interlock.interrupt import InterruptSignal
from interlock.rewinding import What, carried_out
from interlock.session_state import turn_back
from interlock.sessions import Transcript, newest_session, session_named
from interlock.tools.paths import BadPath
from interlock.visible import visible
from interlock.world import RandomIds

_EPILOG = """\
Without --to, a list of the newest prompts: at a terminal one is picked from it. PROMPT is its
number there, its id or the beginning of one, or words of it, however old it is; the prompt itself
goes too. A diff is shown before anything is changed. A file that anybody but the agent changed
since is left, and named. What commands (Bash) changed is not covered. A rewind is itself a point
to go back to.
"""


def run(argv: Sequence[str]) -> int:
    """Run the command. Raises InterlockError."""
    asked = _parser().parse_args([decoded(each) for each in argv])
    insist_on_stdout()
    cwd = folder_of(asked.cwd)
    home = home_of(os.environ)
    name: str | None = asked.session
    found = newest_session(home, cwd) if name is None else session_named(home, cwd, name)
    desk = _desk(asked, SessionPaths.of(home, cwd, found.session_id), cwd.resolve())
    if asked.to is None and (asked.all or asked.dry_run or asked.yes or not os.isatty(0)):
        _insist_on_looking(asked)
        desk.list(whole=asked.all)
        return 0
    if asked.dry_run:
        desk.planned(desk.what or What.BOTH)
        return 0
    return asyncio.run(_rewound(desk))


def _insist_on_looking(asked: argparse.Namespace) -> None:
    """Raise UsageError where something is to be done, and nobody said to what."""
    doing = [flag for flag, given in (("--yes", asked.yes), ("--force", asked.force)) if given]
    doing += [] if asked.what is None else [f"--{asked.what}"]
    if doing:
        raise UsageError(
            f"{doing[0]} needs --to PROMPT: nothing was done; interlock rewind lists the prompts"
        )


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="interlock rewind",
        allow_abbrev=False,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("session", metavar="SESSION", nargs="?", help="id or title; default: the newest here")
    to = parser.add_mutually_exclusive_group()
    to.add_argument("--to", metavar="PROMPT", help="go back to before this prompt, or this rewind")
    to.add_argument("--all", action="store_true", help="list every prompt, not only the newest")
    which = parser.add_mutually_exclusive_group()
    for what, words in (
        (What.BOTH, "conversation and files (the default)"),
        (What.FILES, "files alone"),
        (What.CONVERSATION, "the conversation alone"),
    ):
        which.add_argument(f"--{what}", dest="what", action="store_const", const=what, help=words)
    add("--force", metavar="FILE", action="append", help="take it back although others changed it")
    add("--dry-run", action="store_true", help="only show what would be done")
    add("-y", "--yes", action="store_true", help="do it without asking")
    add("--cwd", metavar="DIR", help="the working folder of the session")
    return parser


def _desk(asked: argparse.Namespace, paths: SessionPaths, cwd: Path) -> Desk:
    try:
        force = forced(asked.force or (), cwd)
    except BadPath as error:
        raise UsageError(f"{error} (--force)") from error
    return Desk(
        paths=paths,
        cwd=cwd,
        person=person_or_nobody(InterruptSignal()),
        say=_say,
        warn=complain,
        older="--all lists them, --to takes their numbers and words",
        by_flag=True,
        undo=f"interlock rewind {paths.session_id} --to",
        name=asked.to,
        what=asked.what or (None if asked.to is None else What.BOTH),
        force=force,
        sure=asked.yes,
    )


async def _rewound(desk: Desk) -> int:
    paths = desk.paths
    async with _locked(paths, desk.cwd) as transcript:
        agreed = await desk.agreed()
        if agreed is None:
            complain("nothing was changed")
            return 1
        done = await carried_out(agreed, transcript, Checkpoints.of(paths.folder), RandomIds())
        if agreed.turns_back and (problem := turn_back(paths.state)) is not None:
            complain(problem)
    desk.tell(agreed, done)
    return 1 if done.left else 0


@asynccontextmanager
async def _locked(paths: SessionPaths, cwd: Path) -> AsyncIterator[Transcript]:
    transcript = Transcript(paths.transcript, session_id=paths.session_id, cwd=cwd)
    try:
        transcript.take_up()
    except SessionBusy:
        raise UsageError(
            f"session {paths.session_id} is open in another process: type /rewind there, or end "
            "it first (--dry-run looks all the same)"
        ) from None
    try:
        yield transcript
    finally:
        transcript.close()


def _say(text: str) -> None:
    print(visible(text), flush=True)
