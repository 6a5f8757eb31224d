"""Read: lines of a text file with their numbers, or a picture."""

from __future__ import annotations

import base64
import codecs
import hashlib
import os
from functools import partial
from pathlib import Path

import anyio.to_thread
from attrs import define, field

from interlock.tools import disk, images
from interlock.tools.filetext import BadByte
from interlock.tools.paths import absolute, near, resolved
from interlock.tools.tool import Arguments, Output, Tool, ToolContext, ToolError, Touches
from phases.world.messages import Media, Text

DEFAULT_LINES = 2_000
MAX_LINE = 2_000  # characters shown of one line
_CHUNK = 1 << 16
_ROOM_FOR_NOTES = 600  # characters below the cap, so that the executor has nothing to cut
_SNIFF = 8_192  # bytes in which a NUL makes a file binary


class Read(Tool):
    name = "Read"
    description = (
        "Reads a file. Text comes with a line number and a tab in front of each line (they are"
        " not part of the file): by default the first 2000 lines, of each line the first 2000"
        " characters. `offset` is the first line wanted, counted from 1, and `limit` how many;"
        " use them for long files, and read a short file whole. Where lines are left out the"
        " result says so, and how many there are.\n"
        "PNG, JPEG, GIF and WebP pictures are shown to you as pictures. Folders, PDFs and other"
        " binary files are refused: list a folder with Glob or `ls`.\n"
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
                "description": "The number of the first line to show.",
                "minimum": 0,
            },
            "limit": {
                "type": "integer",
                "description": "How many lines to show at most.",
                "minimum": 1,
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
        # A file on a dead network share would hold an interrupt up: the thread is left behind.
        return await anyio.to_thread.run_sync(
            partial(_read, path, arguments, context), abandon_on_cancel=True
        )


def _read(path: Path, arguments: Arguments, context: ToolContext) -> Output:
    try:
        with disk.opened(path) as file:
            begin = os.read(file, _SNIFF)
            os.lseek(file, 0, os.SEEK_SET)
            if not begin:
                context.reads.remember(path, hashlib.sha256().digest())
                return Output(f"({path} exists and is empty)")
            if images.media_type(begin) is not None:
                return _picture(path, file, context)
            _refuse_binary(path, begin)
            window = _Window(
                first=max(1, arguments.get("offset", 1)),
                most=arguments.get("limit", DEFAULT_LINES),
                room=max(MAX_LINE + 20, context.limits.tool_output_cap - _ROOM_FOR_NOTES),
            )
            return _text(path, file, begin, window, context)
    except FileNotFoundError as error:
        raise ToolError(f"{path} does not exist.{near(path)}") from error
    except NotADirectoryError as error:
        raise ToolError(f"{path} does not exist: a part of the path is a file.") from error
    except disk.NotAFile as error:
        raise ToolError(f"{error}. Read shows files; use Glob or `ls` for folders.") from error


def _refuse_binary(path: Path, begin: bytes) -> None:
    if begin.startswith(b"%PDF-"):
        raise ToolError(f"{path} is a PDF. Extract its text with a command such as pdftotext.")
    if begin.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return
    if b"\0" in begin:
        raise ToolError(
            f"{path} is a binary file. Look at it with a command such as `file` or `xxd | head`."
        )


def _picture(path: Path, file: int, context: ToolContext) -> Output:
    size = os.fstat(file).st_size
    if size > images.MAX_RAW:
        raise ToolError(
            f"{path} is a picture of {size} bytes; at most {images.MAX_RAW} can be shown. Make a"
            " smaller copy and read that."
        )
    data = b"".join(iter(partial(os.read, file, 1 << 20), b""))
    try:
        found = images.picture(data)
    except images.BrokenPicture as error:
        raise ToolError(f"{path} looks like a picture but cannot be shown: {error}.") from error
    if found.too_wide or len(data) > images.MAX_RAW:
        raise ToolError(
            f"{path} is {found.width} x {found.height} pixels; at most {images.MAX_SIDE} a side"
            " can be shown. Make a smaller copy and read that."
        )
    context.reads.remember(path, hashlib.sha256(data).digest())
    told = f"{path}: {found.media_type}, {found.width} x {found.height} pixels"
    encoded = base64.b64encode(data).decode()
    return Output((Text(told), Media("image", found.media_type, encoded)))


def _text(path: Path, file: int, begin: bytes, window: _Window, context: ToolContext) -> Output:
    decoder = _Decoder.for_file(begin)
    seen = hashlib.sha256()
    # Beyond this no edit is possible, so the rest is neither counted nor remembered.
    to_the_end = os.fstat(file).st_size <= disk.MAX_WHOLE
    ended = False
    while not ended and (to_the_end or not window.full):
        chunk = os.read(file, _CHUNK)
        ended = not chunk
        seen.update(chunk)
        window.add(decoder.text(chunk))
    window.end(ended)
    if ended:
        context.reads.remember(path, seen.digest())
    notes = [*decoder.notes(), *window.notes(path, ended)]
    if not ended:
        notes.append("The file is too large to be changed with Edit or Write.")
    said = "\n".join(f"({note})" for note in notes)
    shown = "".join(window.shown)
    return Output(f"{shown}\n{said}" if shown and said else shown or said)


@define
class _Decoder:
    """Bytes to text, piece by piece; remembers the first byte that was none."""

    encoding: str
    bom: bool
    _decoder: codecs.IncrementalDecoder
    _passed: int = 0  # bytes given to it
    bad: BadByte | None = None

    @classmethod
    def for_file(cls, begin: bytes) -> _Decoder:
        if begin.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return cls("utf-16", True, codecs.getincrementaldecoder("utf-16")())
        if begin.startswith(codecs.BOM_UTF8):
            return cls("utf-8", True, codecs.getincrementaldecoder("utf-8-sig")())
        return cls("utf-8", False, codecs.getincrementaldecoder("utf-8")())

    def text(self, chunk: bytes) -> str:
        """The text of the next piece; an empty piece ends the file."""
        before = self._decoder.getstate()
        try:
            text = self._decoder.decode(chunk, final=not chunk)
        except UnicodeDecodeError as error:
            held = len(before[0])
            offset = self._passed - held + error.start
            self.bad = BadByte(offset=offset, value=error.object[error.start])
            self._decoder.setstate(before)
            self._decoder.errors = "replace"
            text = self._decoder.decode(chunk, final=not chunk)
        self._passed += len(chunk)
        return text

    def notes(self) -> list[str]:
        found = []
        if self.encoding != "utf-8":
            found.append("the file is UTF-16")
        elif self.bom:
            found.append("the file begins with a UTF-8 byte order mark")
        if self.bad is not None:
            found.append(
                f"the file is not valid {self.encoding.upper()}: first at {self.bad}; such bytes"
                " are shown as U+FFFD"
            )
        return found


@define
class _Window:
    """The lines that are wanted, of all that pass by; holds no more than it shows."""

    first: int
    most: int
    room: int
    shown: list[str] = field(factory=list)
    lines: int = 0  # whole ones that passed
    cut: int = 0  # lines of which a part is shown
    out_of_room: bool = False
    _line: str = ""  # what is shown of the line under way
    _length: int = 0  # of the line under way

    @property
    def full(self) -> bool:
        return self.out_of_room or self.lines >= self.first - 1 + self.most

    def add(self, text: str) -> None:
        if self.full or self.lines + text.count("\n") < self.first - 1:
            self._pass(text)
            return
        *whole, rest = text.split("\n")
        for piece in whole:
            self._extend(piece)
            self._end_line()
        self._extend(rest)

    def end(self, reached: bool) -> None:
        """The file's last line may have no line end."""
        if reached and self._length:
            self._end_line()

    def notes(self, path: Path, ended: bool) -> list[str]:
        found = []
        if self.cut:
            found.append(f"{self.cut} lines are longer than {MAX_LINE} characters and cut")
        last = self.first + len(self.shown) - 1
        total = f"of {self.lines}" if ended else "of more"
        if not self.shown:
            found.append(f"{path} has {self.lines} lines; there is none from {self.first} on")
        elif not ended or last < self.lines or self.first > 1:
            found.append(f"lines {self.first} to {last} {total}; use offset and limit for others")
        return found

    def _pass(self, text: str) -> None:
        """Count lines that are not wanted."""
        ends = text.count("\n")
        self.lines += ends
        begun = text[text.rfind("\n") + 1 :]
        self._length = len(begun) if ends else self._length + len(begun)
        self._line = begun[: MAX_LINE + 1] if ends else (self._line + begun)[: MAX_LINE + 1]

    def _extend(self, piece: str) -> None:
        self._length += len(piece)
        if len(self._line) <= MAX_LINE:
            self._line += piece[: MAX_LINE + 1 - len(self._line)]

    def _end_line(self) -> None:
        self.lines += 1
        line, length = self._line, self._length
        self._line, self._length = "", 0
        if self.lines < self.first or self.lines >= self.first + self.most or self.out_of_room:
            return
        if length > MAX_LINE:
            line = line[:MAX_LINE] + "..."
        told = f"{self.lines}\t{line.removesuffix(chr(13))}\n"
        if len(told) > self.room:
            self.out_of_room = True
            return
        self.room -= len(told)
        self.cut += length > MAX_LINE
        self.shown.append(told)
