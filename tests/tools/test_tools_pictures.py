"""What becomes of a picture on its way to the model: upright, one frame, 8 bits, small enough."""

from __future__ import annotations

import base64
import io
from typing import Any

import pytest
from PIL import Image

from interlock.tools import Output
from phases.world.media import BEST_SIDE, MAX_BASE64, picture
from phases.world.messages import Media, Text
from tests.tools.places import Place


def made(mode: str, size: tuple[int, int], kind: str, **options: Any) -> bytes:
    into = io.BytesIO()
    Image.new(mode, size).save(into, kind, **options)
    return into.getvalue()


def photo(size: tuple[int, int], kind: str = "PNG") -> bytes:
    """Noise: the picture that compresses worst."""
    into = io.BytesIO()
    Image.effect_noise(size, 90).convert("RGB").save(into, kind)
    return into.getvalue()


def parts(output: Output) -> tuple[str, Media, bytes]:
    """The words, the picture, its bytes."""
    assert not output.is_error, output.content
    assert not isinstance(output.content, str)
    told, media = output.content
    assert isinstance(told, Text)
    assert isinstance(media, Media)
    return told.text, media, base64.b64decode(media.data)


async def test_a_picture_that_is_fine_stays_the_bytes_it_is(place: Place) -> None:
    data = made("RGB", (300, 200), "PNG")
    place.put("a.png", data)

    told, _, sent = parts(await place.call("Read", file_path="a.png"))

    assert sent == data
    assert told == f"{place.folder}/a.png: PNG, 300 x 200 pixels"


async def test_a_large_picture_is_scaled_and_the_scale_is_told(place: Place) -> None:
    place.put("a.png", made("RGB", (4_000, 3_000), "PNG"))

    told, media, sent = parts(await place.call("Read", file_path="a.png"))

    assert "PNG, 4000 x 3000 pixels" in told
    assert "shown at 1568 x 1176" in told
    assert "multiply by 2.55" in told
    assert picture(sent).widest == BEST_SIDE
    assert media.media_type == "image/png"


async def test_a_picture_of_one_line_keeps_its_line(place: Place) -> None:
    place.put("a.png", made("L", (9_000, 1), "PNG"))

    told, _, sent = parts(await place.call("Read", file_path="a.png"))

    assert "9000 x 1 pixels" in told
    assert (picture(sent).width, picture(sent).height) == (1568, 1)


async def test_what_would_be_too_many_bytes_becomes_a_jpeg(place: Place) -> None:
    place.put("a.png", photo((1_500, 1_500)))

    _, media, sent = parts(await place.call("Read", file_path="a.png"))

    assert media.media_type == "image/jpeg"
    assert len(media.data) <= MAX_BASE64
    assert picture(sent).width == 1_500


@pytest.mark.parametrize(
    ("data", "sent_as", "told"),
    [
        pytest.param(made("RGB", (30, 20), "BMP"), "image/png", "BMP, 30 x 20", id="bmp"),
        pytest.param(made("RGB", (30, 20), "TIFF"), "image/png", "TIFF, 30 x 20", id="tiff"),
        pytest.param(made("RGBA", (32, 32), "ICO"), "image/png", "ICO, 32 x 32", id="ico"),
        pytest.param(made("CMYK", (30, 20), "JPEG"), "image/jpeg", "JPEG, 30 x 20", id="cmyk"),
        pytest.param(made("I;16", (30, 20), "PNG"), "image/png", "PNG, 30 x 20", id="16 bits"),
        pytest.param(made("F", (30, 20), "TIFF"), "image/png", "TIFF, 30 x 20", id="floats"),
        pytest.param(made("LA", (30, 20), "PNG"), "image/png", "PNG, 30 x 20", id="alpha"),
        pytest.param(made("1", (1_600, 20), "PNG"), "image/png", "PNG, 1600 x 20", id="1 bit"),
        pytest.param(made("P", (1_600, 20), "GIF"), "image/png", "GIF, 1600 x 20", id="palette"),
    ],
)
async def test_kinds_that_the_api_does_not_take_are_converted(
    place: Place, data: bytes, sent_as: str, told: str
) -> None:
    place.put("a", data)

    said, media, sent = parts(await place.call("Read", file_path="a"))

    assert told in said
    assert media.media_type == sent_as
    assert picture(sent).media_type == sent_as


async def test_sixteen_bits_keep_their_brightness(place: Place) -> None:
    into = io.BytesIO()
    image = Image.new("I;16", (4, 4), 32_768)
    image.save(into, "PNG")
    place.put("a.png", into.getvalue())

    _, _, sent = parts(await place.call("Read", file_path="a.png"))

    with Image.open(io.BytesIO(sent)) as shown:
        assert shown.convert("L").getpixel((1, 1)) == 127


async def test_a_photo_is_turned_upright(place: Place) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # a quarter turn
    place.put("a.jpg", made("RGB", (300, 200), "JPEG", exif=exif))

    told, _, sent = parts(await place.call("Read", file_path="a.jpg"))

    assert "turned upright" in told
    assert (picture(sent).width, picture(sent).height) == (200, 300)


async def test_of_an_animation_the_first_frame_is_shown_and_that_is_told(place: Place) -> None:
    into = io.BytesIO()
    frames = [Image.new("RGB", (40, 30), (shade, 0, 0)) for shade in (10, 100, 200)]
    frames[0].save(into, "GIF", save_all=True, append_images=frames[1:])
    place.put("a.gif", into.getvalue())

    told, media, _ = parts(await place.call("Read", file_path="a.gif"))

    assert "the first of its 3 frames" in told
    assert media.media_type == "image/png"


async def test_a_picture_that_swells_is_refused_before_it_is_decoded(place: Place) -> None:
    place.put("bomb.png", made("1", (60_000, 60_000), "PNG"))

    assert "too much to decode" in await place.refused("Read", file_path="bomb.png")


async def test_a_good_head_before_broken_pixels_is_refused(place: Place) -> None:
    good = made("RGB", (3, 3), "PNG")
    import struct
    import zlib

    def chunk(name: bytes, body: bytes) -> bytes:
        check = zlib.crc32(name + body)
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", check)

    broken = good[:33] + chunk(b"IDAT", b"these are no pixels") + chunk(b"IEND", b"")
    place.put("a.png", broken)

    said = await place.refused("Read", file_path="a.png")

    assert "cannot be shown" in said
    assert "\n" not in said


async def test_a_heic_picture_is_refused_with_a_way_out(place: Place) -> None:
    place.put("a.jpg", b"\0\0\0\x18ftypheic\0\0\0\0mif1heic")

    assert "heif-convert" in await place.refused("Read", file_path="a.jpg")


async def test_a_text_that_begins_like_a_bitmap_is_a_text(place: Place) -> None:
    place.put("a.txt", "BMW is a make of cars, and so on and so forth.\n")

    assert "1\tBMW is" in await place.said("Read", file_path="a.txt")
