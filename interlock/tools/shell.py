"""Running one command line with bash: its output as it comes, its end, and what it leaves.

No terminal, empty input, a session of its own. The shell's end is the command's end: children
that keep the output open are not waited for, and go on with somewhere to write to. A time limit
or a cancellation ends the whole tree.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import anyio
import anyio.to_thread
from attrs import define, field, frozen

from interlock import children
from interlock.tools import processes
from interlock.tools.room import FULL, has_room
from interlock.tools.screen import Screen
from interlock.tools.seams import Confinement
from interlock.tools.shell_state import MOST_REPORTED, Report, wrapped

# Takes over the reading of a pipe that outlives its call, so that no one is ended by SIGPIPE.
# `ulimit` bounds what is kept, to 16 MiB in its blocks of 512 bytes; the rest is read and dropped.
_DRAIN = """
exec 3<&0
(trap '' XFSZ; (ulimit -f 32768; exec cat); exec cat >/dev/null) <&3 3<&- &
"""
_MOST_LATER = 16 << 20  # bytes, as above
_LAST_WORDS_S = 0.25  # after the shell's end, for output that is on its way
# One wake-up for each so many bytes: at 64 KiB, as a pipe has by default, a flood costs twice
# the time. The kernel takes the memory only while it is full.
_PIPE = 1 << 20


@frozen(kw_only=True)
class Finished:
    """How a command ended."""

    code: int
    report: Report
    timed_out: bool
    survived: bool  # a part of the tree could not be ended
    running: tuple[str, ...]  # what it left running
    session: int  # in which those run
    later_output: Path | None  # where the output of those goes


@define(kw_only=True)
class Command:
    """One command, run once: `start` it, then `follow` it, in whichever event loop."""

    line: str
    cwd: Path
    environment: Mapping[str, str]
    mark: str
    time_limit: float  # seconds; math.inf: none
    write: Callable[[str], None]  # gets the output
    later: Path  # for output that comes after the end
    confinement: Confinement | None = None
    settled: tuple[str, ...] = ()  # what the confinement put right at its end
    _screen: Screen = field(factory=Screen)
    _told: bytearray = field(factory=bytearray)
    output: str = field(default="", init=False)  # the pipe it prints to, by name; once started
    _process: subprocess.Popen[bytes] | None = None
    _output: int = -1
    _report: int = -1

    def start(self) -> None:
        """Raises OSError if it cannot be. Whoever starts it must follow it."""
        self._output, their_output = os.pipe2(os.O_CLOEXEC)
        self._report, their_report = os.pipe2(os.O_CLOEXEC)
        self.output = processes.pipe_name(self._output)
        os.set_blocking(self._output, False)
        os.set_blocking(self._report, False)
        with contextlib.suppress(OSError, AttributeError):  # not everywhere, nor for everyone
            fcntl.fcntl(self._output, fcntl.F_SETPIPE_SZ, _PIPE)
        try:
            self._process = self._started(their_output, their_report)
        except BaseException:  # however we leave, no descriptor stays open
            self._close()
            raise
        finally:
            os.close(their_output)
            os.close(their_report)

    def _started(self, output: int, report: int) -> subprocess.Popen[bytes]:
        bash = shutil.which("bash") or "/bin/bash"
        argv: tuple[str, ...] = (bash, *wrapped(self.line, report))
        if self.confinement is not None:
            argv = self.confinement.wrapped(argv, cwd=self.cwd)
        return subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=self.cwd,
            env={**self.environment, processes.MARK: self.mark, "PWD": str(self.cwd)},
            pass_fds=(report,),
            start_new_session=True,
        )

    def _close(self) -> None:
        os.close(self._output)
        os.close(self._report)

    @property
    def unfinished_line(self) -> str:
        """What it has printed since its last line end."""
        return self._screen.unfinished

    async def follow(self) -> Finished:
        """Wait for its end. Cancelled, it ends the whole tree first."""
        assert self._process is not None
        try:
            return await self._followed(self._process)
        finally:
            self._close()
            if self.confinement is not None:
                self.settled = self.confinement.settle()

    async def _followed(self, process: subprocess.Popen[bytes]) -> Finished:
        closed = anyio.Event()  # nobody holds the output any more
        running: tuple[str, ...] = ()
        later = None
        try:
            ended, survived = await self._until_its_end(process, closed)
            if ended:
                running = await self._running(process.pid, closed)
            if running and not closed.is_set():
                later = await self._hand_over()
        except BaseException:  # however we leave, nothing it started stays behind
            await self._end_tree(process)
            self._read_rest()
            raise
        finally:
            self.write(self._screen.end())
        return Finished(
            code=process.returncode,
            report=self._reported() if ended else Report(begun=True),
            timed_out=not ended,
            survived=survived,
            running=running,
            session=process.pid,
            later_output=later,
        )

    async def _until_its_end(
        self, process: subprocess.Popen[bytes], closed: anyio.Event
    ) -> tuple[bool, bool]:
        """Whether it ended by itself, and whether a part of it could not be ended."""
        ended, survived = False, False
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._read, closed)
            tasks.start_soon(self._listen)
            with anyio.move_on_after(self.time_limit):
                await children.ended(process)
                ended = True
            if not ended:
                survived = not await self._end_tree(process)
            with anyio.move_on_after(_LAST_WORDS_S):
                await closed.wait()
            tasks.cancel_scope.cancel()
        return ended, survived

    async def _read(self, closed: anyio.Event) -> None:
        while True:
            await anyio.wait_readable(self._output)
            try:
                chunk = os.read(self._output, _PIPE)
            except BlockingIOError:
                continue
            if not chunk:
                closed.set()
                return
            self.write(self._screen.feed(chunk))

    def _read_rest(self) -> None:
        """What is in the pipe now."""
        with contextlib.suppress(BlockingIOError):
            self.write(self._screen.feed(os.read(self._output, _PIPE)))

    async def _listen(self) -> None:
        """Keep the report: a shell with much to tell waits until someone listens."""
        while True:
            await anyio.wait_readable(self._report)
            if not self._hear():
                return

    def _hear(self) -> bool:
        """Whether there may be more. A child may hold the pipe: its end is not waited for."""
        try:
            chunk = os.read(self._report, children.CHUNK)
        except BlockingIOError:
            return True
        if len(self._told) < MOST_REPORTED:  # a cut report is none
            self._told += chunk
        return bool(chunk)

    def _reported(self) -> Report:
        before = -1
        while before != len(self._told):
            before = len(self._told)
            self._hear()
        return Report.read(bytes(self._told))

    async def _end_tree(self, process: subprocess.Popen[bytes]) -> bool:
        """End everything, whoever cancels; only then may the call be over."""
        with anyio.CancelScope(shield=True):
            sessions = () if process.returncode is not None else (process.pid,)
            gone = await anyio.to_thread.run_sync(
                processes.end, self.mark, sessions, (self.output,)
            )
            await children.ended(process)
        return gone

    async def _running(self, session: int, closed: anyio.Event) -> tuple[str, ...]:
        """What still runs; looked for only where there can be something."""
        if closed.is_set() and "&" not in self.line:
            return ()
        found = await anyio.to_thread.run_sync(
            processes.alive, self.mark, (session,), (self.output,)
        )
        return tuple(processes.described(found))

    async def _hand_over(self) -> Path | None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            if not has_room(self.later.parent, _MOST_LATER):
                raise OSError(errno.ENOSPC, FULL)
            self.later.parent.mkdir(parents=True, exist_ok=True)
            file = os.open(self.later, flags, 0o600)
        except OSError:
            file = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
            kept = None
        else:
            kept = self.later
        try:
            os.set_blocking(self._output, True)
            drain = subprocess.Popen(  # noqa: ASYNC220 (a vfork)
                ["/bin/sh", "-c", _DRAIN],
                stdin=self._output,
                stdout=file,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        finally:
            os.close(file)
        with anyio.CancelScope(shield=True):  # it forks and is gone
            await children.ended(drain)
        return kept
