"""A body as it is read: unpacked within a bound, and its bytes made text as they ask to be."""

from __future__ import annotations

import codecs
import re
import zlib
from email.message import Message

from attrs import define, field, frozen

_META = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]{1,40})", re.IGNORECASE)
_XML = re.compile(rb"<\?xml[^>]{0,100}?encoding\s*=\s*[\"']([\w.:-]{1,40})")
_DECLARED_WITHIN = 2_048  # bytes in which a page may name its charset
# What browsers read under these names, since pages mean that.
_READ_AS = {"iso-8859-1": "cp1252", "latin-1": "cp1252", "latin1": "cp1252", "ascii": "cp1252"}
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


class BadBody(Exception):
    """A body that cannot be unpacked; the text ends a sentence."""


@define
class Unpacked:
    """A body piece by piece, at most `most` bytes of it: a small packed one may be a huge one."""

    encoding: str  # of the content: gzip, deflate, or none
    most: int
    data: bytearray = field(factory=bytearray)
    cut: bool = False
    _unpack: zlib._Decompress | None = None

    def __attrs_post_init__(self) -> None:
        match self.encoding.strip().lower():
            case "" | "identity":
                pass
            case "gzip" | "x-gzip":
                self._unpack = zlib.decompressobj(16 + zlib.MAX_WBITS)
            case "deflate":
                self._unpack = zlib.decompressobj()
            case other:
                raise BadBody(f"it is packed as {other!r}, which was not asked for")

    def take(self, piece: bytes) -> bool:
        """Whether there is room for more."""
        room = self.most - len(self.data)
        if self._unpack is None:
            self.data += piece[:room]
            self.cut = len(piece) > room
            return not self.cut
        try:
            self.data += self._unpack.decompress(piece, room + 1)
        except zlib.error as error:
            if self.encoding.strip().lower() != "deflate" or self.data:
                raise BadBody(f"it is damaged ({error})") from error
            # Some servers send deflate without its wrapping.
            self._unpack = zlib.decompressobj(-zlib.MAX_WBITS)
            return self.take(piece)
        self.cut = len(self.data) > self.most
        del self.data[self.most :]
        return not self.cut


@frozen
class Kind:
    """A content type: `text/html` and the charset it names, if any."""

    name: str
    charset: str | None

    @classmethod
    def of(cls, header: str, data: bytes) -> Kind:
        if not header.strip():
            begin = data[:512].lstrip().lower()
            is_page = begin.startswith((b"<!doctype html", b"<html"))
            name = "text/html" if is_page else "text/plain" if b"\0" not in begin else "unknown"
            return cls(name, None)
        message = Message()
        message["content-type"] = header
        return cls(message.get_content_type(), message.get_content_charset())

    @property
    def is_page(self) -> bool:
        return self.name in ("text/html", "application/xhtml+xml")

    @property
    def is_text(self) -> bool:
        words = re.split(r"[/+.-]", self.name)
        kinds = {"json", "xml", "javascript", "ecmascript", "yaml", "toml", "csv", "ndjson"}
        return self.name.startswith("text/") or bool(kinds & set(words))


@frozen
class Words:
    """The text of a body; `note` says what did not fit its charset."""

    text: str
    note: str | None = None


def words(data: bytes, kind: Kind) -> Words:
    """The text, by its byte order mark, else the header's charset, else the page's own, else
    UTF-8."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _decoded(data, encoding)
    declared = kind.charset
    if declared is None:
        found = _META.search(data[:_DECLARED_WITHIN]) if kind.is_page else None
        found = found or _XML.search(data[:_DECLARED_WITHIN])
        declared = found[1].decode("ascii", "replace") if found else "utf-8"
    return _decoded(data, declared)


def _decoded(data: bytes, charset: str) -> Words:
    name = _READ_AS.get(charset.strip().lower(), charset.strip().lower())
    note = None
    try:
        text = data.decode(name)
    except UnicodeDecodeError as error:
        bad = data[error.start]
        note = (
            f"the text is not valid {name}: first at byte 0x{bad:02X} at offset {error.start};"
            " such bytes are shown as U+FFFD"
        )
        text = data.decode(name, "replace")
    except (LookupError, ValueError):
        text = data.decode("utf-8", "replace")
        note = f"the charset {charset!r} is unknown; read as UTF-8"
    return Words(text, note)
