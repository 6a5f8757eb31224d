"""Edge coverage as a pytest plugin: which edges of the machines your tests took.

    pytest_plugins = ["interlock.testing.edges"]

Fed by every run that a test plays over scripted ports and by every trace that a test leaves under
its `tmp_path`, whichever process wrote it; other traces by the fixture `edges`. A summary stands
at the end of the run; `--edges=missing` lists what no test took, and `--edges-least=N` fails the
run where fewer than N edges of the loop were taken.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fsm import FsmError, Machine, decide, digest, read_trace
from fsm.cover import Coverage, render
from interlock import records
from interlock.call_records import calls_of, outcomes_of
from interlock.table import LOOP
from interlock.testing import observers
from interlock.tools.lifecycle import TOOL_CALL, CallState
from phases.world.states import State

COVERAGE = Coverage()
COVERED: tuple[Machine[Any], ...] = (LOOP, TOOL_CALL)


def take_in(path: Path, coverage: Coverage = COVERAGE) -> None:
    """Count the run of this trace, and its tool calls. A damaged trace, or one of another table,
    counts for nothing: tests spoil theirs on purpose."""
    for count in (_take_in_run, _take_in_calls):
        try:
            count(path, coverage)
        except (FsmError, ValueError, OSError):
            continue


def _take_in_run(path: Path, coverage: Coverage) -> None:
    trace = read_trace(path)
    if trace.header.table != digest(LOOP):
        return
    loop = records.loop_from(trace.header.start)
    for record, outcome in records.steps_of(trace):
        step = decide(LOOP, State(record.source), loop, outcome)
        coverage.saw(step)
        loop = step.after


def _take_in_calls(path: Path, coverage: Coverage) -> None:
    for life in calls_of(path).lives:
        facts = life.facts
        for record, outcome in outcomes_of(life):
            step = decide(TOOL_CALL, CallState(record.source), facts, outcome)
            coverage.saw(step)
            facts = step.after


def traces_in(folder: Path) -> Iterator[Path]:
    """Not by `rglob`: that raises where a process that is just ending takes a folder away, and
    the test that has passed is told as an error."""
    for place, _, names in os.walk(folder):
        yield from (Path(place, name) for name in names if name.endswith(".trace.jsonl"))


# --- the plugin ------------------------------------------------------------------------------


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("interlock")
    group.addoption(
        "--edges",
        choices=("counts", "missing"),
        default="counts",
        help="of the machines' edges: how many were taken, or also which were not",
    )
    group.addoption(
        "--edges-least",
        type=int,
        metavar="N",
        help="fail unless the tests took N edges of the loop",
    )


@pytest.fixture
def edges() -> Coverage:
    """What all tests have seen so far; `take_in(trace, edges)` adds a trace from elsewhere."""
    return COVERAGE


def pytest_configure() -> None:
    if COVERAGE.saw not in observers:
        observers.append(COVERAGE.saw)


def pytest_runtest_teardown(item: pytest.Item) -> None:
    folder = getattr(item, "funcargs", {}).get("tmp_path")
    if isinstance(folder, Path):
        for path in traces_in(folder):
            take_in(path)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """A process of a parallel run is done: take in what it has seen."""
    COVERAGE.merge(Coverage.load(getattr(node, "workeroutput", {}).get("edges", "")))


def pytest_sessionfinish(session: pytest.Session) -> None:
    worker: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
    least: int | None = session.config.getoption("--edges-least")
    if worker is not None:
        worker["edges"] = COVERAGE.dump()
    elif least is not None and taken() < least:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def taken() -> int:
    """How many edges of the loop were taken."""
    report = COVERAGE.report(LOOP)
    return len(report.edges) - len(report.missing_edges)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    terminalreporter.section("edges of the machines")
    for machine in COVERED:
        lines = render(COVERAGE.report(machine)).splitlines()
        for line in lines if config.getoption("--edges") == "missing" else lines[:1]:
            terminalreporter.write_line(line)
    least: int | None = config.getoption("--edges-least")
    if least is not None and taken() < least:
        terminalreporter.write_line(f"too few: --edges-least asks for {least} of the loop")
