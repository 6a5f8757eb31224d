"""TaskOutput: what runs in the background, how it stands, and what it has printed since last time.

Here it knows commands; `interlock/agents` widens it to agents. It takes the names and arguments of
the tools it stands for, which models call by habit.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from types import MappingProxyType

import anyio
from attrs import define, field

from interlock.tools import search
from interlock.tools.background import Background
from interlock.tools.background_log import Log
from interlock.tools.ending import left_behind
from interlock.tools.tool import Arguments, Output, Tool, ToolContext, ToolError

NOTHING = "Nothing was started in the background."
MOST_WAIT_MS = 600_000
_WAIT_MS = 30_000
_ROOM_FOR_NOTES = 1_500  # characters below the cap for what we say beside the output
_FILTER_LIMIT_S = 5.0
_CHUNK = 1 << 16


class TaskOutput(Tool):
    name = "TaskOutput"
    also = ("BashOutput", "BashOutputTool", "AgentOutputTool")
    also_arguments = MappingProxyType({"bash_id": "task_id", "agentId": "task_id"})
    time_limit = MOST_WAIT_MS / 1000 + 30
    description = (
        "Shows what a background command has printed since you last looked, and whether it still"
        " runs or how it ended; of an agent in the background how it stands, and its result once"
        " it is over. Without `task_id` it lists all of them.\n"
        "- For an agent it waits, `timeout` milliseconds at most, unless `block` is false; for a"
        " command only if `block` is true.\n"
        "- `filter` is a regular expression (ripgrep's): only lines of a command that match are"
        " shown, and the others count as looked at.\n"
        "- Do not ask again and again: a notice comes at the end. The result of an agent is told"
        " once: by this tool, or by that notice."
    )
    input_schema = {  # noqa: RUF012 (never changed)
        "type": "object",
        "properties": {
            "task_id": {
                "type": "string",
                "description": "The id that Bash or Agent gave, such as bash_1.",
            },
            "block": {"type": "boolean", "description": "Wait for its end."},
            "timeout": {
                "type": "integer",
                "minimum": 0,
                "maximum": MOST_WAIT_MS,
                "description": "Milliseconds; default 30000.",
            },
            "filter": {"type": "string", "description": "Show only lines that match this."},
        },
        "additionalProperties": False,
    }

    def __init__(self, background: Background) -> None:
        self._background = background

    def effects(self, arguments: Arguments) -> bool:
        return False

    # Not safe beside others: it moves on what "since you last looked" means, so it must not run
    # for a reply that may yet be dropped.

    async def run(self, arguments: Arguments, context: ToolContext) -> Output:
        if not arguments.get("task_id"):
            return Output("\n".join(self.listed()) or NOTHING)
        one = self._background.find(arguments["task_id"])
        if arguments.get("block", False):
            with anyio.move_on_after(wait_of(arguments)):
                await one.over.wait()
        pattern = arguments.get("filter")
        most = max(500, context.limits.tool_output_cap - _ROOM_FOR_NOTES)
        over = one.is_over  # asked first: what it printed until then is in the log by now
        notes: list[str] = []
        if pattern is None:
            news = one.log.since(one.seen, most)
            shown, until = news.text.rstrip("\n"), news.until
        else:
            until = one.log.total
            shown, notes = await _matching(one.log, one.seen, until, pattern, most)
        one.seen = until
        if not over and pattern is None and (line := one.unfinished_line):
            notes.append(f"(The line it is printing: {line[-1000:]})")
        notes.append(f"({one.id} {one.status()}.)")
        if one.finished is not None:
            notes += left_behind(one.finished)
        return Output("\n".join([shown or "(no new output)", *notes]))

    def listed(self) -> list[str]:
        """A line for each."""
        return [
            f"{one.id} {one.status()}: {' '.join(one.line.split())[:200]}"
            for one in self._background
        ]


def wait_of(arguments: Arguments) -> float:
    """How long a call is willing to wait, in seconds."""
    milliseconds: int = arguments.get("timeout", _WAIT_MS)
    return milliseconds / 1000


async def _matching(
    log: Log, since: int, until: int, pattern: str, most: int
) -> tuple[str, list[str]]:
    """The lines that match, in bounded time whatever the pattern: ripgrep's never backtrack."""
    if "\0" in pattern:
        raise ToolError("`filter` cannot hold a NUL character.")
    kept = _Kept(most)
    read_end, write_end = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    os.set_blocking(read_end, True)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_feed, log, since, until, write_end)
            ended = await search.Search(
                arguments=[search.find_rg(), *_FILTER, "-e", pattern, "-"],
                folder=Path("/"),
                records=search.ending_in(b"\n"),
                take=kept.line,
                time_limit=_FILTER_LIMIT_S,
                stdin=read_end,
            ).run()
            tasks.cancel_scope.cancel()
    finally:
        os.close(read_end)
        with contextlib.suppress(OSError):
            os.close(write_end)
    notes = search.told(ended, pattern, not kept.lines)
    if kept.full:
        notes.append("More lines match than can be shown: the first are. Narrow the filter.")
    return "\n".join(kept.lines), [f"({note})" for note in notes]


_FILTER = (*search.COMMON, "--no-line-number", "--no-filename", "--text")


@define
class _Kept:
    room: int
    lines: list[str] = field(factory=list)
    full: bool = False

    def line(self, record: bytes) -> bool:
        text = record.decode(errors="replace")
        self.full = len(text) >= self.room
        if not self.full:
            self.room -= len(text) + 1
            self.lines.append(text)
        return not self.full


async def _feed(log: Log, since: int, until: int, pipe: int) -> None:
    """Write what was printed in between into the pipe, and close it."""
    on_disk = min(log.on_disk, until)
    unsaved = log.unsaved(since)
    with contextlib.suppress(BrokenPipeError):
        if since < on_disk:
            with log.path.open("rb") as file:
                file.seek(since)
                while chunk := file.read(min(_CHUNK, on_disk - file.tell())):
                    await _write(pipe, chunk)
        await _write(pipe, unsaved)
    os.close(pipe)


async def _write(pipe: int, data: bytes) -> None:
    while data:
        await anyio.wait_writable(pipe)
        with contextlib.suppress(BlockingIOError):
            data = data[os.write(pipe, data) :]
