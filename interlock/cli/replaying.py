"""`interlock replay` and `interlock record`: runs decided again, run again, and kept.

A trace has its decisions taken once more; a recording, or a run with one beside it, is run again
to the byte; with --what-if the decisions are taken under another table or setting.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import evolve

from fsm import Machine, Trace, digest, read_trace
from interlock.cli.calls import replayed as calls_replayed
from interlock.cli.flags import Parser
from interlock.cli.looking import calls_beside, home, runs_of, tell_damage
from interlock.errors import UsageError
from interlock.recording.form import SUFFIX, Recording, written
from interlock.recording.reading import PACKED, beside, is_recording, read_recording, run_of
from interlock.sessions.runs import RunFile, one_run
from interlock.table import LOOP
from phases.world.loop import Loop

if TYPE_CHECKING:  # slow to load, and of use to few
    from interlock.what_if import Change, Verdict

_TRACE = ".trace.jsonl"
_NOT_RECORDED = "what the world answered was not recorded (see INTERLOCK_RECORD)"


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
    return max([_again(each) for each in found], default=0)


def _named(name: str) -> Iterator[RunFile]:
    """The runs that `name` means; of a folder all that lie in it, traces and recordings."""
    path = Path(name)
    if path.is_dir():
        traces = [each for each in path.rglob(f"*{_TRACE}") if each.is_file()]
        kept = [*path.rglob(f"*{SUFFIX}"), *path.rglob(f"*{PACKED}")]
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
        print(f"{found.run_id}: {_NOT_RECORDED}, so it cannot be run again")
    return code


def _run_again(name: str, recording: Recording) -> int:
    from interlock.recording.rerun import render, rerun

    with tempfile.TemporaryDirectory(prefix="interlock-") as folder:
        again = asyncio.run(rerun(recording, Path(folder)))
    notes = "".join(f" ({note})" for note in again.notes)
    if again.identical:
        until = " up to where its process went away" if again.went_away else ""
        print(f"{name}: run again, {again.steps} steps, the same to the byte{until}{notes}")
        return 0
    print(f"{name}: run again, it is another run{notes}")
    print(render(again), end="")
    return 1


def _decided_again(found: RunFile) -> int:
    from fsm.replay import render
    from fsm.replay import replay as decided
    from interlock import records

    trace = _loop_trace(found)
    same = trace.header.table == digest(LOOP)
    try:
        start, steps = records.loop_from(trace.header.start), records.steps_of(trace)
        replayed = decided(LOOP, start, steps, changes=records.changes)
    except ValueError as error:
        raise UsageError(f"{found.path}: {error}") from error
    other = "" if same else f" (made by another table, {trace.header.table})"
    if replayed.divergence is None and replayed.steps == len(trace):
        over = "" if trace.ending is not None else "; not over"
        print(f"{found.run_id}: {replayed.steps} steps, all agree{other}{over}")
        return _replayed_calls(found)
    print(f"{found.run_id}: {replayed.steps} of {len(trace)} steps agree{other}")
    if replayed.divergence is not None:
        print(render(replayed.divergence), end="")
    return 1


def _replayed_calls(found: RunFile, *, what_if: bool = False) -> int:
    calls = calls_beside(found)
    if calls.trace is None:
        return 0
    tell_damage(calls.trace)
    try:
        agree, words = calls_replayed(calls, what_if=what_if)
    except ValueError as error:
        raise UsageError(f"{found.path}: {error}") from error
    if not (agree and what_if):
        print(f"{found.run_id}: {words}", end="")
    return 0 if agree else 1


def _loop_trace(found: RunFile) -> Trace:
    if is_recording(found.path):
        with tempfile.TemporaryDirectory(prefix="interlock-") as folder:
            path = Path(folder) / f"{found.run_id}{_TRACE}"
            recording = read_recording(found.path)
            path.write_bytes(recording.trace.encode("utf-8", "surrogateescape"))
            return read_trace(path)
    trace = read_trace(found.path)
    tell_damage(trace)
    if trace.header.machine != LOOP.name:
        raise UsageError(f"{found.path}: a trace of {trace.header.machine}, not of {LOOP.name}")
    return trace


# --- as it would have been -------------------------------------------------------------------


def _what_if(found: list[RunFile], sets: list[str], table: str | None) -> int:
    from interlock.what_if import change_of, told

    changes = [change_of(each) for each in sets]
    machine = LOOP if table is None else _table(table)
    verdicts, code = [], 0
    for each in found:
        verdict = _verdict(each, changes, machine)
        verdicts.append(verdict)
        if _tell_verdict(each, verdict):
            code = 1
        elif not is_recording(each.path) and not changes:
            code = max(code, _replayed_calls(each, what_if=True))
    print(told(changes, table, verdicts))
    return code


def _verdict(found: RunFile, changes: list[Change], machine: Machine[Loop]) -> Verdict:
    from interlock.what_if import judged, run_otherwise

    try:
        verdict = judged(_loop_trace(found), changes, machine)
    except ValueError as error:
        raise UsageError(f"{found.path}: {error}") from error
    recording = found.path if is_recording(found.path) else beside(found.path)
    if not recording.exists():
        return evolve(verdict, decided_only=True)
    if not changes:
        return verdict
    return asyncio.run(run_otherwise(verdict, read_recording(recording), changes))


def _tell_verdict(found: RunFile, verdict: Verdict) -> bool:
    """Whether there is a difference to tell."""
    from fsm.replay import render
    from interlock.recording.otherwise import told

    if verdict.divergence is None and verdict.elsewhere is None:
        return False
    print(f"{found.run_id}: {verdict.steps} of {verdict.of} steps stay as they were")
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


# --- keeping one -----------------------------------------------------------------------------


def record_flags(parser: Parser) -> None:
    add = parser.add_argument
    add("run", metavar="RUN", help="a run that was recorded, or: last")
    add("--out", metavar="FILE", help="default: RUN.recording.jsonl in this folder")
    add("--scrub", action="store_true", help="take out keys, tokens, passwords; it still runs")
    add("--secret", action="append", metavar="WORD", help="take this out too")


def record(asked: object) -> int:
    """Keep a run as a recording of its own, once it has proved to be the same run again."""
    from interlock.recording.rerun import render, rerun
    from interlock.recording.scrub import scrubbed

    found = one_run(home(), str(getattr(asked, "run", "")), Path.cwd())
    source = beside(found.path)
    if not source.exists():
        raise UsageError(
            f"run {found.run_id} cannot be kept: {_NOT_RECORDED}; its decisions can be replayed"
        )
    recording = read_recording(source)
    target = Path(getattr(asked, "out", None) or f"{found.run_id}{SUFFIX}")
    if not target.name.endswith(SUFFIX):
        raise UsageError(f"--out {target}: the name of a recording ends in {SUFFIX}")
    words: list[str] = getattr(asked, "secret", None) or []
    hidden = ""
    if words or getattr(asked, "scrub", False):
        recording, count = scrubbed(recording, os.environ, words)
        hidden = f", {count} secret{'' if count == 1 else 's'} taken out"
    with tempfile.TemporaryDirectory(prefix="interlock-") as folder:
        again = asyncio.run(rerun(recording, Path(folder)))
    if not again.identical:
        print(render(again), end="", file=sys.stderr)
        raise UsageError(f"run {found.run_id} is not the same when it is run again; nothing kept")
    with target.open("xb") as file:  # a golden run is never overwritten by mistake
        file.write(written(recording))
    until = ", up to where its process went away" if again.went_away else ""
    print(
        f"{target}: {again.steps} steps{until}{hidden}; "
        f"run it again with: interlock replay {target}"
    )
    return 0
