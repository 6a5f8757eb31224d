"""The commands that look at recorded runs and at the machine: trace, explain, replay, record,
context, diagram, check. Each reads files and prints; none talks to a model.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from fsm import FsmError, Record, Trace
from interlock.call_records import Calls, beside
from interlock.cli.flags import Parser, decoded
from interlock.cli.main import complain
from interlock.cli.place import insist_on_stdout
from interlock.cli.story import ending_of, facts_of, story_of
from interlock.cli.traces import calls_beside, lines_of, loop_trace_of, tell_damage, trace_of
from interlock.counted import counted
from interlock.errors import InterlockError, UsageError
from interlock.home import home_of
from interlock.sessions.runs import RunFile, find_runs, one_run

_DIAGRAMS = Path("diagrams")


def run(command: str, argv: Sequence[str]) -> int:
    """Run one of the commands; the exit code says whether what it looked for holds."""
    prepare, work = _COMMANDS[command]
    parser = Parser(prog=f"interlock {command}", allow_abbrev=False)
    prepare(parser)
    asked = parser.parse_args([decoded(each) for each in argv])
    insist_on_stdout()
    try:
        return work(asked)
    except FsmError as error:
        raise InterlockError(str(error)) from error


# --- trace, explain, replay, context ---------------------------------------------------------


def _trace_flags(parser: Parser) -> None:
    parser.add_argument("run", metavar="RUN", help="run, session, beginning of one, path, last")
    parser.add_argument("--json", action="store_true", help="the records as they are")
    parser.add_argument("--tree", action="store_true", help="the run with its agents, in short")


def _trace(asked: object) -> int:
    if getattr(asked, "tree", False):
        from interlock.cli.tree import tree_of

        for found in runs_of(_name(asked, "run")):
            print(tree_of(found), end="")
        return 0
    lost = False
    for number, found in enumerate(runs_of(_name(asked, "run"))):
        trace, calls = trace_of(found), calls_beside(found)
        if getattr(asked, "json", False):
            _as_they_are(found, calls)
        else:
            print("" if number == 0 else "\n", end="")
            print(story_of(trace, found, calls), end="")
        lost |= tell_damage(trace, calls)
    return 1 if lost else 0


def _explain_flags(parser: Parser) -> None:
    parser.add_argument("run", metavar="RUN")
    parser.add_argument(
        "--step",
        type=int,
        metavar="N",
        help="one step, as numbered by `trace`; else the whole run",
    )
    parser.add_argument("--call", metavar="ID", help="one tool call, decision by decision")


def _explain(asked: object) -> int:
    from fsm.explain import explain, render
    from fsm.narrate import narrate
    from interlock.cli.calls import line_of, told_of
    from interlock.machines import MACHINES

    found = one_run(home(), _name(asked, "run"), Path.cwd())
    trace = trace_of(found)
    machine = MACHINES.get(trace.header.machine)
    if machine is None:
        raise UsageError(
            f"run {found.run_id} is of a machine unknown here: {trace.header.machine}"
        )
    calls = calls_beside(found)
    wanted: int | None = getattr(asked, "step", None)
    call: str | None = getattr(asked, "call", None)
    if call is not None:
        return _explain_call(calls, call, found)
    if wanted is not None:
        print(render(explain(machine, _record(trace, wanted, found))), end="")
        for life in calls.under(wanted):
            print(f"  {line_of(life)}")
        return 0
    print(f"run {found.run_id}, {ending_of(trace)}")
    for paragraph in narrate(machine, trace, facts_of, lambda each: told_of(calls, each.sequence)):
        print(f"\n{paragraph}")
    return 1 if tell_damage(trace, calls) else 0


def _explain_call(calls: Calls, wanted: str, found: RunFile) -> int:
    from interlock.cli.calls import explained

    lives = [life for life in calls.lives if life.facts.id == wanted]
    if not lives:
        named = ", ".join(life.facts.id for life in calls.lives[-5:])
        there = f"its last are: {named}" if named else "no calls are recorded beside it"
        raise UsageError(f"run {found.run_id} has no call {wanted}: {there}")
    for life in lives:
        for told in explained(life):
            print(told, end="")
    return 0


def _record(trace: Trace, wanted: int, found: RunFile) -> Record:
    record = next((each for each in trace if each.sequence == wanted), None)
    if record is None and 0 <= wanted < trace.steps:
        tell_damage(trace)
        raise UsageError(f"step {wanted} of run {found.run_id} cannot be read")
    if record is None:
        last = trace[-1].sequence if len(trace) else None
        most = "it has no steps" if last is None else f"its steps are 0 to {last}"
        raise UsageError(f"run {found.run_id} has no step {wanted}: {most}")
    return record


def _context_flags(parser: Parser) -> None:
    parser.add_argument("run", metavar="RUN")


def _context(asked: object) -> int:
    from interlock.cli.context import told

    found = one_run(home(), _name(asked, "run"), Path.cwd())
    trace = loop_trace_of(found)
    tell_damage(trace)
    try:
        for line in told(trace, found):
            print(line)
    except ValueError as error:
        raise UsageError(f"{found.path}: {error}") from error
    return 0


def runs_of(name: str) -> tuple[RunFile, ...]:
    return find_runs(home(), name, Path.cwd())


def home() -> Path:
    return home_of(os.environ)


def _name(asked: object, key: str) -> str:
    return str(getattr(asked, key))


def _as_they_are(found: RunFile, calls: Calls) -> None:
    """The lines of the trace, then those of its calls, without any that is no JSON object."""
    files = [lines_of(found)]
    if calls.trace is not None:
        files.append(beside(found.path).read_bytes())
    for file in files:
        for line in file.splitlines(keepends=True):
            if line.endswith(b"\n") and _is_object(line):
                sys.stdout.buffer.write(line)


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


# --- diagram, check --------------------------------------------------------------------------


def _diagram_flags(parser: Parser) -> None:
    parser.add_argument("machine", metavar="MACHINE", nargs="?", help="default: all of them")
    parser.add_argument(
        "--format", choices=("mermaid", "table"), help="print it, instead of writing diagrams/"
    )
    parser.add_argument(
        "--check", action="store_true", help="compare the files in diagrams/; write nothing"
    )


def _diagram(asked: object) -> int:
    from fsm.draw import markdown, mermaid
    from interlock.machines import MACHINES

    name: str | None = getattr(asked, "machine", None)
    if name is not None and name not in MACHINES:
        raise UsageError(f"no machine is called {name}; there are: {', '.join(MACHINES)}")
    chosen = {name: MACHINES[name]} if name is not None else dict(MACHINES)
    shape = getattr(asked, "format", None)
    if shape is not None:
        for machine in chosen.values():
            print(mermaid(machine) if shape == "mermaid" else markdown(machine), end="")
        return 0
    files = {
        _DIAGRAMS / f"{name}{suffix}": draw(machine)
        for name, machine in chosen.items()
        for suffix, draw in ((".mmd", mermaid), (".md", markdown))
    }
    return _compared(files) if getattr(asked, "check", False) else _written(files)


def _compared(files: Mapping[Path, str]) -> int:
    stale = []
    for path, fresh in files.items():
        if not path.is_file():
            stale.append(f"{path} is missing")
        elif path.read_text("utf-8") != fresh:
            stale.append(f"{path} is not what the table says")
    for line in stale:
        complain(f"{line}; run: interlock diagram")
    if not stale:
        print(f"{counted(len(files), 'file agrees', 'files agree')} with the table")
    return 1 if stale else 0


def _written(files: Mapping[Path, str]) -> int:
    _DIAGRAMS.mkdir(exist_ok=True)
    for path, fresh in files.items():
        path.write_text(fresh, "utf-8")
        print(path)
    return 0


def _check_flags(parser: Parser) -> None:
    pass


def _check(asked: object) -> int:
    from fsm.check import render
    from interlock.call_check import verdict_of_calls
    from interlock.model_check import verdict
    from interlock.settings import limits_of

    limits = limits_of(os.environ)
    began = time.perf_counter()
    found = verdict(limits)
    print(render(found.timed(time.perf_counter() - began)), end="")
    began = time.perf_counter()
    calls = verdict_of_calls()
    print(render(calls.timed(time.perf_counter() - began)), end="")
    return 0 if found.ok and calls.ok else 1


def _replay_flags(parser: Parser) -> None:
    from interlock.cli.replaying import replay_flags

    replay_flags(parser)


def _replay(asked: object) -> int:
    from interlock.cli.replaying import replay

    return replay(asked)


def _record_flags(parser: Parser) -> None:
    from interlock.cli.keeping import record_flags

    record_flags(parser)


def _keep(asked: object) -> int:
    from interlock.cli.keeping import record

    return record(asked)


_COMMANDS: Mapping[str, tuple[Callable[[Parser], None], Callable[[object], int]]] = {
    "trace": (_trace_flags, _trace),
    "explain": (_explain_flags, _explain),
    "replay": (_replay_flags, _replay),
    "record": (_record_flags, _keep),
    "context": (_context_flags, _context),
    "diagram": (_diagram_flags, _diagram),
    "check": (_check_flags, _check),
}
