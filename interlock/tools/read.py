"""Read: lines of a text file with their numbers, a picture, pages of a PDF, cells of a notebook.

What a file is, its bytes say and not its name.
"""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import anyio.to_thread
from attrs import frozen

from interlock.tools import disk, images, notebook_view, pdf, textlines
from interlock.tools.filetext import SNIFFED, FileText, NotText
from interlock.tools.paths import absolute, near, resolved
from interlock.tools.reads import digest
from interlock.tools.tool import Arguments, Output, Tool, ToolContext, ToolError, Touches
from phases.world.media import is_pdf
from phases.world.messages import Json

DEFAULT_LINES = 2_000
_ROOM_FOR_NOTES = 1_000  # characters below the cap, so that the executor has nothing to cut


class Read(Tool):
    name = "Read"
    description = (
        "Reads a file. Text comes with a line number and a tab in front of each line (they are"
        " not part of the file): by default the first 2000 lines, of each line the first 2000"
        " characters. `offset` is the first line wanted, counted from 1, or from the end if it is"
        " negative (-20: the last 20), and `limit` how many; use them for long files, and read a"
        " short file whole. Where lines are left out the result says so, and how many there are.\n"
        "Pictures are shown to you, scaled down if they are large. Of a PDF you get the text"
        f' of at most {pdf.MOST_PAGES} pages, which `pages` chooses ("1-5"); pages without text'
        " are shown as they are. Of a notebook (.ipynb) you get the cells with their ids and"
        " outputs; there offset and limit count cells. Folders and other binary files are"
        " refused: list a folder with Glob or `ls`.\n"
        "A file must be read before Edit or Write may change it. Several files are best read in"
        " one reply, in parallel calls."
    )
    input_schema = {  # noqa: RUF012 (never changed)
        "type": "object",
        "properties": {
            "file_path": {
                "type": "string",
                "description": "The file: an absolute path, or relative to the working folder.",
            },
            "offset": {
                "type": "integer",
                "description": "The number of the first line to show; negative: from the end.",
            },
            "limit": {
                "type": "integer",
                "description": "How many lines to show at most.",
                "minimum": 1,
            },
            "pages": {
                "type": "string",
                "description": 'The pages of a PDF: "3", "1-5" or "10-".',
            },
        },
        "required": ["file_path"],
        "additionalProperties": False,
    }

    def effects(self, arguments: Arguments) -> bool:
        return False

    def concurrency_safe(self, arguments: Arguments) -> bool:
        return True

    def touches(self, arguments: Arguments, cwd: Path) -> Touches:
        written = arguments["file_path"]
        return Touches(reads=(resolved(written, cwd),), named=(absolute(written, cwd),))

    async def run(self, arguments: Arguments, context: ToolContext) -> Output:
        path = context.path(arguments["file_path"])
        pages = pdf.Pages.of(arguments.get("pages"))
        # A file on a dead network share would hold an interrupt up: the thread is left behind.
        found = await anyio.to_thread.run_sync(
            partial(_looked_at, path, arguments, context), abandon_on_cancel=True
        )
        try:
            return await _decoded(found, path, arguments, pages, context)
        except (images.NoPicture, pdf.NoPages) as problem:
            text = await anyio.to_thread.run_sync(
                partial(_as_text, found, path, arguments, context), abandon_on_cancel=True
            )
            if text is None or isinstance(found, Output):
                raise
            said = (
                f"it begins like a {found.kind} but is none that can be shown: {problem.__cause__}"
            )
            return Output(f"{text}\n({said}; so here is its text)")


@frozen
class _Bytes:
    """A file that is no lines of text, whole."""

    kind: str
    data: bytes
    notebook: Json = None


async def _decoded(
    found: Output | _Bytes,
    path: Path,
    arguments: Arguments,
    pages: pdf.Pages,
    context: ToolContext,
) -> Output:
    if isinstance(found, Output):
        return found
    room = context.limits.tool_output_cap - _ROOM_FOR_NOTES
    match found.kind:
        case "pdf":
            blocks = await pdf.shown(found.data, str(path), pages, room)
        case "notebook":
            offset, limit = arguments.get("offset", 1), arguments.get("limit", DEFAULT_LINES)
            blocks = await notebook_view.shown(
                found.notebook, str(path), offset=offset, limit=limit, room=room
            )
        case _:
            blocks = await images.shown(found.data, str(path))
    context.reads.remember(path, digest(found.data))
    return Output(blocks)


def _looked_at(path: Path, arguments: Arguments, context: ToolContext) -> Output | _Bytes:
    """The lines of a text, or all bytes of what is none. Runs in a thread."""
    try:
        with disk.opened(path) as file:
            begin = os.read(file, SNIFFED)
            os.lseek(file, 0, os.SEEK_SET)
            if not begin:
                context.reads.remember(path, digest(b""))
                return Output(f"({path} exists and is empty)")
            found = _other_than_text(path, file, begin)
            if found is not None:
                return found
            if arguments.get("pages") is not None:
                raise ToolError(f"{path} is no PDF, so it has no pages: use offset and limit.")
            _refuse_binary(path, begin)
            return Output(_lines(path, file, begin, arguments, context))
    except FileNotFoundError as error:
        raise ToolError(f"{path} does not exist.{near(path)}") from error
    except NotADirectoryError as error:
        raise ToolError(f"{path} does not exist: a part of the path is a file.") from error
    except disk.NotAFile as error:
        raise ToolError(f"{error}. Read shows files; use Glob or `ls` for folders.") from error


def _lines(path: Path, file: int, begin: bytes, arguments: Arguments, context: ToolContext) -> str:
    offset, limit = arguments.get("offset", 1), arguments.get("limit", DEFAULT_LINES)
    return textlines.lines(path, file, begin, offset=offset, limit=limit, context=context)


def _as_text(
    found: Output | _Bytes, path: Path, arguments: Arguments, context: ToolContext
) -> str | None:
    """The lines of a text that begins like something else; None if it is no text either."""
    try:
        if isinstance(found, Output) or FileText.of(found.data).bad_byte is not None:
            return None
    except NotText:
        return None
    with disk.opened(path) as file:
        return _lines(path, file, found.data[:SNIFFED], arguments, context)


def _other_than_text(path: Path, file: int, begin: bytes) -> _Bytes | None:
    if is_pdf(begin):
        return _Bytes("pdf", _whole(path, file, "PDF"))
    kind = images.kind_of(begin)
    if kind is not None:
        return _Bytes("picture", _whole(path, file, kind))
    size = os.fstat(file).st_size
    if path.suffix == ".ipynb" and size <= disk.MAX_WHOLE:
        data = _whole(path, file, "notebook")
        cells = notebook_view.cells_of(data)
        if cells is not None:
            return _Bytes("notebook", data, cells)
        os.lseek(file, 0, os.SEEK_SET)
    return None


def _whole(path: Path, file: int, kind: str) -> bytes:
    size = os.fstat(file).st_size
    if size > disk.MAX_WHOLE:
        raise ToolError(
            f"{path} is a {kind} of {size} bytes; at most {disk.MAX_WHOLE} can be shown. Make a"
            " smaller one with a command and read that."
        )
    return b"".join(iter(partial(os.read, file, 1 << 20), b""))


def _refuse_binary(path: Path, begin: bytes) -> None:
    if textlines.marked(begin) is not None or b"\0" not in begin:
        return
    said = f"{path} is a binary file."
    if _looks_like_utf_16(begin):
        said = (
            f"{path} looks like UTF-16 without a byte order mark, which is not guessed at. Convert"
            f" a copy (iconv -f UTF-16LE -t UTF-8) and read that; or treat it as binary."
        )
    raise ToolError(f"{said} Look at it with a command such as `file` or `xxd | head`.")


def _looks_like_utf_16(begin: bytes) -> bool:
    """Whether nearly every second byte is NUL, and the others are not."""
    half = len(begin) // 2
    even, odd = begin[: 2 * half : 2].count(0), begin[1 : 2 * half : 2].count(0)
    return half > 1 and max(even, odd) > 0.8 * half and min(even, odd) == 0
