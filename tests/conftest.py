"""Coverage of the machines: which edges the test run took, which guards it saw True and False.

Fed by every run that a test plays over scripted ports, by every call of the executor's own tests,
and by every trace that a test leaves under its `tmp_path`, whichever process wrote it.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from fsm import FsmError, Machine, decide, digest, read_trace
from fsm.cover import Coverage, render
from interlock import records
from interlock.call_records import calls_of, outcomes_of
from interlock.table import LOOP
from interlock.testing import observers
from interlock.tools.lifecycle import TOOL_CALL, CallState
from phases.world.states import State
from tests.tools.running import call_observers

COVERAGE = Coverage()
COVERED: tuple[Machine[Any], ...] = (LOOP, TOOL_CALL)

# No deadline: a busy machine is no defect. In CI the examples are the same each time, so that a
# red run always means a change; at home they differ, so that they still find something.
settings.register_profile("house", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("house")


def pytest_configure() -> None:
    observers.append(COVERAGE.saw)
    call_observers.append(COVERAGE.saw)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # Started in the background of a shell: the commands under test would inherit deafness.
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_runtest_teardown(item: pytest.Item) -> None:
    folder = getattr(item, "funcargs", {}).get("tmp_path")
    if isinstance(folder, Path):
        for path in _traces_in(folder):
            _take_in(path)
            _take_in_calls(path)


def _traces_in(folder: Path) -> Iterator[Path]:
    """Not by `rglob`: that raises where a process that is just ending takes a folder away, and
    the test that has passed is told as an error."""
    for place, _, names in os.walk(folder):
        yield from (Path(place, name) for name in names if name.endswith(".trace.jsonl"))


def _take_in(path: Path) -> None:
    try:
        trace = read_trace(path)
        if trace.header.table != digest(LOOP):
            return
        loop = records.loop_from(trace.header.start)
        for record, outcome in records.steps_of(trace):
            step = decide(LOOP, State(record.source), loop, outcome)
            COVERAGE.saw(step)
            loop = step.after
    except (FsmError, ValueError, OSError):
        return  # a test that spoils its trace on purpose


def _take_in_calls(path: Path) -> None:
    try:
        for life in calls_of(path).lives:
            facts = life.facts
            for record, outcome in outcomes_of(life):
                step = decide(TOOL_CALL, CallState(record.source), facts, outcome)
                COVERAGE.saw(step)
                facts = step.after
    except (FsmError, ValueError, OSError):
        return


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """A process of a parallel run is done: take in what it has seen."""
    COVERAGE.merge(Coverage.load(getattr(node, "workeroutput", {}).get("edges", "")))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A whole test run that leaves an edge or a guard value unseen has failed."""
    worker: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
    if worker is not None:
        worker["edges"] = COVERAGE.dump()
    elif _whole_run(session.config) and not all(COVERAGE.report(one).whole for one in COVERED):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    terminalreporter.section("edges of the machines")
    for machine in COVERED:
        lines = render(COVERAGE.report(machine)).splitlines()
        for line in lines if _whole_run(config) else lines[:1]:
            terminalreporter.write_line(line)


def _whole_run(config: pytest.Config) -> bool:
    return bool(config.args == config.getini("testpaths") and not config.option.keyword)
