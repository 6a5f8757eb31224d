"""Child processes: their exit code is never lost, whenever we are cancelled."""

from __future__ import annotations

import os
import random
import signal
import subprocess
from pathlib import Path

import anyio
import pytest

from interlock import children
from tests.waiting import until

HERE = Path("/")


async def test_what_it_says_and_how_it_ended_are_told() -> None:
    ran = await children.run(["sh", "-c", "echo out; echo err >&2; exit 3"], cwd=HERE)

    assert ran == children.Ran(3, b"out\n", b"err\n")


async def test_a_signal_is_a_negative_code() -> None:
    ran = await children.run(["sh", "-c", "kill -TERM $$"], cwd=HERE)

    assert ran.code == -signal.SIGTERM


async def test_more_than_a_pipe_holds_arrives_whole() -> None:
    ran = await children.run(["head", "-c", "1000000", "/dev/zero"], cwd=HERE)

    assert len(ran.stdout) == 1_000_000


async def test_what_does_not_exist_is_an_os_error() -> None:
    with pytest.raises(FileNotFoundError):
        await children.run(["/no/such/program"], cwd=HERE)


async def test_many_can_be_waited_for_at_once() -> None:
    running = [_sleeping() for _ in range(60)]
    codes: list[int] = []

    async def wait(process: subprocess.Popen[bytes]) -> None:
        codes.append(await children.ended(process))

    async with anyio.create_task_group() as tasks:
        for process in running:
            tasks.start_soon(wait, process)

    assert codes == [0] * 60


async def test_cancelled_at_any_moment_it_is_killed_reaped_and_silent(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    # asyncio's own way of running a child complains here, about one time in four.
    chance = random.Random(7)
    for number in range(150):
        with anyio.move_on_after(chance.uniform(0.0005, 0.006)):
            await children.run(["sh", "-c", f"echo $$ >{tmp_path}/{number}"], cwd=HERE)

    pids = [int(one.read_text()) for one in tmp_path.iterdir() if one.read_text().strip()]
    await until(lambda: not any(_ours(pid) for pid in pids))
    assert capfd.readouterr().err == ""


def _sleeping() -> subprocess.Popen[bytes]:
    return subprocess.Popen(["sleep", "0.2"])


def _ours(pid: int) -> bool:
    """Whether it is still a child of this process, running or not waited for."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return False
    return int(stat[1]) == os.getpid()
