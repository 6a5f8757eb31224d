"""Child processes whose exit code cannot be lost, whenever we are cancelled.

asyncio's own can: cancelled just as the child ends, it reaps it twice and complains on standard
error ("Unknown child process pid"). Here the Popen object alone reaps, when a descriptor of the
process (Linux) or a thread says that it has ended. Knows nothing of shells or trees.
"""

from __future__ import annotations

import math
import os
import signal
import subprocess
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import IO

import anyio
import anyio.to_thread
from attrs import define, frozen

CHUNK = 1 << 16


async def ended(process: subprocess.Popen[bytes]) -> int:
    """Wait for its end; its exit code, negative for a signal. Cancelled, it leaves it alone."""
    watched = _descriptor(process)
    if watched is None:
        # A limiter of its own: many long commands must not use up the threads others need.
        limiter = anyio.CapacityLimiter(math.inf)
        return await anyio.to_thread.run_sync(
            process.wait, abandon_on_cancel=True, limiter=limiter
        )
    try:
        await anyio.wait_readable(watched)
    finally:
        os.close(watched)
    return process.wait()


def _descriptor(process: subprocess.Popen[bytes]) -> int | None:
    """What becomes readable when the process ends; None where the system has no such thing."""
    if process.returncode is not None or not hasattr(os, "pidfd_open"):
        return None
    try:
        return os.pidfd_open(process.pid)
    except OSError:  # an old kernel, or a container that forbids it
        return None


async def read(stream: IO[bytes]) -> bytes:
    """What a pipe has next; b"" once everyone who could write to it has closed it."""
    number = stream.fileno()
    os.set_blocking(number, False)
    while True:
        await anyio.wait_readable(number)
        with suppress(BlockingIOError):
            return os.read(number, CHUNK)


@define
class Child:
    """A running child, in a session of its own, with pipes for what it says."""

    process: subprocess.Popen[bytes]

    @property
    def stdout(self) -> IO[bytes]:
        assert self.process.stdout is not None
        return self.process.stdout

    @property
    def stderr(self) -> IO[bytes]:
        assert self.process.stderr is not None
        return self.process.stderr

    async def wait(self) -> int:
        return await ended(self.process)


@asynccontextmanager
async def started(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str] | None = None,
    stdin: int = subprocess.DEVNULL,
) -> AsyncIterator[Child]:
    """Start a child; leaving the block kills it if it still runs, and always waits for it.

    Raises OSError if it cannot be started.
    """
    process = subprocess.Popen(  # noqa: ASYNC220 (a vfork; anyio's own way loses exit codes)
        argv,
        cwd=cwd,
        env=env,
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        start_new_session=True,
    )
    child = Child(process)
    try:
        yield child
    finally:
        with anyio.CancelScope(shield=True):
            if process.poll() is None:
                with suppress(OSError):  # the group may have ended by now
                    os.killpg(process.pid, signal.SIGKILL)
                await child.wait()
        child.stdout.close()
        child.stderr.close()


@frozen
class Ran:
    code: int
    stdout: bytes
    stderr: bytes


async def run(argv: Sequence[str], *, cwd: Path, env: Mapping[str, str] | None = None) -> Ran:
    """Run a program to its end and return all it says: for those known to say little.

    Raises OSError if it cannot be started.
    """
    said: list[bytes] = []
    complained: list[bytes] = []
    async with started(argv, cwd=cwd, env=env) as child:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_kept, child.stdout, said.append)
            tasks.start_soon(_kept, child.stderr, complained.append)
        code = await child.wait()
    return Ran(code, b"".join(said), b"".join(complained))


async def _kept(stream: IO[bytes], keep: Callable[[bytes], None]) -> None:
    while chunk := await read(stream):
        keep(chunk)
