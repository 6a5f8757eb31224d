"""MultiEdit: several exact replacements in one file, all of them or none."""

from __future__ import annotations

from pathlib import Path

from interlock.counted import counted
from interlock.tools.change import Change, FileChange, bad_byte_note, existing
from interlock.tools.edit import Edit, NotFound, Replacement, notebook_hint
from interlock.tools.paths import shown
from interlock.tools.tool import Arguments, ToolContext, ToolError

_REPLACEMENT = {
    name: rule for name, rule in Edit.input_schema["properties"].items() if name != "file_path"
}


class MultiEdit(FileChange):
    name = "MultiEdit"
    description = (
        "Makes several edits in one file, in order, each in what the one before it has left. All"
        " are made or none: if one fails, the file stays as it is and the answer says which. The"
        " rules are those of Edit, for each of them; the file must have been read with Read.\n"
        "Use it instead of several Edit calls for the same file. Take care that an earlier edit"
        " does not change the text a later one looks for."
    )
    input_schema = {  # noqa: RUF012 (never changed)
        "type": "object",
        "properties": {
            "file_path": {
                "type": "string",
                "description": "The file: an absolute path, or relative to the working folder.",
            },
            "edits": {
                "type": "array",
                "description": "The edits, in the order in which they are made.",
                "items": {
                    "type": "object",
                    "properties": _REPLACEMENT,
                    "required": ["old_string", "new_string"],
                    "additionalProperties": False,
                },
                "minItems": 1,
            },
        },
        "required": ["file_path", "edits"],
        "additionalProperties": False,
    }

    def plan(self, path: Path, arguments: Arguments, context: ToolContext) -> Change:
        edits = arguments["edits"]
        if not edits:
            raise ToolError("edits is empty: nothing to change.")
        data, source = existing(path, context)
        edited, places = source, 0
        for number, edit in enumerate(edits, start=1):
            try:
                one = Replacement.of(edit).applied(edited)
            except ToolError as error:
                raise ToolError(_which(number, len(edits), error, path)) from error
            edited, places = one.source, places + one.count
        if edited.text == source.text:
            raise ToolError("The edits undo one another: nothing to change.")
        name = shown(path, context.cwd)
        kinds = counted(len(edits), "edit")
        times = f", {places} places" if places != len(edits) else ""
        return Change(
            before=data,
            after=source.bytes(edited.text),
            said=f"Changed {name} ({kinds}{times}){bad_byte_note(source)}",
            old=source.view,
            new=edited.view,
        )


def _which(number: int, count: int, error: ToolError, path: Path) -> str:
    said = f"Edit {number} of {count}: {error}"
    if isinstance(error, NotFound):
        said += notebook_hint(path)
        if number > 1:
            said += "\n(These are the lines as the edits before it would have left them.)"
    if "Nothing was changed" not in said:
        said += " Nothing was changed, by the other edits neither."
    return said
