"""BashOutput: what a command in the background has printed since the last look, and its status."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import anyio
from attrs import define, field

from interlock.tools import search
from interlock.tools.background import Background
from interlock.tools.background_log import Log
from interlock.tools.ending import left_behind
from interlock.tools.tool import Arguments, Output, Tool, ToolContext, ToolError

_ROOM_FOR_NOTES = 1_500  # characters below the cap for what we say beside the output
_FILTER_LIMIT_S = 5.0
_CHUNK = 1 << 16


class BashOutput(Tool):
    name = "BashOutput"
    time_limit = 30.0
    description = (
        "Shows what a background command has printed since you last looked, and whether it still"
        " runs or how it ended. Without `bash_id` it lists all background commands.\n"
        "- `filter` is a regular expression (ripgrep's): only lines that match are shown, and"
        " the others count as looked at.\n"
        "- Do not ask again and again: a notice comes when the command ends."
    )
    input_schema = {  # noqa: RUF012 (never changed)
        "type": "object",
        "properties": {
            "bash_id": {"type": "string", "description": "The id Bash gave, such as bash_1."},
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
        if "bash_id" not in arguments:
            return Output(_listed(self._background))
        one = self._background.find(arguments["bash_id"])
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


def _listed(background: Background) -> str:
    lines = [f"{one.id} {one.status()}: {' '.join(one.line.split())[:200]}" for one in background]
    return "\n".join(lines) or "No command was started in the background."


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
