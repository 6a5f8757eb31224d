"""Running ripgrep: its records as they come, within a time limit, and what went wrong.

Exit code 1 means that nothing was found, 2 that something failed, perhaps beside hits; the two
are never mixed up, and what it says on standard error is kept.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import IO

import anyio
from attrs import define, field, frozen

from interlock import children
from interlock.permissions.globs import BadPattern, Glob, compiled, literally
from interlock.tools.tool import ToolError

TIME_LIMIT_S = 20.0  # a search that takes longer is better narrowed
_BETWEEN_PROGRESS_S = 2.0
_MAX_PROBLEMS = 2_000  # characters of standard error
_MAX_RECORD = 1 << 20  # bytes; no path is longer, and lines are cut by ripgrep itself
# Hidden files are part of a project, the inside of version control is not. `--no-require-git`:
# a .gitignore counts in a folder that is no repository, too.
COMMON = (
    *("--no-config", "--color=never", "--hidden", "--no-require-git"),
    *("--glob=!.git", "--glob=!.hg", "--glob=!.svn", "--glob=!.jj"),
)


Records = Callable[[bytes], list[bytes]]  # the records in some bytes, and what is left at last
# Of searches with --null: a name may hold a line end, so a line ends behind its name's NUL only.
# In between stand gaps, and notes on binary files, which have no NUL.
_NAMED = re.compile(
    rb"--\r?\n"
    rb"|\./[^\0\n]*: (?:binary file matches|WARNING: stopped searching binary file) ?[^\n]*\n"
    rb"|\./[^\0]*\0[^\n]*\n"
)


def ending_in(end: bytes) -> Records:
    return lambda data: data.split(end)


def named_lines(data: bytes) -> list[bytes]:
    """Lines behind the path of their file and a NUL; a gap or a note is a line without."""
    found, at = list[bytes](), 0
    while match := _NAMED.match(data, at):
        found.append(match[0].removesuffix(b"\n").removesuffix(b"\r"))
        at = match.end()
    return [*found, data[at:]]


@frozen(kw_only=True)
class Ended:
    """How a search ended. `code` is None if it was stopped: enough hits, or out of time."""

    code: int | None
    timed_out: bool
    problems: str


def find_rg() -> str:
    """The ripgrep that was installed with us, else the system's."""
    places = [Path(sys.executable).parent, Path(sysconfig.get_path("scripts"))]
    for place in places:
        found = shutil.which("rg", path=str(place))
        if found is not None:
            return found
    found = shutil.which("rg")
    if found is None:
        raise ToolError("ripgrep (rg) is not installed; search with a command instead.")
    return found


def pattern(text: str) -> Glob:
    """The pattern of a search; brackets stand for what they hold, and for themselves too."""
    try:
        meant, plain = compiled(text), literally(text)
        if plain is None:
            return meant
        return Glob((*meant.alternatives, *compiled(plain).alternatives))
    except BadPattern as error:
        raise ToolError(f"{error}.") from error


@define(kw_only=True)
class Search:
    """One run. `take` gets each record and says whether it wants more."""

    arguments: list[str]
    folder: Path
    records: Records
    take: Callable[[bytes], bool]
    time_limit: float = TIME_LIMIT_S
    stdin: int = subprocess.DEVNULL
    progress: Callable[[], None] | None = None  # called every few seconds of a long search
    _problems: str = ""
    _rest: bytes = field(default=b"", init=False)

    async def run(self) -> Ended:
        code = None
        with anyio.move_on_after(self.time_limit) as limit:
            # Leaving the block ends the process, on a cancellation too.
            async with (
                children.started(self.arguments, cwd=self.folder, stdin=self.stdin) as rg,
                anyio.create_task_group() as watching,
            ):
                watching.start_soon(self._tell_progress)
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(self._keep_problems, rg.stderr)
                    if await self._pass_on(rg.stdout):
                        code = await rg.wait()
                    else:
                        tasks.cancel_scope.cancel()
                watching.cancel_scope.cancel()
        return Ended(code=code, timed_out=limit.cancelled_caught, problems=self._problems.strip())

    async def _pass_on(self, output: IO[bytes]) -> bool:
        while chunk := await children.read(output):
            *records, self._rest = self.records(self._rest + chunk)
            self._rest = self._rest[:_MAX_RECORD]
            if not all(self.take(record) for record in records):
                return False
        return not self._rest or self.take(self._rest)

    async def _keep_problems(self, errors: IO[bytes]) -> None:
        while chunk := await children.read(errors):
            if len(self._problems) < _MAX_PROBLEMS:
                self._problems += chunk.decode(errors="replace")

    async def _tell_progress(self) -> None:
        while self.progress is not None:
            await anyio.sleep(_BETWEEN_PROGRESS_S)
            self.progress()


def told(ended: Ended, what: str, nothing_found: bool) -> list[str]:
    """Notes on how a search for `what` ended; raises if it failed and so found nothing."""
    notes = []
    if ended.timed_out:
        notes.append(
            f"The search was ended after {TIME_LIMIT_S:g} s, so this is not all. Narrow it."
        )
    problems = ended.problems[:_MAX_PROBLEMS]
    if ended.code not in (None, 0, 1) and nothing_found and not _is_partial(problems):
        why = problems or f"ripgrep ended with {ended.code}"
        raise ToolError(f"The search for {what!r} failed: {why}")
    if problems:
        notes.append(f"Some files could not be searched: {problems}")
    return notes


def _is_partial(problems: str) -> bool:
    """Whether single files failed, and not the search as such: `rg: ./path: reason`."""
    lines = [line for line in problems.splitlines() if line.strip()]
    return bool(lines) and all(line.startswith(("rg: ./", "./")) for line in lines)
