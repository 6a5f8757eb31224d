"""When this program is gone, however it went, so is everything its commands started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tools.test_tools_bash import running
from tests.waiting import until

PROGRAM = """
import asyncio, os, sys
from pathlib import Path
from interlock.tools import Bash, FileReads, ToolContext
from phases.world.limits import Limits

async def main():
    folder = Path(os.path.realpath(sys.argv[1]))
    context = ToolContext(
        cwd=folder, root=folder, limits=Limits(), reads=FileReads(), spill=folder
    )
    bash = Bash()
    await bash.run({"command": "nohup sleep 100 >/dev/null 2>&1 &"}, context)
    # Its environment cleared, in a session of its own, its parent gone: it still prints here.
    hidden = f"(env -i PATH=$PATH setsid sh -c 'sleep 100; : {os.environ['MARK']}' &)"
    await bash.run({"command": hidden}, context)
    stubborn = "trap '' TERM; sleep 100; sleep 100"
    await bash.run({"command": stubborn, "run_in_background": True}, context)
    if sys.argv[2] == "killed":
        last = f"{hidden}; (trap '' TERM; sleep 100) & touch begun; sleep 100"
        await bash.run({"command": last}, context)

asyncio.run(main())
(Path(sys.argv[1]) / "begun").touch()
"""


@pytest.mark.parametrize("way", ["ended", "killed"])
async def test_nothing_lives_on(tmp_path: Path, way: str) -> None:
    mark = f"mark-{os.getpid()}-{way}"
    program = subprocess.Popen(  # noqa: ASYNC220 (it is to be killed as it is)
        [sys.executable, "-c", PROGRAM, str(tmp_path), way],
        env={**os.environ, "MARK": mark},
        cwd=Path(__file__).parents[2],
    )

    await until((tmp_path / "begun").exists)
    if way == "killed":
        assert len(running(mark)) > 3
        program.send_signal(signal.SIGKILL)
    program.wait()

    await until(lambda: running(mark) == [])
