"""Write: new files where they are meant to be, old ones only if they were read."""

from __future__ import annotations

import codecs
import os
import stat

import pytest

from interlock.tools.reads import digest
from tests.tools.places import Place


async def test_a_new_file_is_made_with_the_folders_on_its_way(place: Place) -> None:
    said = await place.said("Write", file_path="a/b/c.txt", content="one\ntwo\n")

    assert (place.folder / "a/b/c.txt").read_bytes() == b"one\ntwo\n"
    assert said == "Made a/b/c.txt (2 lines)."


async def test_a_new_file_has_the_mode_the_user_wants(place: Place) -> None:
    old = os.umask(0o027)
    try:
        await place.said("Write", file_path="a.txt", content="x")
    finally:
        os.umask(old)

    assert stat.S_IMODE((place.folder / "a.txt").stat().st_mode) == 0o640


async def test_a_file_that_exists_must_have_been_read(place: Place) -> None:
    path = place.put("a.txt", "one\n")

    assert "Read it first" in await place.refused("Write", file_path="a.txt", content="x")
    assert path.read_text() == "one\n"


async def test_a_file_written_here_may_be_written_again(place: Place) -> None:
    await place.said("Write", file_path="a.txt", content="one\n")

    said = await place.said("Write", file_path="a.txt", content="two\n")

    assert "-one\n+two\n" in said


async def test_windows_line_ends_and_encoding_are_kept(place: Place) -> None:
    crlf = place.put("crlf.txt", b"a\r\nb\r\n")
    wide = place.put("wide.txt", "\ufeffa\n".encode("utf-16-be"))
    marked = place.put("bom.txt", b"\xef\xbb\xbfa\n")
    for name in ("crlf.txt", "wide.txt", "bom.txt"):
        await place.said("Read", file_path=name)

    said = await place.said("Write", file_path="crlf.txt", content="x\ny\n")
    await place.said("Write", file_path="wide.txt", content="ü\n")
    await place.said("Write", file_path="bom.txt", content="b\n")

    assert crlf.read_bytes() == b"x\r\ny\r\n"
    assert "CRLF line ends kept" in said
    assert wide.read_bytes() == "\ufeffü\n".encode("utf-16-be")
    assert marked.read_bytes() == b"\xef\xbb\xbfb\n"


async def test_in_a_mixed_file_each_line_that_stays_keeps_its_end(place: Place) -> None:
    path = place.put("a.txt", b"one\r\ntwo\nthree\r\nfour\n")
    await place.said("Read", file_path="a.txt")

    said = await place.said("Write", file_path="a.txt", content="zero\none\ntwo\n3\nfour\n")

    assert path.read_bytes() == b"zero\r\none\r\ntwo\n3\r\nfour\n"
    assert "mixed line ends kept" in said


async def test_line_ends_that_are_given_are_written_as_given(place: Place) -> None:
    path = place.put("a.txt", b"a\r\nb\n")
    await place.said("Read", file_path="a.txt")

    await place.said("Write", file_path="a.txt", content="x\r\ny\n")

    assert path.read_bytes() == b"x\r\ny\n"


async def test_a_change_of_line_ends_alone_is_told(place: Place) -> None:
    path = place.put("a.txt", b"a\nb\n")
    await place.said("Read", file_path="a.txt")

    said = await place.said("Write", file_path="a.txt", content="a\r\nb\r\n")

    assert path.read_bytes() == b"a\r\nb\r\n"
    assert said == "Replaced a.txt (2 lines), only its line ends changed."


async def test_the_same_content_is_not_written_again(place: Place) -> None:
    path = place.put("a.txt", "a\n")
    before = path.stat()
    await place.said("Read", file_path="a.txt")

    said = await place.said("Write", file_path="a.txt", content="a\n")

    assert "nothing was written" in said
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


@pytest.mark.parametrize("content", ["caf\ufffd 2\n", "café 2\n"])
async def test_what_read_could_not_show_is_not_written_back_as_damage(
    place: Place, content: str
) -> None:
    """The model sees U+FFFD for bytes that are no text: to write that back would lose them."""
    path = place.put("a.txt", b"caf\xe9\n")
    await place.said("Read", file_path="a.txt")

    said = await place.refused("Write", file_path="a.txt", content=content)

    assert "byte 0xE9 at offset 3" in said
    assert path.read_bytes() == b"caf\xe9\n"


@pytest.mark.parametrize("order", ["le", "be"])
async def test_a_utf_32_file_stays_one(place: Place, order: str) -> None:
    mark = codecs.BOM_UTF32_LE if order == "le" else codecs.BOM_UTF32_BE
    path = place.put("a.txt", mark + "one\r\ntwo\r\n".encode(f"utf-32-{order}"))
    await place.said("Read", file_path="a.txt")

    await place.refused("Edit", file_path="a.txt", old_string="\0", new_string="")
    await place.said("Edit", file_path="a.txt", old_string="one", new_string="é")
    assert path.read_bytes() == mark + "é\r\ntwo\r\n".encode(f"utf-32-{order}")

    said = await place.said("Write", file_path="a.txt", content="𝄞\ntwo\n")
    assert f"its encoding utf-32-{order} kept" in said
    assert path.read_bytes() == mark + "𝄞\r\ntwo\r\n".encode(f"utf-32-{order}")


async def test_what_is_no_text_is_replaced_and_that_is_said(place: Place) -> None:
    data = codecs.BOM_UTF32_LE + b"\xff\xff\xff\xff"
    path = place.put("a.txt", data)
    place.context.reads.remember(path, digest(data))

    said = await place.said("Write", file_path="a.txt", content="one\n")

    assert (
        "it is UTF-8 now, and nothing of what it held is kept: the file begins as utf-32" in said
    )
    assert path.read_bytes() == b"one\n"


async def test_a_dangling_link_makes_its_target_and_stays_a_link(place: Place) -> None:
    (place.folder / "dangling.txt").symlink_to("missing.txt")

    await place.said("Write", file_path="dangling.txt", content="made\n")

    assert (place.folder / "dangling.txt").is_symlink()
    assert (place.folder / "missing.txt").read_text() == "made\n"


async def test_half_a_character_and_a_folder_are_refused(place: Place) -> None:
    assert "lone surrogate" in await place.refused("Write", file_path="a.txt", content="a\ud800")
    assert "is a folder" in await place.refused("Write", file_path=".", content="a")
    assert list(place.folder.iterdir()) == []


async def test_a_picture_that_was_seen_may_be_replaced(place: Place) -> None:
    from tests.tools.test_tools_read import png

    path = place.put("a.png", png(2, 2))
    await place.call("Read", file_path="a.png")

    await place.said("Write", file_path="a.png", content="<svg/>")

    assert path.read_text() == "<svg/>"
