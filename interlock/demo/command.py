"""The demo as a command: what is said before and after the session, and the exit code.

Plain lines that any terminal shows. Exit code 0 means that every check at the end held.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from attrs import frozen

from interlock.demo.repository import CODE, TEST, Repository
from interlock.demo.session import LIMIT_S, Played, Session, play
from interlock.demo.typed import typed
from interlock.errors import InterlockError, UsageError
from interlock.home import home_of
from interlock.sessions.runs import find_runs
from interlock.tools import UnknownTool, built_in, chosen

PROMPT = f"Fix the failing test in {TEST}"
TURNS = 6
_INTERRUPTED = 130
_ID_LENGTH = 13  # the beginning of a run id will do where a run is named

_OPENING = """\
Interlock demo: one session from prompt to result, without a key.

  scripted  the model's words (interlock/demo/script.json); each reply is given only
            if the tool result before it says what the story needs
  real      all else: HTTP and server-sent events, the loop, permissions, the tools,
            the edit, the test runs

A small repository with a failing test lies in
  {root}{fate}
and the ordinary command is told to mend it:
  {command}
"""

_DELETED = "\n  (deleted at the end; --keep DIR puts it into a folder that stays)"

_LOOK = """
Transcript  {transcript}
Trace       {trace}

Look at what happened:
  {command} trace {run}
  {command} explain {run} --step 3
  {command} replay {run}
  {command} diagram --format mermaid
"""


@frozen
class Check:
    """A claim about the demo, and whether it holds."""

    claim: str
    holds: bool


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"demo: {message}")


def run(argv: Sequence[str]) -> int:
    """Run the demo and return the exit code. Raises UsageError."""
    asked = _parser().parse_args(argv)
    without = _tools(asked.without)
    try:
        with _folder(asked.keep) as folder:
            repository = Repository.copied_to(folder)
            session = Session(
                root=repository.root, prompt=PROMPT, without=without, fast=asked.fast
            )
            _say(_opening(session, kept=asked.keep is not None))
            played = play(session)
            return _close(session, played, repository)
    except KeyboardInterrupt:
        _say("\nThe demo was stopped.")
        return _INTERRUPTED


def checks_of(played: Played, repository: Repository) -> tuple[Check, ...]:
    """All that must hold. Nothing here takes the agent's word for it."""
    return (
        Check(
            f"the scripted model was asked {TURNS} times, each time with what it expected",
            played.requests == TURNS and not played.faults,
        ),
        Check(f"{CODE} was edited", repository.code_changed),
        Check(f"{TEST} is as it was", repository.test_unchanged),
        Check("the tests pass", repository.tests_pass()),
        Check("the command gave an answer and exit code 0", _answered(played)),
    )


def _parser() -> _Parser:
    parser = _Parser(
        prog="interlock demo",
        description="One session against a scripted model: a failing test is fixed, without a "
        "key. Exit code 0 only if the file was really edited and the tests really pass.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--keep", metavar="DIR", help="put the repository into this new folder, and keep it")
    add(
        "--without",
        metavar="TOOLS",
        default="",
        help="switch tools off, such as Edit: the demo then fails, and says so",
    )
    add("--fast", action="store_true", help="do not let the words come slowly")
    return parser


@contextmanager
def _folder(keep: str | None) -> Iterator[Path]:
    if keep is None:
        with tempfile.TemporaryDirectory(
            prefix="interlock-demo-", ignore_cleanup_errors=True
        ) as made:
            yield Path(made)
        return
    folder = Path(keep).expanduser()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        empty = not any(folder.iterdir())
    except OSError as error:
        raise UsageError(f"demo: cannot use {keep}: {error.strerror} (--keep)") from None
    if not empty:
        raise UsageError(f"demo: {keep} is not empty; name a new folder (--keep)")
    yield folder


def _tools(given: str) -> tuple[str, ...]:
    names = tuple(name for each in given.split(",") if (name := each.strip()))
    try:
        chosen(built_in(), names)
    except UnknownTool as error:
        raise UsageError(f"demo: {error} (--without)") from None
    return names


def _opening(session: Session, *, kept: bool) -> str:
    words = " ".join(shlex.quote(word) for word in ("interlock", *session.arguments))
    return _OPENING.format(
        root=session.root,
        fate="" if kept else _DELETED,
        command=words.replace(" --", " \\\n    --"),
    )


def _close(session: Session, played: Played, repository: Repository) -> int:
    checks = checks_of(played, repository)
    _say("\n\nChecked afterwards, by looking at the files and running the tests once more:\n")
    for check in checks:
        _say(f"  {'ok    ' if check.holds else 'FAILED'}  {check.claim}")
    for fault in played.faults:
        _say(f"          {fault}")
    if played.code is None:
        _say(f"          the command did not end within {LIMIT_S:g} s")
    if repository.code_changed:
        _say(f"\n{repository.diff()}")
    _say(_look(session))
    broken = [check.claim for check in checks if not check.holds]
    if not broken:
        _say("All of it is true: the demo succeeded.")
        return 0
    print(f"interlock: the demo failed; not true: {'; '.join(broken)}", file=sys.stderr)
    return 1


def _look(session: Session) -> str:
    trace = session.trace
    if trace is None:
        return "\nNothing was recorded: the run never began."
    run_id = trace.name.removesuffix(".trace.jsonl")
    return _LOOK.format(
        transcript=session.paths.transcript,
        trace=trace,
        command=typed(sys.argv[0], sys.executable, os.environ.get("PATH")),
        run=_name_of(run_id),
    )


def _name_of(run_id: str) -> str:
    """`last` where that is this run: in a folder with runs of its own it is one of those."""
    try:
        (last,) = find_runs(home_of(os.environ), "last", Path.cwd())
    except (InterlockError, FileNotFoundError):  # the latter: the working folder is gone
        return run_id
    return "last" if last.run_id == run_id else run_id[:_ID_LENGTH]


def _answered(played: Played) -> bool:
    return played.code == 0 and bool(played.answer)


def _say(text: str) -> None:
    # Flushed: the session writes to stderr by another way, and must not come first.
    print(text, flush=True)
