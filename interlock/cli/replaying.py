"""`interlock replay`: runs decided again, and run again.

A trace has its decisions taken once more; a recording, or a run with one beside it, is run again
to the byte; with --what-if the decisions are taken under another table or setting.
"""

from __future__ import annotations

import asyncio
import importlib
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import evolve

from fsm import FsmError, Machine, digest
from interlock.cli.calls import replayed as calls_replayed
from interlock.cli.flags import Parser
from interlock.cli.looking import runs_of
from interlock.cli.main import complain
from interlock.cli.traces import calls_beside, loop_trace_of, tell_damage
from interlock.counted import counted
from interlock.errors import InterlockError, UsageError
from interlock.recording.form import Recording
from interlock.recording.reading import beside, read_recording
from interlock.sessions.runs import PACKED, RECORDING, RunFile, is_recording, run_of
from interlock.table import LOOP
from phases.world.loop import Loop

if TYPE_CHECKING:  # slow to load, and of use to few
    from interlock.recording.rerun import Rerun
    from interlock.what_if import Change, Verdict

_TRACE = ".trace.jsonl"
NOT_RECORDED = "what the world answered was not recorded (see INTERLOCK_RECORD)"


def replay_flags(parser: Parser) -> None:
    add = parser.add_argument
    add("runs", metavar="RUN", nargs="+", help="run, session, path, a folder of them, or last")
    add("--what-if", action="store_true", help="compare only the way, under what follows")
    add(
        "--set",
        action="append",
        metavar="NAME=VALUE",
        help="with --what-if: a limit, feature or budget, as max_recoveries=5 or collapse=off",
    )
    add("--table", metavar="MODULE:NAME", help="with --what-if: another table of the loop")


def replay(asked: object) -> int:
    """The exit code is 0 where all is as it was, as that of `diff`."""
    found = [each for name in getattr(asked, "runs", []) for each in _named(name)]
    sets: list[str] = getattr(asked, "set", None) or []
    table: str | None = getattr(asked, "table", None)
    if getattr(asked, "what_if", False):
        return _what_if(found, sets, table)
    if sets or table:
        raise UsageError("--set and --table ask what if: add --what-if")
    return max([_or_why_not(each, _again) for each in found], default=0)


def _or_why_not(found: RunFile, work: Callable[[RunFile], int]) -> int:
    """One run that cannot be read takes nothing from those beside it."""
    try:
        return work(found)
    except (InterlockError, FsmError) as error:
        complain(str(error))
    except OSError as error:
        complain(f"{error.filename or found.path}: {error.strerror or error}")
    return 1


def _named(name: str) -> Iterator[RunFile]:
    """The runs that `name` means; of a folder all that lie in it, traces and recordings."""
    path = Path(name)
    if path.is_dir():
        traces = [each for each in path.rglob(f"*{_TRACE}") if each.is_file()]
        kept = [*path.rglob(f"*{RECORDING}"), *path.rglob(f"*{PACKED}")]
        alone = [each for each in kept if not _trace_of(each).exists()]
        if not traces and not alone:
            raise UsageError(f"{name}: no run is recorded in this folder")
        for each in sorted([*traces, *alone]):
            yield from _named(str(each))
    elif is_recording(path):
        if not path.is_file():
            raise UsageError(f"{name}: there is no such file")
        yield RunFile(run_id=run_of(path), session_id="", path=path)
    else:
        yield from runs_of(name)


def _trace_of(recording: Path) -> Path:
    return recording.with_name(run_of(recording) + _TRACE)


# --- as it was -------------------------------------------------------------------------------


def _again(found: RunFile) -> int:
    if is_recording(found.path):
        return _run_again(found.run_id, read_recording(found.path))
    code = _decided_again(found)
    recording = beside(found.path)
    if recording.exists():
        return max(code, _run_again(found.run_id, read_recording(recording)))
    if found.session_id:  # a trace that was kept for itself is not missing anything
        print(f"{found.run_id}: {NOT_RECORDED}, so it cannot be run again")
    return code


def _run_again(name: str, recording: Recording) -> int:
    from interlock.recording.rerun import render, rerun

    if recording.damage is not None:
        complain(f"{recording.damage}; it is run again up to there")
    with tempfile.TemporaryDirectory(prefix="interlock-") as folder:
        again = asyncio.run(rerun(recording, Path(folder)))
    notes = "".join(f" ({note})" for note in again.notes)
    if not again.identical:
        print(f"{name}: run again, it is another run{notes}")
        print(render(again), end="")
        return 1
    same = "nothing to compare them with" if recording.bare else "the same to the byte"
    print(f"{name}: run again, {counted(again.steps, 'step')}, {same}{_until(again)}{notes}")
    return 1 if again.unread or recording.damage is not None else 0


def _until(again: Rerun) -> str:
    if again.recording.damage is not None:
        return ", up to where the recording is damaged"
    if again.unread:
        one = len(again.unread) == 1
        numbers = ", ".join(map(str, again.unread))
        lines = f"line {numbers}, which is" if one else f"lines {numbers}, which are"
        return f" but for {lines} damaged in its trace"
    return " up to where its process went away" if again.went_away else ""


def _decided_again(found: RunFile) -> int:
    from fsm.replay import render
    from fsm.replay import replay as decided
    from interlock import records

    trace = loop_trace_of(found)
    lost = 1 if tell_damage(trace) else 0
    if trace.header.made_up:
        words = "can be decided: the loop that the run began in cannot be read"
        print(f"{found.run_id}: none of {counted(trace.steps, 'step')} {words}")
        return max(1, _replayed_calls(found))
    same = trace.header.table == digest(LOOP)
    steps = records.Readable(trace)
    try:
        start = records.loop_from(trace.header.start)
    except ValueError as error:
        raise UsageError(f"{found.path}: {error}") from error
    replayed = decided(LOOP, start, steps, changes=records.changes)
    other = "" if same else f" (made by another table, {trace.header.table})"
    if replayed.divergence is None and replayed.steps == trace.steps:
        over = "" if trace.ending is not None else "; not over"
        print(f"{found.run_id}: {counted(replayed.steps, 'step')}, all agree{other}{over}")
        return max(lost, _replayed_calls(found))
    print(f"{found.run_id}: {replayed.steps} of {counted(trace.steps, 'step')} agree{other}")
    if replayed.divergence is not None:
        print(render(replayed.divergence), end="")
        return 1
    print(f"from step {replayed.steps} on nothing can be decided: {steps.problem}")
    return max(1, _replayed_calls(found))


def _replayed_calls(found: RunFile, *, what_if: bool = False) -> int:
    calls = calls_beside(found)
    if calls.trace is None:
        return 0
    lost = tell_damage(calls)
    agree, words = calls_replayed(calls, what_if=what_if)
    if not (agree and what_if):
        print(f"{found.run_id}: {words}", end="")
    return 0 if agree and not lost else 1


# --- as it would have been -------------------------------------------------------------------


def _what_if(found: list[RunFile], sets: list[str], table: str | None) -> int:
    from interlock.what_if import change_of, told

    changes = [change_of(each) for each in sets]
    machine = LOOP if table is None else _table(table)
    verdicts: list[Verdict] = []

    def judge(each: RunFile) -> int:
        verdict = _verdict(each, changes, machine)
        verdicts.append(verdict)
        if _tell_verdict(each, verdict):
            return 1
        code = 1 if verdict.undecided else 0
        if not is_recording(each.path) and not changes:
            code = max(code, _replayed_calls(each, what_if=True))
        return code

    code = max([_or_why_not(each, judge) for each in found], default=0)
    if verdicts:
        unread = len(found) - len(verdicts)
        print(told(changes, table, verdicts) + (f"; {unread} cannot be read" if unread else ""))
    return code


def _verdict(found: RunFile, changes: list[Change], machine: Machine[Loop]) -> Verdict:
    from interlock.what_if import judged, run_otherwise

    trace = loop_trace_of(found)
    tell_damage(trace)
    try:
        verdict = judged(trace, changes, machine)
    except ValueError as error:
        raise UsageError(f"{found.path}: {error}") from error
    path = found.path if is_recording(found.path) else beside(found.path)
    if not path.exists():
        return evolve(verdict, decided_only=True)
    if not changes:
        return verdict
    recording = read_recording(path)
    if recording.damage is not None:
        complain(f"{recording.damage}; it is run again up to there")
    return asyncio.run(run_otherwise(verdict, recording, changes))


def _tell_verdict(found: RunFile, verdict: Verdict) -> bool:
    """Whether there is a difference to tell."""
    from fsm.replay import render
    from interlock.recording.otherwise import told

    if verdict.divergence is None and verdict.elsewhere is None:
        return False
    print(f"{found.run_id}: {verdict.steps} of {counted(verdict.of, 'step')} stay as they were")
    if verdict.elsewhere is not None:
        print(told(verdict.elsewhere, verdict.of))
    elif verdict.divergence is not None:
        print(render(verdict.divergence))
    return True


def _table(name: str) -> Machine[Loop]:
    module, colon, attribute = name.partition(":")
    if not colon or not attribute:
        raise UsageError(f"--table {name}: write MODULE:NAME, like my_table:LOOP")
    sys.path.insert(0, str(Path.cwd()))
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise UsageError(f"--table {name}: {error}") from error
    if not isinstance(found, Machine):
        raise UsageError(f"--table {name}: is a {type(found).__name__}, no table")
    return found
