"""A pytest fixture that turns runs of an agent into golden tests.

    pytest_plugins = ["interlock.testing.golden"]

    async def test_the_fix_stays_the_same_run(golden):
        async with open_agent(Options(), settings, asker=NobodyAsks()) as agent:
            summary = await agent.prompt("fix the test", show)
        await golden.keeps("fix", agent.paths.trace(summary.run_id))

The first time, and with `--golden-new`, the run becomes `golden/fix.recording.jsonl` beside the
test. From then on that file is run again through the real phases, to the byte; for that alone
there is `golden.runs("fix")`, which needs neither agent nor model.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from attrs import frozen

from interlock.recording.form import written
from interlock.recording.reading import beside, read_recording
from interlock.recording.rerun import Rerun, render, rerun
from interlock.recording.scrub import scrubbed
from interlock.sessions.runs import RECORDING


@frozen(kw_only=True)
class Golden:
    """The golden runs of one test file."""

    folder: Path
    anew: bool = False

    def path(self, name: str) -> Path:
        return self.folder / f"{name}{RECORDING}"

    async def keeps(self, name: str, trace: Path) -> Rerun:
        """Keep the recording of the run with this trace, without its secrets, unless there is one
        of this name already; then run what is kept again."""
        path = self.path(name)
        if self.anew or not path.exists():
            source = beside(trace)
            if not source.exists():
                pytest.fail(f"{trace.name} was not recorded: open the agent without record=False")
            clean, _ = scrubbed(read_recording(source), os.environ)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(written(clean))
        return await self.runs(name)

    async def runs(self, name: str) -> Rerun:
        """Run a kept recording again; the test fails, side by side, where it is another run."""
        with tempfile.TemporaryDirectory(prefix="interlock-") as folder:
            again = await rerun(read_recording(self.path(name)), Path(folder))
        if not again.identical:
            pytest.fail(f"{self.path(name)} is another run now:\n{render(again)}", pytrace=False)
        return again


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--golden-new", action="store_true", help="keep golden runs anew")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """The golden runs in the folder `golden` beside the test."""
    return Golden(
        folder=request.path.parent / "golden", anew=request.config.getoption("--golden-new")
    )
