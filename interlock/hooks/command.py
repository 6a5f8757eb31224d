"""Running one command hook: JSON in, bounded output out, its tree ended at its time limit.

The shell's end is the hook's end: children that keep its output open are not waited for, and may
go on until the session is closed. A hook that does not read its input is none the worse for it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import anyio
import anyio.to_thread
from attrs import define, field, frozen

MOST_OUTPUT = 1 << 20  # bytes kept of each stream; the rest is read, so that nobody gets stuck
_LAST_WORDS_S = 0.25  # after the shell's end, for output that is on its way
_CHUNK = 1 << 16


@frozen(kw_only=True)
class Trees:
    """How processes are marked, found and ended with all they have started."""

    variable: str  # of the environment; what a hook starts inherits it
    end: Callable[[str, tuple[int, ...]], bool]  # blocks; takes a mark and sessions


@frozen(kw_only=True)
class Ran:
    """What became of it. `code` None: it did not come to an end by itself, see `problem`."""

    code: int | None
    out: str = ""
    err: str = ""
    cut: bool = False  # there was more output than is kept
    problem: str | None = None


@define
class _Kept:
    """The head of a stream."""

    data: bytearray = field(factory=bytearray)
    cut: bool = False

    def add(self, chunk: bytes) -> None:
        room = MOST_OUTPUT - len(self.data)
        self.data += chunk[:room]
        self.cut = self.cut or len(chunk) > room

    @property
    def text(self) -> str:
        return self.data.decode(errors="replace")


@define(kw_only=True)
class Command:
    """One command, run once."""

    line: str
    payload: bytes
    cwd: Path
    environment: Mapping[str, str]
    mark: str
    timeout: float
    trees: Trees
    _out: _Kept = field(factory=_Kept, init=False)
    _err: _Kept = field(factory=_Kept, init=False)

    async def run(self) -> Ran:
        with contextlib.ExitStack() as stack:
            their_in, ours_in = _pipe(stack)
            ours_out, their_out = _pipe(stack)
            ours_err, their_err = _pipe(stack)
            for ours in (ours_in, ours_out, ours_err):
                os.set_blocking(ours.fd, False)
            try:
                process = self._started(their_in.fd, their_out.fd, their_err.fd)
            except (OSError, ValueError) as error:
                return Ran(code=None, problem=f"could not be started: {error}")
            for theirs in (their_in, their_out, their_err):
                theirs.close()
            ended = await self._followed(process, ours_in, ours_out.fd, ours_err.fd)
        return Ran(
            code=process.returncode if ended else None,
            out=self._out.text,
            err=self._err.text,
            cut=self._out.cut,
            problem=None if ended else f"was ended at its time limit of {self.timeout:g} s",
        )

    def _started(self, stdin: int, stdout: int, stderr: int) -> subprocess.Popen[bytes]:
        shell = shutil.which("bash") or "/bin/sh"
        return subprocess.Popen(
            [shell, "-c", self.line],
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            cwd=self.cwd,
            env={**self.environment, self.trees.variable: self.mark},
            start_new_session=True,
        )

    async def _followed(
        self, process: subprocess.Popen[bytes], stdin: _End, stdout: int, stderr: int
    ) -> bool:
        """Whether it ended by itself, in time."""
        ended, quiet = False, _Countdown(2)
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._feed, stdin)
                tasks.start_soon(_read, stdout, self._out, quiet)
                tasks.start_soon(_read, stderr, self._err, quiet)
                with anyio.move_on_after(self.timeout):
                    await anyio.to_thread.run_sync(
                        process.wait, abandon_on_cancel=True, limiter=_own_thread()
                    )
                    ended = True
                if not ended:
                    await self._end_tree(process)
                with anyio.move_on_after(_LAST_WORDS_S):
                    await quiet.over.wait()
                tasks.cancel_scope.cancel()
        except BaseException:  # however we leave, nothing it started stays behind
            await self._end_tree(process)
            raise
        return ended

    async def _feed(self, stdin: _End) -> None:
        left = memoryview(self.payload)
        # A hook may close its input, or end, without having read a word.
        with contextlib.suppress(BrokenPipeError):
            while left:
                await anyio.wait_writable(stdin.fd)
                with contextlib.suppress(BlockingIOError):
                    left = left[os.write(stdin.fd, left[:_CHUNK]) :]
        stdin.close()

    async def _end_tree(self, process: subprocess.Popen[bytes]) -> None:
        """End everything, whoever cancels; only then may the hook be over."""
        with anyio.CancelScope(shield=True):
            sessions = () if process.returncode is not None else (process.pid,)
            await anyio.to_thread.run_sync(self.trees.end, self.mark, sessions)
            await anyio.to_thread.run_sync(process.wait, limiter=_own_thread())


@define
class _Countdown:
    """Streams that are still open."""

    left: int
    over: anyio.Event = field(factory=anyio.Event)

    def one_less(self) -> None:
        self.left -= 1
        if self.left == 0:
            self.over.set()


async def _read(fd: int, kept: _Kept, quiet: _Countdown) -> None:
    while True:
        await anyio.wait_readable(fd)
        try:
            chunk = os.read(fd, _CHUNK)
        except BlockingIOError:
            continue
        if not chunk:
            quiet.one_less()
            return
        kept.add(chunk)


@define
class _End:
    """One end of a pipe, closed once."""

    fd: int
    _closed: bool = False

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            os.close(self.fd)


def _pipe(stack: contextlib.ExitStack) -> tuple[_End, _End]:
    reading, writing = (_End(fd) for fd in os.pipe())
    stack.callback(reading.close)
    stack.callback(writing.close)
    return reading, writing


def _own_thread() -> anyio.CapacityLimiter:
    """To wait for a process: not with one of the threads that tools read files with."""
    return anyio.CapacityLimiter(1)
