"""Edit: replace an exact text in a file the model has read."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import anyio.to_thread
from attrs import frozen

from interlock.tools import disk, matching
from interlock.tools.filetext import FileText, NotText, lf
from interlock.tools.paths import absolute, near, resolved, shown
from interlock.tools.reads import NotAsRead, digest
from interlock.tools.tool import Arguments, Output, Tool, ToolContext, ToolError, Touches

STALE = (
    "{path} was changed by someone else while this call waited. Nothing was written. Read it"
    " again, then decide anew."
)


@frozen(kw_only=True)
class Change:
    """An edit that was worked out and not yet made."""

    before: bytes
    after: bytes
    view: str
    new_view: str
    count: int
    source: FileText


class Edit(Tool):
    name = "Edit"
    description = (
        "Replaces one exact piece of text in a file. The file must have been read with Read in"
        " this session, and still hold what was read.\n"
        "- `old_string` must match character for character, indentation included, without the"
        " line numbers that Read puts in front. It may span lines. If it stands more than once"
        " the call fails: add neighbouring lines until it is unique, or set `replace_all`.\n"
        "- `new_string` takes its place; an empty one deletes the text.\n"
        "- Encoding, line ends (CRLF or LF, line by line), file mode and everything outside the"
        " replaced text stay as they are: write plain line breaks.\n"
        "The result shows the change as a diff. Prefer Edit to Write for files that exist."
    )
    input_schema = {  # noqa: RUF012 (never changed)
        "type": "object",
        "properties": {
            "file_path": {
                "type": "string",
                "description": "The file: an absolute path, or relative to the working folder.",
            },
            "old_string": {"type": "string", "description": "The text to replace."},
            "new_string": {"type": "string", "description": "The text to put there."},
            "replace_all": {
                "type": "boolean",
                "description": "Replace every occurrence instead of exactly one.",
                "default": False,
            },
        },
        "required": ["file_path", "old_string", "new_string"],
        "additionalProperties": False,
    }

    def touches(self, arguments: Arguments, cwd: Path) -> Touches:
        return file_to_write(arguments["file_path"], cwd)

    async def preview(self, arguments: Arguments, context: ToolContext) -> str:
        path = context.path(arguments["file_path"])
        change = await anyio.to_thread.run_sync(_worked_out, path, arguments, context)
        return matching.diff(shown(path, context.cwd), change.view, change.new_view)

    async def run(self, arguments: Arguments, context: ToolContext) -> Output:
        path = context.path(arguments["file_path"])
        # Not abandoned on cancel: a write is seen to its end, then the interrupt counts.
        return await anyio.to_thread.run_sync(partial(_edit, path, arguments, context))


def file_to_write(written: str, cwd: Path) -> Touches:
    return Touches(writes=(resolved(written, cwd),), named=(absolute(written, cwd),))


def _edit(path: Path, arguments: Arguments, context: ToolContext) -> Output:
    change = _worked_out(path, arguments, context)
    try:
        written = disk.replace(path, change.after, change.before)
    except disk.ChangedMeanwhile as error:
        raise ToolError(STALE.format(path=path)) from error
    context.reads.remember(path, digest(change.after))
    times = "" if change.count == 1 else f" in {change.count} places"
    said = f"Changed {shown(path, context.cwd)}{times}.{notes(change.source, written)}"
    difference = matching.diff(shown(path, context.cwd), change.view, change.new_view)
    return Output(f"{said}\n\n{difference}")


def _worked_out(path: Path, arguments: Arguments, context: ToolContext) -> Change:
    old, new = lf(arguments["old_string"]), lf(arguments["new_string"])
    if not old:
        raise ToolError("old_string is empty. To make a new file, or to replace all, use Write.")
    if old == new:
        raise ToolError("old_string and new_string are the same: nothing to change.")
    data = current(path)
    if data is None:
        raise ToolError(f"{path} does not exist.{near(path)}")
    try:
        context.reads.require(path, data)
        source = FileText.of(data)
        _require_writable(source, new)
        view = source.view
        found = matching.places(view, old)
        if not found:
            raise ToolError(matching.why_missing(view, old))
        if len(found) > 1 and not arguments.get("replace_all", False):
            raise ToolError(matching.too_many(view, found))
        text = source.spliced(found, old, new)
        return Change(
            before=data,
            after=source.bytes(text),
            view=view,
            new_view=lf(text),
            count=len(found),
            source=source,
        )
    except (NotAsRead, NotText) as error:
        raise ToolError(str(error)) from error


def _require_writable(source: FileText, new: str) -> None:
    if any("\ud800" <= letter <= "\udfff" for letter in new):
        raise ToolError("new_string holds half a character (a lone surrogate).")
    if source.bad_byte is not None and not new.isascii():
        raise ToolError(
            f"The file is not UTF-8 ({source.bad_byte}), so other characters than ASCII cannot"
            " be put in without mixing encodings. Nothing was changed. Convert the file first,"
            " or keep to ASCII."
        )


def current(path: Path) -> bytes | None:
    """What the file holds; None if there is none."""
    try:
        return disk.whole(path)
    except FileNotFoundError:
        return None
    except disk.NotAFile as error:
        raise ToolError(f"{error}.") from error


def notes(source: FileText | None, written: disk.Written) -> str:
    """What the model should know about how the file was written."""
    said = ""
    if source is not None and source.bad_byte is not None:
        said += f" The file is not valid UTF-8 (first at {source.bad_byte}); such bytes were kept."
    if written.links > 1:
        said += f" The file has {written.links} names (hard links); all of them show the change."
    return said
