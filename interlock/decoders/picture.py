"""A picture as the API takes it: upright, its first frame, 8 bits, small enough.

A picture that is fine stays the bytes it is; but its pixels were decoded, so that one with a
good head and a broken body is found here and not by the API, with every later request.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

from PIL import Image, ImageOps, UnidentifiedImageError

from interlock.decoders.child import Answer, Unreadable, serve

_MOST_PIXELS = 100_000_000  # decoded; four bytes each
_TAKEN = {"PNG": "image/png", "JPEG": "image/jpeg", "GIF": "image/gif", "WEBP": "image/webp"}
_PHOTOS = frozenset({"JPEG", "MPO", "AVIF", "WEBP", "JPEG2000"})  # lossy: PNG would only swell
_PLAIN = frozenset({"1", "L", "LA", "P", "PA", "RGB", "RGBA"})
_QUALITIES = (90, 75, 50)
_ORIENTATION = 0x0112


def fitted(data: bytes, ask: Mapping[str, Any]) -> Answer:
    """`ask`: `side`, the longest in pixels, and `most`, the bytes that may be sent."""
    Image.MAX_IMAGE_PIXELS = None  # we have our own; a JPEG is shrunk while it is read
    try:
        with Image.open(io.BytesIO(data)) as image:
            return _fitted(image, data, ask["side"], ask["most"])
    except UnidentifiedImageError as error:
        raise Unreadable("its pixels cannot be decoded") from error
    except (OSError, SyntaxError, ValueError, EOFError, IndexError, KeyError) as error:
        raise Unreadable(f"its pixels cannot be decoded ({error})") from error


def _fitted(image: Image.Image, data: bytes, side: int, most: int) -> Answer:
    kind, size = image.format or "unknown", image.size
    frames = getattr(image, "n_frames", 1) if kind != "MPO" else 1
    if kind == "JPEG":
        image.draft(None, (side, side))  # an eighth of the pixels, if that is still enough
    if image.width * image.height > _MOST_PIXELS:
        raise Unreadable(f"it has {size[0]} x {size[1]} pixels, which is too much to decode")
    turned = image.getexif().get(_ORIENTATION, 1) not in (0, 1)
    image.load()
    facts: dict[str, Any] = {"format": kind, "width": size[0], "height": size[1]}
    facts |= {"frames": frames, "turned": turned}
    if (
        kind in _TAKEN
        and frames == 1
        and not turned
        and max(size) <= side
        and len(data) <= most
        and image.mode in _PLAIN
    ):
        return {**facts, "type": _TAKEN[kind], "shown": size, "same": True}, b""
    shown = _eight_bits(ImageOps.exif_transpose(image) if turned else image)
    if turned and image.width * image.height != shown.width * shown.height:
        raise Unreadable("its orientation cannot be read")
    facts["width"], facts["height"] = _turned(size, image.size, shown.size)
    if max(shown.size) > side:
        scale = side / max(shown.size)
        wanted = (max(1, round(shown.width * scale)), max(1, round(shown.height * scale)))
        shown = shown.resize(wanted, Image.Resampling.LANCZOS, reducing_gap=3.0)
    media_type, made = _encoded(shown, kind, most)
    return {**facts, "type": media_type, "shown": shown.size, "same": False}, made


def _turned(size: tuple[int, int], read: tuple[int, int], upright: tuple[int, int]) -> Any:
    """The original's size as it is seen: a quarter turn swaps the sides."""
    return size if upright == read else (size[1], size[0])


def _eight_bits(image: Image.Image) -> Image.Image:
    """The picture in a mode that PNG and JPEG know and eyes do."""
    mode = image.mode
    if mode.startswith("I;16"):
        return image.convert("I").point(lambda value: value * (1 / 257)).convert("L")
    if mode in ("I", "F"):
        low, high = image.getextrema()
        assert isinstance(low, int | float)
        assert isinstance(high, int | float)
        scale = 255 / ((high - low) or 1)
        # `point` takes a line, and nothing else, for these modes.
        return image.point(lambda value: value * scale + (-low * scale)).convert("L")
    if mode in ("1", "L"):
        return image.convert("L")
    if mode in ("LA", "La", "PA", "RGBA", "RGBa") or "transparency" in image.info:
        return image.convert("RGBA")
    return image.convert("RGB")


def _encoded(image: Image.Image, kind: str, most: int) -> tuple[str, bytes]:
    if kind not in _PHOTOS or image.mode == "RGBA":
        data = _saved(image, "PNG")
        if len(data) <= most:
            return "image/png", data
    if image.mode == "RGBA":
        ground = Image.new("RGBA", image.size, "white")
        image = Image.alpha_composite(ground, image).convert("RGB")
    for quality in _QUALITIES:
        data = _saved(image, "JPEG", quality=quality)
        if len(data) <= most:
            return "image/jpeg", data
    raise Unreadable("it cannot be made small enough")


def _saved(image: Image.Image, kind: str, **options: Any) -> bytes:
    into = io.BytesIO()
    image.info.pop("icc_profile", None)
    image.save(into, kind, **options)
    return into.getvalue()


if __name__ == "__main__":
    serve(fitted)
