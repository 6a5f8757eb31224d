"""Pictures and documents, known by their bytes and not by their names.

One picture that the API refuses would make every later request fail. Tools look before one
enters the history, the gate before one leaves; both read here. Reads heads, decodes no pixels.
"""

from __future__ import annotations

import struct
import zlib

from attrs import frozen

MAX_BASE64 = 5 * 1024 * 1024  # bytes; the Messages API's limit for one image
MAX_SIDE = 8000  # pixels; the same
MAX_RAW = MAX_BASE64 // 4 * 3
BEST_SIDE = 1568  # pixels; the API itself scales a longer side down to this before it looks
PDF = "application/pdf"
_PNG = b"\x89PNG\r\n\x1a\n"
_NO_FRAME = frozenset((0xC4, 0xC8, 0xCC))  # JPEG marks in C0..CF that carry no size


@frozen(kw_only=True)
class Picture:
    media_type: str
    width: int
    height: int

    @property
    def widest(self) -> int:
        return max(self.width, self.height)

    @property
    def too_wide(self) -> bool:
        return self.widest > MAX_SIDE


class BrokenPicture(Exception):
    """A file with the signature of a picture that is none."""


def media_type(begin: bytes) -> str | None:
    """The kind of picture that the first bytes say: 16 are enough."""
    if begin.startswith(_PNG):
        return "image/png"
    if begin.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if begin.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if begin[:4] == b"RIFF" and begin[8:12] == b"WEBP":
        return "image/webp"
    return None


def is_pdf(begin: bytes) -> bool:
    return begin.startswith(b"%PDF")


def picture(data: bytes, *, whole: bool = True) -> Picture:
    """The picture these bytes are; raises `BrokenPicture`.

    With `whole` False the head alone is judged: what is cut short behind it the API may take.
    """
    kind = media_type(data)
    sizes = {
        "image/png": _png,
        "image/jpeg": _jpeg,
        "image/gif": _gif,
        "image/webp": _webp,
    }
    if kind is None:
        raise BrokenPicture("no known signature")
    try:
        width, height = sizes[kind](data, whole)
    except (struct.error, IndexError) as error:
        raise BrokenPicture("it ends too early") from error
    if width < 1 or height < 1:
        raise BrokenPicture("it has no size")
    return Picture(media_type=kind, width=width, height=height)


def _png(data: bytes, whole: bool) -> tuple[int, int]:
    if not whole:
        if data[12:16] != b"IHDR":
            raise BrokenPicture("it has no head")
        width, height = struct.unpack_from(">II", data, 16)
        return width, height
    names: list[bytes] = []
    at, size = len(_PNG), (0, 0)
    while not names or names[-1] != b"IEND":
        length, name = struct.unpack_from(">I4s", data, at)
        body = data[at + 4 : at + 8 + length]
        (check,) = struct.unpack_from(">I", data, at + 8 + length)
        if zlib.crc32(body) != check:
            raise BrokenPicture("a part of it is damaged")
        if name == b"IHDR":
            size = struct.unpack_from(">II", body, 4)
        names.append(name)
        at += 12 + length
    if b"IDAT" not in names:
        raise BrokenPicture("it holds no pixels")
    return size


def _jpeg(data: bytes, whole: bool) -> tuple[int, int]:
    if whole and b"\xff\xd9" not in data[-4096:]:
        raise BrokenPicture("it ends too early")
    at = 2
    while True:
        while data[at] != 0xFF:
            at += 1
        while data[at] == 0xFF:
            at += 1
        mark = data[at]
        at += 1
        if 0xC0 <= mark <= 0xCF and mark not in _NO_FRAME:
            height, width = struct.unpack_from(">HH", data, at + 3)
            return width, height
        if mark in (0xD9, 0xDA):
            raise BrokenPicture("it has no frame")
        if not 0xD0 <= mark <= 0xD7:
            at += struct.unpack_from(">H", data, at)[0]


def _gif(data: bytes, whole: bool) -> tuple[int, int]:
    if whole and b"\x3b" not in data[-16:]:
        raise BrokenPicture("it ends too early")
    width, height = struct.unpack_from("<HH", data, 6)
    return width, height


def _webp(data: bytes, whole: bool) -> tuple[int, int]:
    if whole and struct.unpack_from("<I", data, 4)[0] + 8 > len(data):
        raise BrokenPicture("it ends too early")
    match data[12:16]:
        case b"VP8 ":
            width, height = struct.unpack_from("<HH", data, 26)
            return width & 0x3FFF, height & 0x3FFF
        case b"VP8L":
            (bits,) = struct.unpack_from("<I", data, 21)
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8X":
            wide, high = data[24:27], data[27:30]
            if len(high) < 3:
                raise BrokenPicture("it ends too early")
            return int.from_bytes(wide, "little") + 1, int.from_bytes(high, "little") + 1
    raise BrokenPicture("it is of an unknown kind")
