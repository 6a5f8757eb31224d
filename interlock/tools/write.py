"""Write: make a file, or replace one the model has read."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import anyio.to_thread

from interlock.tools import disk, matching
from interlock.tools.edit import STALE, current, file_to_write, notes
from interlock.tools.filetext import FileText, NotText, lf
from interlock.tools.paths import shown
from interlock.tools.reads import NotAsRead, digest
from interlock.tools.tool import Arguments, Output, Tool, ToolContext, ToolError, Touches


class Write(Tool):
    name = "Write"
    description = (
        "Writes a whole file. Folders on the way are made. A file that exists is replaced, and"
        " must have been read with Read in this session and still hold what was read; its"
        " encoding, its mode, and CRLF line ends if it has nothing else are kept. For a change"
        " in a part of a file use Edit. Make files the task needs, not notes about the work."
    )
    input_schema = {  # noqa: RUF012 (never changed)
        "type": "object",
        "properties": {
            "file_path": {
                "type": "string",
                "description": "The file: an absolute path, or relative to the working folder.",
            },
            "content": {"type": "string", "description": "All that the file is to hold."},
        },
        "required": ["file_path", "content"],
        "additionalProperties": False,
    }

    def touches(self, arguments: Arguments, cwd: Path) -> Touches:
        return file_to_write(arguments["file_path"], cwd)

    async def preview(self, arguments: Arguments, context: ToolContext) -> str:
        path = context.path(arguments["file_path"])
        data = await anyio.to_thread.run_sync(current, path)
        source = _known(path, data, context)
        before = source.view if source is not None else ""
        return matching.diff(shown(path, context.cwd), before, lf(arguments["content"]))

    async def run(self, arguments: Arguments, context: ToolContext) -> Output:
        path = context.path(arguments["file_path"])
        return await anyio.to_thread.run_sync(partial(_write, path, arguments["content"], context))


def _write(path: Path, content: str, context: ToolContext) -> Output:
    data = current(path)
    source = _known(path, data, context)
    name = shown(path, context.cwd)
    try:
        after, kept = _encoded(source, content)
        written = disk.create(path, after) if data is None else disk.replace(path, after, data)
    except NotText as error:
        raise ToolError(str(error)) from error
    except disk.ChangedMeanwhile as error:
        raise ToolError(STALE.format(path=path)) from error
    context.reads.remember(path, digest(after))
    count = content.count("\n") + (not content.endswith("\n") and content != "")
    lines = "1 line" if count == 1 else f"{count} lines"
    if source is None:
        verb = "Replaced" if data is not None else "Made"
        return Output(f"{verb} {name} ({lines}).{notes(None, written)}")
    difference = matching.diff(name, source.view, lf(content))
    said = f"Replaced {name} ({lines}){kept}.{notes(None, written)}"
    return Output(f"{said}\n\n{difference}" if difference else f"{said} It holds the same text.")


def _known(path: Path, data: bytes | None, context: ToolContext) -> FileText | None:
    """The old content as text, after the check that the model has seen it; None if there is no
    file, or an image, which has no lines to keep."""
    if data is None:
        return None
    try:
        context.reads.require(path, data)
        return FileText.of(data)
    except NotAsRead as error:
        raise ToolError(str(error)) from error
    except NotText:
        return None


def _encoded(source: FileText | None, content: str) -> tuple[bytes, str]:
    """The bytes to write, and what was kept of the old file, in words."""
    if source is None or source.bad_byte is not None:
        return FileText(text="").bytes(content), ""
    kept = ""
    if source.crlf_only and "\r" not in content:
        content = content.replace("\n", "\r\n")
        kept += ", its CRLF line ends kept"
    if source.bom and content.startswith("\ufeff"):
        content = content[1:]
    if source.encoding != "utf-8":
        kept += f", its encoding {source.encoding} kept"
    elif source.bom:
        kept += ", its byte order mark kept"
    return source.bytes(content), kept
