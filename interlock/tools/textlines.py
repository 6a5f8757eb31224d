"""A text file's lines with their numbers, in memory that does not grow with the file.

Encodings are told by their byte order mark and else are UTF-8; nothing is guessed. Bytes that do
not fit are named and shown as U+FFFD.
"""

from __future__ import annotations

import codecs
import hashlib
import os
from pathlib import Path

import anyio.from_thread
from attrs import define, field

from interlock.counted import counted
from interlock.tools import disk
from interlock.tools.filetext import BadByte
from interlock.tools.tool import ToolContext

MAX_LINE = 2_000  # characters shown of one line
_CHUNK = 1 << 16
_STRIDE = 1 << 20  # bytes looked at together where lines are only counted
_ROOM_FOR_NOTES = 600  # characters below the cap, so that the executor has nothing to cut
# UTF-32 first: its mark begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    (codecs.BOM_UTF8, "utf-8-sig"),
)


def marked(begin: bytes) -> str | None:
    """The encoding that a byte order mark tells."""
    return next((encoding for mark, encoding in _MARKS if begin.startswith(mark)), None)


def lines(
    path: Path, file: int, begin: bytes, *, offset: int, limit: int, context: ToolContext
) -> str:
    """The lines from `offset` on (negative: counted from the end), and notes about the file.

    Runs in a thread. A file that was seen to its end is remembered as read.
    """
    size = os.fstat(file).st_size
    decoder = Decoder.for_file(begin)
    window = Window(
        first=max(1, offset),
        most=limit,
        room=max(MAX_LINE + 20, context.limits.tool_output_cap - _ROOM_FOR_NOTES),
    )
    # Beyond this no edit is possible, so the rest is neither counted nor remembered.
    whole = size <= disk.MAX_WHOLE
    if offset < 0:
        _from_the_end(file, size, begin, -offset, window, whole)
    elif not whole and decoder.encoding == "utf-8" and offset > 1:
        window.lines, at = _passed(file, offset - 1)
        os.lseek(file, at, os.SEEK_SET)
        decoder.passed = at
    ended = _show(file, decoder, window, path, whole, context)
    notes = [*decoder.notes(), *window.notes(path, ended)]
    if not whole:
        notes.append("The file is too large to be changed with Edit or Write.")
    said = "\n".join(f"({note})" for note in notes)
    shown = "".join(window.shown)
    return f"{shown}\n{said}" if shown and said else shown or said


def _show(
    file: int, decoder: Decoder, window: Window, path: Path, whole: bool, context: ToolContext
) -> bool:
    """Fill the window; whether the end of the file was reached."""
    seen, ended = hashlib.sha256(), False
    while not ended and (whole or not window.full):
        anyio.from_thread.check_cancelled()
        chunk = os.read(file, _CHUNK)
        ended = not chunk
        if whole:
            seen.update(chunk)
        window.add(decoder.text(chunk))
    window.end(ended)
    if whole and ended:
        context.reads.remember(path, seen.digest())
    return ended


def _from_the_end(
    file: int, size: int, begin: bytes, count: int, window: Window, whole: bool
) -> None:
    """Set the window to the last `count` lines.

    In a huge file they are found from its end, and numbered from there too: to know how many
    lines stand before them, all of it would have to be read.
    """
    decoder = Decoder.for_file(begin)
    if not whole and decoder.encoding == "utf-8":
        at, found = _tail(file, size, count)
        os.lseek(file, at, os.SEEK_SET)
        window.shift = -(found + 1)
        return
    total, last = 0, ""
    while chunk := os.read(file, _CHUNK):
        anyio.from_thread.check_cancelled()
        text = decoder.text(chunk)
        total, last = total + text.count("\n"), text or last
    total += not last.endswith("\n")
    os.lseek(file, 0, os.SEEK_SET)
    window.first = max(1, total - count + 1)


def _passed(file: int, wanted: int) -> tuple[int, int]:
    """Pass over so many lines: how many there were, and the offset behind them."""
    lines, at = 0, 0
    while chunk := os.read(file, _STRIDE):
        anyio.from_thread.check_cancelled()
        ends = chunk.count(b"\n")
        if lines + ends >= wanted:
            place = -1
            for _ in range(wanted - lines):
                place = chunk.index(b"\n", place + 1)
            return wanted, at + place + 1
        lines, at = lines + ends, at + len(chunk)
    return lines, at


def _tail(file: int, size: int, count: int) -> tuple[int, int]:
    """Where the last `count` lines begin, and how many there are really."""
    found, end = 0, size
    while end > 0:
        anyio.from_thread.check_cancelled()
        start = max(0, end - _STRIDE)
        chunk = os.pread(file, end - start, start)
        place = len(chunk)
        if end == size and chunk.endswith(b"\n"):
            place -= 1  # it ends the last line, and begins none
        while (place := chunk.rfind(b"\n", 0, place)) >= 0:
            found += 1
            if found == count:
                return start + place + 1, count
        end = start
    return 0, found + 1


@define
class Decoder:
    """Bytes to text, piece by piece; remembers the first byte that was none."""

    encoding: str
    bom: bool
    _decoder: codecs.IncrementalDecoder
    passed: int = 0  # bytes of the file before what comes next
    bad: BadByte | None = None
    nul: bool = False  # there is one, which shows as nothing

    @classmethod
    def for_file(cls, begin: bytes) -> Decoder:
        told = marked(begin)
        decoder = codecs.getincrementaldecoder(told or "utf-8")()
        return cls((told or "utf-8").removesuffix("-sig"), told is not None, decoder)

    def text(self, chunk: bytes) -> str:
        """The text of the next piece; an empty piece ends the file."""
        before = self._decoder.getstate()
        try:
            text = self._decoder.decode(chunk, final=not chunk)
        except UnicodeDecodeError as error:
            held = len(before[0])
            offset = self.passed - held + error.start
            self.bad = BadByte(offset=offset, value=error.object[error.start])
            self._decoder.setstate(before)
            self._decoder.errors = "replace"
            text = self._decoder.decode(chunk, final=not chunk)
        self.passed += len(chunk)
        self.nul = self.nul or "\0" in text
        return text

    def notes(self) -> list[str]:
        found = []
        if self.encoding != "utf-8":
            found.append(f"the file is {self.encoding.upper()}")
        elif self.bom:
            found.append("the file begins with a UTF-8 byte order mark")
        if self.nul:
            found.append("the file holds NUL characters, which cannot be seen")
        if self.bad is not None:
            found.append(
                f"the file is not valid {self.encoding.upper()}: first at {self.bad}; such bytes"
                " are shown as U+FFFD"
            )
        return found


@define
class Window:
    """The lines that are wanted, of all that pass by; holds no more than it shows."""

    first: int
    most: int
    room: int
    shift: int = 0  # added to the number of a line: below 0, lines are counted from the end
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
            lines = counted(self.cut, "line is", "lines are")
            found.append(f"{lines} longer than {MAX_LINE} characters and cut")
        last = self.first + len(self.shown) - 1
        if not self.shown:
            found.append(
                f"{path} has {counted(self.lines, 'line')}; there is none from {self.first} on"
            )
        elif self.shift:
            told = f"lines {self.first + self.shift} to {last + self.shift}"
            found.append(f"{told}, counted from the end; use offset and limit for others")
        elif not ended or last < self.lines or self.first > 1:
            total = f"of {self.lines}" if ended else "of more"
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
        told = f"{self.lines + self.shift}\t{line.removesuffix(chr(13))}\n"
        if len(told) > self.room:
            self.out_of_room = True
            return
        self.room -= len(told)
        self.cut += length > MAX_LINE
        self.shown.append(told)
