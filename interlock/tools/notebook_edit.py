"""NotebookEdit: replace, insert or delete one cell of a Jupyter notebook."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from attrs import frozen

from interlock.tools.change import Change, FileChange, existing, require_letters
from interlock.tools.filetext import NotText, lf
from interlock.tools.notebook import BadNotebook, Notebook, source_of
from interlock.tools.paths import shown
from interlock.tools.tool import Arguments, ToolContext, ToolError


@frozen(kw_only=True)
class _Step:
    """What becomes of the notebook, and what to say about it."""

    text: str
    said: str
    label: str
    old: str  # the source that was there


class NotebookEdit(FileChange):
    name = "NotebookEdit"
    path_argument = "notebook_path"
    description = (
        "Changes one cell of a Jupyter notebook (.ipynb), which must have been read with Read in"
        " this session.\n"
        "- `cell_id` names the cell: its id, or `cell-N` for a cell without one, N counted from"
        " 0.\n"
        "- `edit_mode`: `replace` (the default) gives the cell `new_source`; `insert` puts a new"
        " cell of `cell_type` after the named cell, or first in the notebook if none is named;"
        " `delete` takes the cell away.\n"
        "A code cell that is changed loses its outputs and its execution count: they belong to"
        " the old source. All other cells stay as they are, to the byte."
    )
    input_schema = {  # noqa: RUF012 (never changed)
        "type": "object",
        "properties": {
            "notebook_path": {
                "type": "string",
                "description": "The notebook: absolute, or relative to the working folder.",
            },
            "cell_id": {"type": "string", "description": "The cell, by its id or `cell-N`."},
            "new_source": {"type": "string", "description": "All that the cell is to hold."},
            "cell_type": {
                "type": "string",
                "enum": ["code", "markdown"],
                "description": "The kind of cell; needed to insert, else it stays as it is.",
            },
            "edit_mode": {
                "type": "string",
                "enum": ["replace", "insert", "delete"],
                "description": "What to do.",
                "default": "replace",
            },
        },
        "required": ["notebook_path"],
        "additionalProperties": False,
    }

    def plan(self, path: Path, arguments: Arguments, context: ToolContext) -> Change:
        if path.suffix != ".ipynb":
            raise ToolError(f"{path} is no notebook (.ipynb). Use Edit for other files.")
        data, source = existing(path, context)
        if source.bad_byte is not None:
            raise ToolError(f"The notebook is not valid UTF-8 ({source.bad_byte}).")
        mode: str = arguments.get("edit_mode", "replace")
        code = _new_source(arguments, mode)
        require_letters(source, code, name="new_source")
        try:
            notebook = Notebook.of(source)
            step = _STEPS[mode](notebook, arguments, code)
        except (BadNotebook, NotText) as error:
            raise ToolError(f"{path}: {error}. Nothing was changed.") from error
        return Change(
            before=data,
            after=source.bytes(step.text),
            said=f"{step.said} in {shown(path, context.cwd)}",
            old=step.old,
            new=code,
            label=f" ({step.label})",
        )


def _new_source(arguments: Arguments, mode: str) -> str:
    if mode == "delete":
        return ""
    if "new_source" not in arguments:
        raise ToolError(f"new_source is missing: it is needed to {mode} a cell.")
    return lf(arguments["new_source"])


def _replace(notebook: Notebook, arguments: Arguments, code: str) -> _Step:
    at = _cell(notebook, arguments, "replace")
    cell = notebook.cells[at].value
    kind = arguments.get("cell_type", cell["cell_type"])
    old = source_of(cell)
    if (code, kind) == (old, cell["cell_type"]):
        raise BadNotebook("the cell holds just that already")
    said = f"Replaced {kind} cell {notebook.name(at)}"
    if kind != cell["cell_type"]:
        said += f", which was a {cell['cell_type']} cell,"
    if cell.get("outputs"):
        said += " (its old outputs are cleared)"
    return _Step(
        text=notebook.replaced(at, code, kind).text,
        said=said,
        label=f"{kind} cell {notebook.name(at)}",
        old=old,
    )


def _insert(notebook: Notebook, arguments: Arguments, code: str) -> _Step:
    kind = arguments.get("cell_type")
    if kind is None:
        raise BadNotebook("cell_type is missing: it is needed to insert a cell")
    wanted = arguments.get("cell_id")
    at = 0 if wanted is None else notebook.find(wanted) + 1
    new = notebook.inserted(at, code, kind)
    name = Notebook.of(new).name(at)
    where = "first" if at == 0 else f"after {notebook.name(at - 1)}"
    said = f"Inserted {kind} cell {name} {where}"
    return _Step(text=new.text, said=said, label=f"new {kind} cell {name}", old="")


def _delete(notebook: Notebook, arguments: Arguments, code: str) -> _Step:
    at = _cell(notebook, arguments, "delete")
    cell = notebook.cells[at].value
    label = f"{cell['cell_type']} cell {notebook.name(at)}"
    return _Step(
        text=notebook.deleted(at).text,
        said=f"Deleted {label}",
        label=label,
        old=source_of(cell),
    )


def _cell(notebook: Notebook, arguments: Arguments, mode: str) -> int:
    wanted = arguments.get("cell_id")
    if wanted is None:
        raise BadNotebook(f"cell_id is missing: it is needed to {mode} a cell")
    return notebook.find(wanted)


_STEPS: dict[str, Callable[[Notebook, Arguments, str], _Step]] = {
    "replace": _replace,
    "insert": _insert,
    "delete": _delete,
}
