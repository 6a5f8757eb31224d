"""Read: numbered lines in constant memory, pictures the API takes, clear refusals."""

from __future__ import annotations

import os
import struct
import tracemalloc
import zlib
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from interlock.tools import Output, disk
from interlock.tools.reads import digest
from phases.world.messages import Media, Text
from tests.tools.places import Place
from tests.waiting import until


def png(width: int, height: int) -> bytes:
    def chunk(name: bytes, body: bytes) -> bytes:
        check = zlib.crc32(name + body)
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", check)

    pixels = zlib.compress((b"\0" + b"\0" * width) * height)
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
    )


async def test_lines_come_with_their_numbers(place: Place) -> None:
    place.put("a.txt", "one\ntwo\n\nfour")

    assert await place.said("Read", file_path="a.txt") == "1\tone\n2\ttwo\n3\t\n4\tfour\n"


async def test_offset_and_limit_choose_lines_and_the_total_is_told(place: Place) -> None:
    place.put("a.txt", "".join(f"line {n}\n" for n in range(1, 101)))

    said = await place.said("Read", file_path="a.txt", offset=98, limit=2)

    assert said.startswith("98\tline 98\n99\tline 99\n\n")
    assert "lines 98 to 99 of 100" in said


async def test_an_offset_beyond_the_end_says_how_many_lines_there_are(place: Place) -> None:
    place.put("a.txt", "one\ntwo\n")

    assert "has 2 lines; there is none from 9 on" in await place.said(
        "Read", file_path="a.txt", offset=9
    )


async def test_windows_line_ends_are_not_shown(place: Place) -> None:
    place.put("a.txt", "one\r\ntwo\r\n")

    assert await place.said("Read", file_path="a.txt") == "1\tone\n2\ttwo\n"


async def test_a_long_line_is_cut_and_that_is_said(place: Place) -> None:
    place.put("a.txt", "x" * 5_000 + "\nshort\n")

    said = await place.said("Read", file_path="a.txt")

    assert said.startswith("1\t" + "x" * 2_000 + "...\n2\tshort\n")
    assert "1 line is longer than 2000 characters" in said


async def test_a_whole_answer_stays_below_the_cap_and_can_be_continued(place: Place) -> None:
    place.put("a.txt", "".join(f"{n:04}" + "y" * 95 + "\n" for n in range(1, 2_001)))

    said = await place.said("Read", file_path="a.txt")

    assert len(said) <= place.limits.tool_output_cap
    last = said.rpartition("lines 1 to ")[2].split()[0]
    assert f"\n{last}\t{int(last):04}yyy" in said
    assert "of 2000" in said


async def test_a_huge_file_is_read_in_constant_memory(place: Place) -> None:
    path = place.put("huge.txt", "")
    with path.open("wb") as file:
        for _ in range(40):
            file.write(b"z" * (1 << 20))  # one line of 40 MiB
        file.write(b"\nlast\n")
    await place.said("Read", file_path="huge.txt", limit=1)
    tracemalloc.start()

    said = await place.said("Read", file_path="huge.txt", offset=2)

    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert said.startswith("2\tlast\n")
    assert peak < 4 << 20


async def test_an_empty_file_is_said_to_be_empty(place: Place) -> None:
    place.put("empty.jpeg", "")

    assert "is empty" in await place.said("Read", file_path="empty.jpeg")


async def test_a_binary_file_is_refused(place: Place) -> None:
    place.put("a.bin", b"ELF\0\1\2")

    assert "binary" in await place.refused("Read", file_path="a.bin")


async def test_a_missing_file_is_refused_with_names_like_it(place: Place) -> None:
    place.put("src/Settings.py", "x")

    said = await place.refused("Read", file_path="src/setings.py")

    assert "does not exist" in said
    assert str(place.folder / "src/Settings.py") in said


async def test_a_folder_and_a_pipe_are_refused_at_once(place: Place) -> None:
    os.mkfifo(place.folder / "pipe")

    assert "is a folder" in await place.refused("Read", file_path=".")
    assert "pipe" in await place.refused("Read", file_path="pipe")


async def test_bytes_that_are_no_text_are_named_and_shown_as_such(place: Place) -> None:
    place.put("a.txt", b"const x = 1;\n// caf\xe9 \x99 note\n")

    said = await place.said("Read", file_path="a.txt")

    assert "2\t// caf\ufffd \ufffd note\n" in said
    assert "byte 0xE9 at offset 19" in said


async def test_a_bad_byte_far_in_is_found_at_its_true_offset(place: Place) -> None:
    place.put("a.txt", ("é" * 49 + "\n").encode() * 2_000 + b"\xff\n")

    assert "byte 0xFF at offset 198000" in await place.said(
        "Read", file_path="a.txt", offset=2_001
    )


async def test_letters_are_not_broken_where_the_file_is_read_in_pieces(place: Place) -> None:
    place.put("a.txt", ("x" + "你" * 30 + "\n").encode() * 3_000)

    said = await place.said("Read", file_path="a.txt", offset=700, limit=80)

    assert "\ufffd" not in said
    assert "not valid" not in said


async def test_utf_16_is_read_by_its_byte_order_mark(place: Place) -> None:
    place.put("a.txt", "grüß\ndich\n".encode("utf-16"))

    said = await place.said("Read", file_path="a.txt")

    assert said.startswith("1\tgrüß\n2\tdich\n")
    assert "UTF-16" in said


async def test_a_byte_order_mark_is_noted_and_not_shown(place: Place) -> None:
    place.put("a.txt", b"\xef\xbb\xbfone\n")

    said = await place.said("Read", file_path="a.txt")

    assert said.startswith("1\tone\n")
    assert "byte order mark" in said


async def test_a_picture_is_known_by_its_bytes(place: Place) -> None:
    place.put("photo.txt", png(3, 2))

    output = await place.call("Read", file_path="photo.txt")

    assert not isinstance(output.content, str)
    told, media = output.content
    assert isinstance(told, Text)
    assert "PNG, 3 x 2 pixels" in told.text
    assert isinstance(media, Media)
    assert media.media_type == "image/png"


async def test_a_text_that_is_called_a_picture_is_text(place: Place) -> None:
    place.put("fake.png", '<svg width="10"/>\n')

    assert await place.said("Read", file_path="fake.png") == '1\t<svg width="10"/>\n'


@pytest.mark.parametrize(
    ("data", "why"),
    [
        pytest.param(png(3, 3)[:-20], "cannot be shown", id="cut"),
        pytest.param(png(3, 3).replace(b"IDAT", b"IDAT\1", 1), "cannot be shown", id="damaged"),
        pytest.param(b"\x89PNG\r\n\x1a\n" + b"\1" * (4 << 20), "cannot be shown", id="junk"),
        pytest.param(b"\xff\xd8\xff\xe0 no picture", "cannot be shown", id="jpeg"),
        pytest.param(b"GIF89a\0", "cannot be shown", id="gif"),
    ],
)
async def test_a_picture_the_api_would_refuse_never_gets_into_the_history(
    place: Place, data: bytes, why: str
) -> None:
    place.put("a.png", data)

    assert why in await place.refused("Read", file_path="a.png")


async def test_a_link_is_followed_and_a_loop_is_an_error(place: Place) -> None:
    place.put("a.txt", "one\n")
    (place.folder / "link").symlink_to("a.txt")
    (place.folder / "loop").symlink_to("loop")

    assert await place.said("Read", file_path="link") == "1\tone\n"
    output: Output | None = None
    with pytest.raises(OSError, match="loop"):
        output = await place.call("Read", file_path="loop")
    assert output is None


async def test_a_link_put_in_the_way_after_the_check_is_not_followed(place: Place) -> None:
    from interlock.tools.paths import PathMoved

    inside = place.put("sub/a.txt", "one\n")
    place.context.granted = frozenset((inside,))
    outside = place.folder.parent / "outside"
    outside.mkdir()
    (outside / "a.txt").write_text("secret\n")
    inside.unlink()
    inside.parent.rmdir()
    Path(inside.parent).symlink_to(outside)

    with pytest.raises(PathMoved):
        await place.call("Read", file_path="sub/a.txt")


async def test_a_negative_offset_counts_from_the_end(place: Place) -> None:
    place.put("a.txt", "".join(f"line {n}\n" for n in range(1, 101)) + "no end")

    said = await place.said("Read", file_path="a.txt", offset=-2)

    assert said.startswith("100\tline 100\n101\tno end\n")
    assert "1\tline 1\n" in await place.said("Read", file_path="a.txt", offset=-500, limit=1)


@pytest.mark.parametrize("end", [b"", b"\n"])
async def test_lines_of_a_huge_file_are_found_without_reading_it_all(
    place: Place, end: bytes
) -> None:
    count = (disk.MAX_WHOLE // 64 & ~1) + 100
    rows = b"".join(b"%063d\n" % n for n in range(1, count + 1))
    place.put("a.txt", rows.removesuffix(b"\n") + end)

    last = await place.said("Read", file_path="a.txt", offset=-3, limit=2)
    all_of_it = await place.said("Read", file_path="a.txt", offset=-2 * count, limit=1)
    middle = await place.said("Read", file_path="a.txt", offset=count // 2, limit=1)
    beyond = await place.said("Read", file_path="a.txt", offset=2 * count)

    assert last.startswith(f"-3\t{count - 2:063}\n-2\t{count - 1:063}\n\n")
    assert "lines -3 to -2, counted from the end" in last
    assert "too large to be changed" in last
    assert all_of_it.startswith(f"-{count}\t{1:063}\n")
    assert middle.startswith(f"{count // 2}\t{count // 2:063}\n")
    assert f"none from {2 * count} on" in beyond


@pytest.mark.parametrize("encoding", ["utf-32", "utf-16"])
async def test_a_byte_order_mark_tells_the_encoding(place: Place, encoding: str) -> None:
    place.put("a.txt", "grüß\ndich\n".encode(encoding))

    said = await place.said("Read", file_path="a.txt", offset=-1)

    assert said.startswith("2\tdich\n")
    assert f"the file is {encoding.upper()}" in said


async def test_utf_16_without_a_mark_is_not_guessed_at(place: Place) -> None:
    place.put("a.txt", "hello, world\n".encode("utf-16-le"))

    assert "iconv" in await place.refused("Read", file_path="a.txt")


async def test_a_read_that_is_cancelled_leaves_its_thread_soon(place: Place) -> None:
    path = place.put("huge.txt", "")
    with path.open("wb") as file:
        file.truncate(1 << 40)  # a terabyte of nothing would take an hour
        file.seek(0)
        file.write(b"one\n" + b"x" * 9_000)
    limiter = anyio.to_thread.current_default_thread_limiter()

    with anyio.move_on_after(0.2) as scope:
        await place.call("Read", file_path="huge.txt", offset=2_000_000)

    assert scope.cancelled_caught
    await until(lambda: limiter.borrowed_tokens == 0)


@pytest.mark.parametrize(
    ("begin", "kind"), [("GIF89a", "picture"), ("%PDF-1.4", "pdf"), ("%PDF", "pdf")]
)
async def test_a_text_that_begins_like_something_else_is_shown_as_text(
    place: Place, begin: str, kind: str
) -> None:
    place.put("notes.txt", f"{begin} is how such a file begins\ntwo\nthree\n")

    said = await place.said("Read", file_path="notes.txt")
    last = await place.said("Read", file_path="notes.txt", offset=3)

    assert said.startswith(f"1\t{begin} is how such a file begins\n2\ttwo\n3\tthree\n")
    assert f"begins like a {kind} but is none that can be shown" in said
    assert last.startswith("3\tthree\n")
    await place.said("Edit", file_path="notes.txt", old_string="two", new_string="2")


@pytest.mark.parametrize(("at", "binary"), [(8_191, True), (8_192, False)])
async def test_read_and_edit_agree_on_what_is_binary(place: Place, at: int, binary: bool) -> None:
    """A NUL in the first bytes makes a file binary, as for git; a later one is a letter."""
    data = b"one\n" + b"x" * (at - 4) + b"\0tail\n"
    path = place.put("a.txt", b"one\n")
    await place.said("Read", file_path="a.txt")
    path.write_bytes(data)
    edit = {"file_path": "a.txt", "old_string": "one", "new_string": "two"}

    if binary:
        assert "binary" in await place.refused("Read", file_path="a.txt")
        place.context.reads.remember(path, digest(data))
        assert "binary" in await place.refused("Edit", **edit)
        assert path.read_bytes() == data
    else:
        assert "NUL characters" in await place.said("Read", file_path="a.txt")
        await place.said("Edit", **edit)
        assert path.read_bytes() == data.replace(b"one", b"two")
