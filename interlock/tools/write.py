"""Write: make a file, or replace one the model has read."""

from __future__ import annotations

from pathlib import Path

from interlock.counted import counted
from interlock.tools.change import Change, FileChange, current, require_letters
from interlock.tools.filetext import FileText, NotText, lf
from interlock.tools.paths import shown
from interlock.tools.tool import Arguments, ToolContext

_LOST = "; it is UTF-8 now, and nothing of what it held is kept"


class Write(FileChange):
    name = "Write"
    description = (
        "Writes a whole file. Folders on the way are made. A file that exists is replaced, and"
        " must have been read with Read in this session and still hold what was read; its"
        " encoding, its mode and its line ends (line by line) are kept, unless `content` has"
        " CRLF line ends itself. For a change in a part of a file use Edit. Make files the task"
        " needs, not notes about the work."
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

    def plan(self, path: Path, arguments: Arguments, context: ToolContext) -> Change:
        content: str = arguments["content"]
        data = current(path)
        told = f"{shown(path, context.cwd)} ({_lines(content)})"
        if data is None:
            after = FileText(text="").bytes(content)
            return Change(before=None, after=after, said=f"Made {told}", old="", new=lf(content))
        context.reads.require(path, data)
        try:
            source = FileText.of(data)
        except NotText as why:  # nothing in it can be kept
            after = FileText(text="").bytes(content)
            return Change(before=data, after=after, said=f"Replaced {told}{_LOST}: {why}")
        require_letters(source, content, name="content")
        after, kept = _encoded(source, content)
        return Change(
            before=data,
            after=after,
            said=f"Replaced {told}{kept}",
            old=source.view,
            new=lf(content.removeprefix("\ufeff") if source.bom else content),
        )


def _lines(content: str) -> str:
    count = content.count("\n") + (not content.endswith("\n") and content != "")
    return counted(count, "line")


def _encoded(source: FileText, content: str) -> tuple[bytes, str]:
    """The bytes to write, and what was kept of the old file, in words."""
    if source.bom:
        content = content.removeprefix("\ufeff")
    text = source.rewritten(content)
    kept = ""
    if text != content:
        kept += f", its {'CRLF' if source.crlf_only else 'mixed'} line ends kept"
    elif lf(content) == source.view and text != source.text:
        kept += ", only its line ends changed"
    if source.encoding != "utf-8":
        kept += f", its encoding {source.encoding} kept"
    elif source.bom:
        kept += ", its byte order mark kept"
    return source.bytes(text), kept
