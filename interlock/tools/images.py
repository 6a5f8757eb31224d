"""Pictures as a tool shows them: known by their bytes, decoded apart, scaled for the API.

The API's numbers are in `phases/world/media.py`, where the gate to the model reads them too.
"""

from __future__ import annotations

import base64
import struct

from interlock.decoders.apart import Decoder, Undecodable, decoded
from interlock.tools.tool import ToolError
from phases.world.media import BEST_SIDE, MAX_RAW, BrokenPicture, media_type, picture
from phases.world.messages import Media, Text

_DIB_HEADS = frozenset({12, 40, 52, 56, 64, 108, 124})  # bytes; a text may begin with BM, too
_HEIF = frozenset({b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1"})


class NoPicture(ToolError):
    """It begins like a picture and cannot be decoded as one."""


def kind_of(begin: bytes) -> str | None:
    """What kind of picture the first bytes say, also where the API does not take it."""
    taken = media_type(begin)
    if taken is not None:
        return taken.removeprefix("image/").upper()
    if begin.startswith(b"BM") and len(begin) >= 18:
        (head,) = struct.unpack_from("<I", begin, 14)
        return "BMP" if head in _DIB_HEADS and begin[6:10] == b"\0" * 4 else None
    if begin.startswith((b"II*\0", b"MM\0*")):
        return "TIFF"
    if begin.startswith(b"\0\0\1\0") and len(begin) > 6 and 0 < begin[4] < 64 and not begin[5]:
        return "ICO"
    if begin.startswith(b"\0\0\0\x0cjP  \r\n\x87\n"):
        return "JPEG 2000"
    if begin[4:8] == b"ftyp":
        brand = begin[8:12]
        return "AVIF" if brand in (b"avif", b"avis") else "HEIC" if brand in _HEIF else None
    return None


async def shown(data: bytes, name: str) -> tuple[Text, Media]:
    """The picture, with words on what it is and what was done to it. Raises `ToolError`."""
    kind = kind_of(data[:64])
    if kind == "HEIC":
        raise ToolError(
            f"{name} is a HEIC picture, which cannot be decoded here. Convert it to JPEG or PNG"
            " with a command (heif-convert, sips, magick) and read that."
        )
    try:
        if media_type(data) is not None:
            picture(data)  # a file cut short is told as such, not as what a decoder trips over
        ask = {"side": BEST_SIDE, "most": MAX_RAW}
        made = await decoded(Decoder.PICTURE, data, ask)
    except (BrokenPicture, Undecodable) as error:
        raise NoPicture(f"{name} looks like a picture but cannot be shown: {error}.") from error
    facts = made.facts
    sent = data if facts["same"] else made.data
    told = f"{name}: {facts['format']}, {facts['width']} x {facts['height']} pixels"
    if notes := _done(facts["width"], facts["shown"], facts["frames"], facts["turned"]):
        told += f" ({'; '.join(notes)})"
    return Text(told), Media("image", facts["type"], base64.b64encode(sent).decode())


def _done(width: int, size: list[int], frames: int, turned: bool) -> list[str]:
    notes = []
    if frames > 1:
        notes.append(f"the first of its {frames} frames")
    if turned:
        notes.append("turned upright as its EXIF data say")
    if size[0] != width:
        scale = width / size[0]
        notes.append(
            f"shown at {size[0]} x {size[1]}; for places in the original multiply by {scale:.3g}"
        )
    return notes
