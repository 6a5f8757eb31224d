"""Rules for images and PDFs: what the bytes are, not what they are called.

Reads file headers only; a damaged picture behind a good header passes here.
"""

from __future__ import annotations

import binascii
import struct
from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from interlock.scripted.rules.body import EXTRA
from interlock.scripted.rules.walk import Asked, Placed, Problems, inside

_IMAGE_TYPES = ("image/jpeg", "image/png", "image/gif", "image/webp")
_MAX_BASE64 = 5 * 1024 * 1024
_MAX_PIXELS = 8000
_MANY, _MANY_MAX_PIXELS = 20, 2000  # with more than 20 images each must be smaller
_SOURCES: dict[str, dict[str, set[str]]] = {
    "image": {"base64": {"data", "media_type"}, "url": {"url"}, "file": {"file_id"}},
    "document": {
        "base64": {"data", "media_type"},
        "url": {"url"},
        "file": {"file_id"},
        "text": {"data", "media_type"},
        "content": {"content"},
    },
}


@attrs.frozen(kw_only=True)
class Picture:
    """What an image's first bytes say."""

    media_type: str
    width: int
    height: int


def media_problems(asked: Asked) -> Problems:
    """Every image and document, in messages and inside tool results."""
    media = list(_media(asked))
    many = sum(one.type == "image" for one in media) > _MANY
    for one in media:
        place, source = f"{one.place}.{one.type}.source", one.block["source"]
        found = list(_source_problems(place, one.type, source))
        yield from found
        if found or source["type"] != "base64":
            continue
        judge = _image if one.type == "image" else _pdf
        yield from judge(f"{place}.base64", source, many)


def _media(asked: Asked) -> Iterator[Placed]:
    for one in asked.blocks():
        for each in (one, *inside(one)):
            if each.type in _SOURCES:
                yield each


def _source_problems(place: str, kind: str, source: Mapping[str, Any]) -> Problems:
    known = _SOURCES[kind]
    keys = known.get(str(source.get("type")))
    if keys is None:
        tags = "', '".join(known)
        yield f"{place}: Input tag found using 'type' does not match any of: '{tags}'"
        return
    for key in sorted(keys):
        if key not in source:
            yield f"{place}.{source['type']}.{key}: Field required"
    for key in source.keys() - keys - {"type"}:
        yield f"{place}.{source['type']}.{key}: {EXTRA}"


def _image(place: str, source: Mapping[str, Any], many: bool) -> Problems:
    named, data = source["media_type"], source["data"]
    if named not in _IMAGE_TYPES:
        allowed = "', '".join(_IMAGE_TYPES)
        yield f"{place}.media_type: Input should be one of '{allowed}'"
        return
    if not data:
        yield f"{place}.data: image cannot be empty"
        return
    if len(data) > _MAX_BASE64:
        yield f"{place}: image exceeds 5 MB maximum: {len(data)} bytes > {_MAX_BASE64} bytes"
        return
    raw = _decoded(data)
    if raw is None:
        yield f"{place}.data: Invalid base64 data"
        return
    picture = picture_of(raw)
    if picture is None:
        yield f"{place}.data: Could not process image"
    elif picture.media_type != named:
        yield (
            f"{place}: The image was specified using the {named} media type, but the image"
            f" appears to be a {picture.media_type} image"
        )
    elif max(picture.width, picture.height) > (top := _MANY_MAX_PIXELS if many else _MAX_PIXELS):
        which = "size for many-image requests" if many else "size"
        yield (
            f"{place}.data: At least one of the image dimensions exceed max allowed {which}:"
            f" {top} pixels"
        )


def _pdf(place: str, source: Mapping[str, Any], many: bool) -> Problems:
    if source["media_type"] != "application/pdf":
        yield f"{place}.media_type: Input should be 'application/pdf'"
        return
    raw = _decoded(source["data"])
    if raw is None:
        yield f"{place}.data: Invalid base64 data"
    elif not raw.startswith(b"%PDF"):
        yield f"{place}.data: The PDF specified was not valid."


def _decoded(data: Any) -> bytes | None:
    try:
        return binascii.a2b_base64(data, strict_mode=True)
    except (binascii.Error, ValueError, TypeError):
        return None


def picture_of(raw: bytes) -> Picture | None:
    """Type and size of an image from its header; None if it is none of the four."""
    try:
        if raw.startswith(b"\x89PNG\r\n\x1a\n") and raw[12:16] == b"IHDR":
            width, height = struct.unpack(">II", raw[16:24])
            return Picture(media_type="image/png", width=width, height=height)
        if raw[:6] in (b"GIF87a", b"GIF89a"):
            width, height = struct.unpack("<HH", raw[6:10])
            return Picture(media_type="image/gif", width=width, height=height)
        if raw[:4] == b"RIFF" and raw[8:12] == b"WEBP":
            return _webp(raw)
        if raw.startswith(b"\xff\xd8\xff"):
            return _jpeg(raw)
    except (struct.error, IndexError):
        return None  # the header itself is cut short
    return None


def _webp(raw: bytes) -> Picture | None:
    match raw[12:16]:
        case b"VP8X":
            width = int.from_bytes(raw[24:27], "little") + 1
            height = int.from_bytes(raw[27:30], "little") + 1
        case b"VP8L":
            (bits,) = struct.unpack("<I", raw[21:25])
            width, height = (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8 ":
            width, height = (side & 0x3FFF for side in struct.unpack("<HH", raw[26:30]))
        case _:
            return None
    return Picture(media_type="image/webp", width=width, height=height)


def _jpeg(raw: bytes) -> Picture | None:
    at = 2
    while True:
        marker, (length,) = raw[at + 1], struct.unpack(">H", raw[at + 2 : at + 4])
        if raw[at] != 0xFF:
            return None
        # SOF0 to SOF15 hold the size; C4, C8 and CC in their midst are tables.
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", raw[at + 5 : at + 9])
            return Picture(media_type="image/jpeg", width=width, height=height)
        at += 2 + length
