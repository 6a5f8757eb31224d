"""Edit: replace an exact text in a file the model has read."""

from __future__ import annotations

from pathlib import Path

from attrs import evolve, frozen

from interlock.tools import matching
from interlock.tools.change import (
    Change,
    FileChange,
    bad_byte_note,
    existing,
    require_letters,
)
from interlock.tools.filetext import FileText, lf
from interlock.tools.paths import shown
from interlock.tools.tool import Arguments, ToolContext, ToolError


class Edit(FileChange):
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

    def plan(self, path: Path, arguments: Arguments, context: ToolContext) -> Change:
        edit = Replacement.of(arguments)
        data, source = existing(path, context)
        try:
            edited = edit.applied(source)
        except NotFound as error:
            raise ToolError(f"{error}{notebook_hint(path)}") from error
        times = "" if edited.count == 1 else f" in {edited.count} places"
        return Change(
            before=data,
            after=source.bytes(edited.source.text),
            said=f"Changed {shown(path, context.cwd)}{times}{bad_byte_note(source)}",
            old=source.view,
            new=edited.source.view,
        )


class NotFound(ToolError):
    """The text to replace stands nowhere."""


@frozen(kw_only=True)
class Edited:
    """The file after an edit, and in how many places it was made."""

    source: FileText
    count: int


@frozen(kw_only=True)
class Replacement:
    """One exact text for another, with LF line ends."""

    old: str
    new: str
    everywhere: bool = False

    @classmethod
    def of(cls, arguments: Arguments) -> Replacement:
        old, new = lf(arguments["old_string"]), lf(arguments["new_string"])
        if not old:
            raise ToolError(
                "old_string is empty. To make a new file, or to replace all, use Write."
            )
        if old == new:
            raise ToolError("old_string and new_string are the same: nothing to change.")
        return cls(old=old, new=new, everywhere=bool(arguments.get("replace_all", False)))

    def applied(self, source: FileText) -> Edited:
        require_letters(source, self.new, self.old)
        view = source.view
        count = view.count(self.old)
        if not count:
            raise NotFound(matching.why_missing(view, self.old))
        if count > 1 and not self.everywhere:
            raise ToolError(matching.too_many(view, self.old, count))
        text = source.replaced(self.old, self.new)
        return Edited(source=evolve(source, text=text), count=count)


def notebook_hint(path: Path) -> str:
    if path.suffix != ".ipynb":
        return ""
    return "\nThis is a notebook, stored as JSON: NotebookEdit changes a cell by its id."
