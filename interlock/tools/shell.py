"""Running one command line with bash: its output as it comes, its end, and its folder after.

No terminal, empty input, a session of its own. The shell's end is the command's end: children
that keep the output open are not waited for, and go on with somewhere to write to. A time limit
or a cancellation ends the whole tree.
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

from interlock.tools import processes
from interlock.tools.screen import Screen
from interlock.tools.seams import Confinement

# The command runs through eval so that `cd` lasts, with the report's descriptor closed: children
# must not hold it. A trap of the command's own may replace ours; then the last line reports.
_WRAPPER = """
trap '{{ printf "%s\\0" "$PWD" >&{fd}; }} 2>/dev/null' EXIT
eval "$1" {fd}>&-
__interlock_code=$?
printf "%s\\0" "$PWD" >&{fd}
exit "$__interlock_code"
"""
# Takes over the reading of a pipe that outlives its call, so that no one is ended by SIGPIPE.
# `ulimit` bounds what is kept, to 16 MiB in its blocks of 512 bytes; the rest is read and dropped.
_DRAIN = """
exec 3<&0
(trap '' XFSZ; (ulimit -f 32768; exec cat); exec cat >/dev/null) <&3 3<&- &
"""
_LAST_WORDS_S = 0.25  # after the shell's end, for output that is on its way
_CHUNK = 1 << 16


@frozen(kw_only=True)
class Finished:
    """How a command ended. `cwd` is None if the shell could not tell."""

    code: int
    cwd: Path | None
    timed_out: bool
    survived: bool  # a part of the tree could not be ended
    running: tuple[str, ...]  # what it left running
    session: int  # in which those run
    later_output: Path | None  # where the output of those goes


@define(kw_only=True)
class Command:
    """One command, run once."""

    line: str
    cwd: Path
    environment: Mapping[str, str]
    mark: str
    time_limit: float
    write: Callable[[str], None]  # gets the output
    later: Path  # for output that comes after the end
    confinement: Confinement | None = None
    _screen: Screen = field(factory=Screen)
    _closed: anyio.Event = field(factory=anyio.Event)  # nobody holds the output any more

    async def run(self) -> Finished:
        output, their_output = os.pipe2(os.O_CLOEXEC)
        report, their_report = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(output, False)
        os.set_blocking(report, False)
        try:
            try:
                process = self._started(their_output, their_report)
            finally:
                os.close(their_output)
                os.close(their_report)
            return await self._followed(process, output, report)
        finally:
            os.close(output)
            os.close(report)

    def _started(self, output: int, report: int) -> subprocess.Popen[bytes]:
        bash = shutil.which("bash") or "/bin/bash"
        environment = {**self.environment, processes.MARK: self.mark, "PWD": str(self.cwd)}
        argv: tuple[str, ...] = (bash, "-c", _WRAPPER.format(fd=report), "bash", self.line)
        if self.confinement is not None:
            argv = self.confinement.wrapped(argv, cwd=self.cwd)
        return subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=self.cwd,
            env=environment,
            pass_fds=(report,),
            start_new_session=True,
        )

    async def _followed(
        self, process: subprocess.Popen[bytes], output: int, report: int
    ) -> Finished:
        ended, survived = False, False
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._read, output)
                with anyio.move_on_after(self.time_limit):
                    await anyio.to_thread.run_sync(process.wait, abandon_on_cancel=True)
                    ended = True
                if not ended:
                    survived = not await self._end_tree(process)
                with anyio.move_on_after(_LAST_WORDS_S):
                    await self._closed.wait()
                tasks.cancel_scope.cancel()
        except BaseException:
            await self._end_tree(process)
            self._read_rest(output)
            raise
        finally:
            self.write(self._screen.end())
        running = await self._running(process.pid) if ended else ()
        later = None
        if running and not self._closed.is_set():
            later = await self._hand_over(output)
        return Finished(
            code=process.returncode,
            cwd=_reported(report),
            timed_out=not ended,
            survived=survived,
            running=running,
            session=process.pid,
            later_output=later,
        )

    async def _read(self, output: int) -> None:
        while True:
            await anyio.wait_readable(output)
            try:
                chunk = os.read(output, _CHUNK)
            except BlockingIOError:
                continue
            if not chunk:
                self._closed.set()
                return
            self.write(self._screen.feed(chunk))

    def _read_rest(self, output: int) -> None:
        """What is in the pipe now; it holds 64 KiB on Linux, a little more elsewhere."""
        with contextlib.suppress(BlockingIOError):
            self.write(self._screen.feed(os.read(output, 1 << 20)))

    async def _end_tree(self, process: subprocess.Popen[bytes]) -> bool:
        """End everything, whoever cancels; only then may the call be over."""
        with anyio.CancelScope(shield=True):
            sessions = () if process.returncode is not None else (process.pid,)
            gone = await anyio.to_thread.run_sync(processes.end, self.mark, sessions)
            await anyio.to_thread.run_sync(process.wait)
        return gone

    async def _running(self, session: int) -> tuple[str, ...]:
        """What still runs; looked for only where there can be something."""
        if self._closed.is_set() and "&" not in self.line:
            return ()
        found = await anyio.to_thread.run_sync(processes.alive, self.mark, (session,))
        return tuple(processes.described(found))

    async def _hand_over(self, output: int) -> Path | None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            self.later.parent.mkdir(parents=True, exist_ok=True)
            file = os.open(self.later, flags, 0o600)
        except OSError:
            file = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
            kept = None
        else:
            kept = self.later
        try:
            os.set_blocking(output, True)
            await anyio.run_process(
                ["/bin/sh", "-c", _DRAIN],
                stdin=output,
                stdout=file,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        finally:
            os.close(file)
        return kept


def _reported(report: int) -> Path | None:
    """The folder the shell was in at its end: the last of what it reported."""
    got = b""
    try:
        while chunk := os.read(report, _CHUNK):
            got += chunk
    except BlockingIOError:
        pass  # a child still holds the pipe; the shell's own words are there
    told = [one for one in got.split(b"\0")[:-1] if one.startswith(b"/")]
    return Path(os.fsdecode(told[-1])) if told else None
