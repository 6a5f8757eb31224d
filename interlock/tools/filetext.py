"""A file's bytes as text that can be edited, and back without touching what was not edited.

Text is looked at with LF line ends, as Read shows it. Bytes that are not valid UTF-8 are carried
through as lone surrogates, which is exact both ways.
"""

from __future__ import annotations

import codecs
import difflib
from bisect import bisect_left
from collections.abc import Iterator

from attrs import frozen

_MAX_ALIGNED = 2_000  # lines compared one by one to find which kept which line end
SNIFFED = 8_192  # bytes in which a NUL makes a file binary, as git and others have it
# UTF-32 first: its mark begins with that of UTF-16.
_BOMS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


class NotText(Exception):
    """The bytes are no text that can be changed safely; the text is for the model."""


@frozen(kw_only=True)
class BadByte:
    """The first byte that is no valid UTF-8."""

    offset: int
    value: int

    def __str__(self) -> str:
        return f"byte 0x{self.value:02X} at offset {self.offset}"


@frozen(kw_only=True)
class FileText:
    """`text` has the line ends of the file; `view` has LF only."""

    text: str
    encoding: str = "utf-8"
    bom: bytes = b""
    bad_byte: BadByte | None = None

    @classmethod
    def of(cls, data: bytes) -> FileText:
        bom, encoding = next(((b, e) for b, e in _BOMS if data.startswith(b)), (b"", "utf-8"))
        body = data[len(bom) :]
        if not bom and b"\0" in body[:SNIFFED]:
            raise NotText("the file is binary: it holds NUL bytes")
        bad = None
        try:
            text = body.decode(encoding)
        except UnicodeDecodeError as error:
            bad = BadByte(offset=len(bom) + error.start, value=body[error.start])
            if encoding != "utf-8":
                raise NotText(f"the file begins as {encoding} but is not: {bad}") from error
            text = body.decode(encoding, "surrogateescape")
        return cls(text=text, encoding=encoding, bom=bom, bad_byte=bad)

    def bytes(self, text: str) -> bytes:
        """The file's bytes if it held `text`."""
        errors = "surrogateescape" if self.bad_byte is not None else "strict"
        try:
            return self.bom + text.encode(self.encoding, errors)
        except UnicodeEncodeError as error:
            raise NotText(
                f"the new text cannot be written as {self.encoding}: it holds half a character"
                f" (a lone surrogate) at position {error.start}"
            ) from error

    @property
    def view(self) -> str:
        return lf(self.text)

    def rewritten(self, content: str) -> str:
        """`content` for the whole text: a line that stays keeps its end, a new one takes that
        of its neighbours. CRLF in `content` says that line ends are given, not to be kept."""
        if "\r\n" in content or "\r\n" not in self.text:
            return content
        return _with_ends(self.text, content, _end_of_line(self.text, 0, 0))

    @property
    def crlf_only(self) -> bool:
        """Whether there are line ends and every one is CRLF."""
        return "\r\n" in self.text and self.text.count("\n") == self.text.count("\r\n")

    def replaced(self, old: str, new: str) -> str:
        """`text` with `new` for each `old` of the view; each line keeps its end."""
        if (self.crlf_only or "\r\n" not in self.text) and "\r" not in old + new:
            end = "\r\n" if self.crlf_only else "\n"  # nearly every file: C does it at once
            return self.text.replace(old.replace("\n", end), new.replace("\n", end))
        return self.spliced(list(places(self.view, old)), old, new)

    def spliced(self, starts: list[int], old: str, new: str) -> str:
        """`text` with `new` for `old` at these places of the view; each line keeps its end."""
        crlf = _crlf_places(self.text)
        pieces, done = [], 0
        for start in starts:
            begin = start + bisect_left(crlf, start)
            end = start + len(old)
            end += bisect_left(crlf, end)
            around = _end_of_line(self.text, begin, end)
            pieces += [self.text[done:begin], _with_ends(self.text[begin:end], new, around)]
            done = end
        return "".join([*pieces, self.text[done:]])


def places(view: str, old: str) -> Iterator[int]:
    """Where `old` stands, without overlap, in order."""
    at = view.find(old)
    while at >= 0:
        yield at
        at = view.find(old, at + len(old))


def lf(text: str) -> str:
    return text.replace("\r\n", "\n")


def _crlf_places(text: str) -> list[int]:
    """Where in the LF view the line ends stand that are CRLF in the text."""
    places: list[int] = []
    at = text.find("\r\n")
    while at >= 0:
        places.append(at - len(places))
        at = text.find("\r\n", at + 2)
    return places


def _end_of_line(text: str, begin: int, end: int) -> str:
    """The line end that text put in here would have: of its own line, else of the one before."""
    at = text.find("\n", end)
    if at < 0:
        at = text.rfind("\n", 0, begin)
    if at < 0:
        at = text.find("\n")  # within what is replaced
    if at < 0:
        return "\n"
    return "\r\n" if at > 0 and text[at - 1] == "\r" else "\n"


def _with_ends(old: str, new: str, around: str) -> str:
    """`new`, which has LF only, with the line ends of the lines it stands for."""
    if "\n" not in new:
        return new
    ends = _ends(old)
    new_lines = new.split("\n")
    if set(ends) | {around} == {around}:
        return around.join(new_lines)
    chosen: list[str | None] = [None] * (len(new_lines) - 1)
    for before, after in _kept_lines(lf(old).split("\n"), new_lines):
        if before < len(ends) and after < len(chosen):
            chosen[after] = ends[before]
    return "".join(
        line + end for line, end in zip(new_lines, [*_filled(chosen, around), ""], strict=True)
    )


def _kept_lines(old: list[str], new: list[str]) -> Iterator[tuple[int, int]]:
    """Pairs of lines that stand for one another: the same ones, and those changed in place."""
    most = min(len(old), len(new))
    first = next((at for at in range(most) if old[at] != new[at]), most)
    same = range(1, most - first + 1)
    last = next((at for at in same if old[-at] != new[-at]), most - first + 1) - 1
    yield from zip(range(first), range(first), strict=True)
    old_end, new_end = len(old) - last, len(new) - last
    if max(old_end, new_end) - first > _MAX_ALIGNED:
        yield from zip(range(first, old_end), range(first, new_end), strict=False)
    else:
        matcher = difflib.SequenceMatcher(
            None, old[first:old_end], new[first:new_end], autojunk=False
        )
        for _, i1, i2, j1, j2 in matcher.get_opcodes():
            for before, after in zip(range(i1, i2), range(j1, j2), strict=False):
                yield first + before, first + after
    yield from zip(range(old_end, len(old)), range(new_end, len(new)), strict=True)


def _ends(text: str) -> list[str]:
    """The line ends of a text, in order."""
    return ["\r\n" if line.endswith("\r") else "\n" for line in text.split("\n")[:-1]]


def _filled(chosen: list[str | None], around: str) -> list[str]:
    """New lines take the end of the line before them, or of the first one after."""
    following = next((end for end in chosen if end is not None), around)
    found = []
    for end in chosen:
        following = end or following
        found.append(following)
    return found
