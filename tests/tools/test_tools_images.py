"""Pictures: what their headers say, and that what is broken is seen."""

from __future__ import annotations

import struct

import pytest

from phases.world.media import BrokenPicture, Picture, media_type, picture
from tests.tools.test_tools_read import png

JPEG = (
    b"\xff\xd8\xff\xe0\x00\x04JF"  # a part to be skipped
    b"\xff\xc0\x00\x11\x08" + struct.pack(">HH", 20, 30) + b"\x03" + b"\0" * 9 + b"\xff\xd9"
)
GIF = b"GIF89a" + struct.pack("<HH", 40, 50) + b"\0\0\0" + b"\x3b"
VP8 = b"VP8 " + b"\0" * 10 + struct.pack("<HH", 60, 70)
VP8L = b"VP8L" + b"\0" * 5 + struct.pack("<I", (80 - 1) | (90 - 1) << 14)
VP8X = b"VP8X" + b"\0" * 8 + (99).to_bytes(3, "little") + (109).to_bytes(3, "little")


def webp(body: bytes) -> bytes:
    return b"RIFF" + struct.pack("<I", 4 + len(body)) + b"WEBP" + body


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (png(3, 2), Picture(media_type="image/png", width=3, height=2)),
        (JPEG, Picture(media_type="image/jpeg", width=30, height=20)),
        (GIF, Picture(media_type="image/gif", width=40, height=50)),
        (webp(VP8), Picture(media_type="image/webp", width=60, height=70)),
        (webp(VP8L), Picture(media_type="image/webp", width=80, height=90)),
        (webp(VP8X), Picture(media_type="image/webp", width=100, height=110)),
    ],
    ids=["png", "jpeg", "gif", "webp", "webp lossless", "webp extended"],
)
def test_size_and_kind_are_read_and_any_cut_is_seen(data: bytes, expected: Picture) -> None:
    assert media_type(data[:16]) == expected.media_type
    assert picture(data) == expected
    for end in range(len(data)):
        with pytest.raises(BrokenPicture):
            picture(data[:end])


def test_a_picture_without_a_size_is_none() -> None:
    with pytest.raises(BrokenPicture, match="no size"):
        picture(b"GIF89a\0\0\0\0\0\0\0\x3b")
