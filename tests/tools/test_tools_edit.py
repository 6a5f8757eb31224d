"""Edit: an exact change, and not a byte beside it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from attrs import frozen

from tests.tools.places import Place


async def edited(place: Place, name: str, old: str, new: str, **more: bool) -> str:
    await place.said("Read", file_path=name)
    return await place.said("Edit", file_path=name, old_string=old, new_string=new, **more)


@frozen(kw_only=True)
class Case:
    name: str
    before: bytes
    old: str
    new: str
    after: bytes


CASES = (
    Case(
        name="lines of a CRLF file, with tabs and blanks at the end",
        before=b"\tif (!fp) {\r\n\t\tthrow 1;   \r\n\t}\r\nlast line no newline",
        old="\tif (!fp) {\n\t\tthrow 1;   \n\t}",
        new="\tif (!fp) {\n\t\treturn;\n\t}",
        after=b"\tif (!fp) {\r\n\t\treturn;\r\n\t}\r\nlast line no newline",
    ),
    Case(
        name="blanks after the match stay",
        before=b"\t\tthrow 1;   \r\n",
        old="throw 1;",
        new="throw 2;",
        after=b"\t\tthrow 2;   \r\n",
    ),
    Case(
        name="each line of a mixed file keeps its own end",
        before=b"one\r\ntwo\nthree\r\nfour\n",
        old="two\nthree",
        new="2\n3",
        after=b"one\r\n2\n3\r\nfour\n",
    ),
    Case(
        name="a match that ends with a line end keeps that end",
        before=b"one\r\ntwo\nthree\r\n",
        old="one\ntwo\n",
        new="1\n2\n",
        after=b"1\r\n2\nthree\r\n",
    ),
    Case(
        name="new lines take the end of their neighbours",
        before=b"a\r\nb\r\nc\n",
        old="b",
        new="b1\nb2",
        after=b"a\r\nb1\r\nb2\r\nc\n",
    ),
    Case(
        name="a line put between lines of a mixed part moves no other end",
        before=b"a\nb\r\nc\n",
        old="a\nb\nc\n",
        new="a\nnew\nb\nc\n",
        after=b"a\nnew\nb\r\nc\n",
    ),
    Case(
        name="CRLF written by the model is a line break like any",
        before=b"a\nb\n",
        old="a\r\nb",
        new="x\r\ny",
        after=b"x\ny\n",
    ),
    Case(
        name="a file without a last line end gets none",
        before=b"a\nb",
        old="b",
        new="c",
        after=b"a\nc",
    ),
    Case(
        name="a byte order mark stays",
        before=b"\xef\xbb\xbfone\n",
        old="one",
        new="two",
        after=b"\xef\xbb\xbftwo\n",
    ),
    Case(
        name="UTF-16 stays UTF-16",
        before="\ufeffone\r\n".encode("utf-16-le"),
        old="one",
        new="zwö",
        after="\ufeffzwö\r\n".encode("utf-16-le"),
    ),
    Case(
        name="bytes that are no text stay as they are",
        before=b"const x = 1;\n// caf\xe9 \x99 note\n",
        old="const x = 1;",
        new="const x = 2;",
        after=b"const x = 2;\n// caf\xe9 \x99 note\n",
    ),
    Case(
        name="a lone CR is a character",
        before=b"a\rb\n",
        old="b",
        new="c",
        after=b"a\rc\n",
    ),
    Case(name="nothing in its place deletes", before=b"a b c\n", old=" b", new="", after=b"a c\n"),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_only_the_replaced_text_changes(place: Place, case: Case) -> None:
    path = place.put("file.txt", case.before)

    await edited(place, "file.txt", case.old, case.new)

    assert path.read_bytes() == case.after


async def test_the_result_shows_the_change(place: Place) -> None:
    place.put("a.txt", "one\ntwo\n")

    said = await edited(place, "a.txt", "two", "2")

    assert "-two\n+2\n" in said


async def test_letters_the_files_encoding_cannot_hold_are_not_mixed_in(place: Place) -> None:
    path = place.put("a.txt", b"x = 1 # caf\xe9\n")
    await place.said("Read", file_path="a.txt")

    said = await place.refused("Edit", file_path="a.txt", old_string="x", new_string="é")

    assert "byte 0xE9 at offset 11" in said
    assert path.read_bytes() == b"x = 1 # caf\xe9\n"


async def test_several_places_need_replace_all(place: Place) -> None:
    path = place.put("a.txt", "x\ny\nx\n")
    await place.said("Read", file_path="a.txt")

    said = await place.refused("Edit", file_path="a.txt", old_string="x", new_string="z")

    assert "2 times" in said
    assert "lines 1, 3" in said
    assert path.read_text() == "x\ny\nx\n"
    assert "in 2 places" in await edited(place, "a.txt", "x", "z", replace_all=True)
    assert path.read_text() == "z\ny\nz\n"


@pytest.mark.parametrize(
    ("old", "hint"),
    [
        ("def f():\n  return 1", "white space only:\n1\tdef f():\n2\t    return 1"),
        ("1\tdef f():", "Leave out the line numbers"),
        ("def g():", "nearest lines are:\n1\tdef f():"),
        ("def f():\n\treturn 1", "(4 x SPACE in the file, TAB in old_string)"),
        ("DEF F():", "upper and lower case only"),
        ("def f():\\n    return 1", "without the backslashes"),
        ("return 1\n\n\n", "without the line breaks"),
        ("say(\u2019hi\u2019)", "U+0027 APOSTROPHE in the file, U+2019 RIGHT SINGLE"),
        ("x\u00a0=\u00a01", "white space only"),
        ("cafe\u0301", "U+00E9 LATIN SMALL LETTER E WITH ACUTE in the file"),
        ("if a &lt; b", "not as &lt;"),
        ("caf\ufffd", "U+FFFD"),
        ("entirely different matter", "No line is like it"),
        ("", "is empty"),
    ],
)
async def test_a_text_that_is_not_there_is_explained(place: Place, old: str, hint: str) -> None:
    place.put("a.py", "def f():\n    return 1\nsay('hi')\nx = 1\ncafé\nif a < b\n")
    await place.said("Read", file_path="a.py")

    said = await place.refused("Edit", file_path="a.py", old_string=old, new_string="x")

    assert hint in said


async def test_an_edit_that_changes_nothing_is_refused(place: Place) -> None:
    place.put("a.txt", "one\n")
    await place.said("Read", file_path="a.txt")

    assert "same" in await place.refused(
        "Edit", file_path="a.txt", old_string="one", new_string="one"
    )


# --- read before write -----------------------------------------------------------------------


async def test_a_file_that_was_never_read_is_not_changed(place: Place) -> None:
    path = place.put("b.txt", "two\n")

    said = await place.refused("Edit", file_path="b.txt", old_string="two", new_string="2")

    assert "Read it first" in said
    assert path.read_text() == "two\n"


async def test_a_change_by_someone_else_is_seen_by_content_and_not_by_time(place: Place) -> None:
    path = place.put("a.txt", "one\n")
    await place.said("Read", file_path="a.txt")
    before = path.stat()
    path.write_text("ONE\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    edit = await place.refused("Edit", file_path="a.txt", old_string="ONE", new_string="1")
    write = await place.refused("Write", file_path="a.txt", content="overwritten\n")

    assert "Read it again" in edit
    assert "Read it again" in write
    assert path.read_text() == "ONE\n"


async def test_equal_content_and_own_writes_do_not_ask_for_another_read(place: Place) -> None:
    path = place.put("a.txt", "one\n")
    await place.said("Read", file_path="a.txt")
    path.unlink()
    path.write_text("one\n")

    await place.said("Edit", file_path="a.txt", old_string="one", new_string="two")
    await place.said("Edit", file_path="a.txt", old_string="two", new_string="three")
    await place.said("Write", file_path="a.txt", content="four\n")

    assert path.read_text() == "four\n"


async def test_reading_a_part_of_a_file_is_enough(place: Place) -> None:
    path = place.put("a.txt", "".join(f"{n}\n" for n in range(5_000)))
    await place.said("Read", file_path="a.txt", limit=3)

    await place.said("Edit", file_path="a.txt", old_string="4999", new_string="end")

    assert path.read_text().endswith("4998\nend\n")


# --- links, modes ----------------------------------------------------------------------------


async def test_through_links_the_target_changes_and_the_links_stay(place: Place) -> None:
    target = place.put("real/target.md", "hello world\n")
    (place.folder / "links").mkdir()
    (place.folder / "links/leaf.md").symlink_to("../real/target.md")
    (place.folder / "alias").symlink_to("links")

    await edited(place, "links/leaf.md", "world", "there")
    await edited(place, "alias/leaf.md", "there", "you")

    assert target.read_text() == "hello you\n"
    assert (place.folder / "links/leaf.md").is_symlink()
    assert not target.is_symlink()


@pytest.mark.parametrize("mode", [0o755, 0o600, 0o664])
async def test_the_mode_stays(place: Place, mode: int) -> None:
    path = place.put("file", "echo hi\n")
    path.chmod(mode)

    await edited(place, "file", "hi", "ho")

    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert path.read_text() == "echo ho\n"


async def test_hard_links_go_on_being_one_file(place: Place) -> None:
    path = place.put("run.sh", "echo hi\n")
    other = place.folder / "hard.sh"
    other.hardlink_to(path)

    said = await edited(place, "run.sh", "hi", "a longer text")

    assert other.read_text() == "echo a longer text\n"
    assert path.samefile(other)
    assert "2 names" in said


async def test_a_shorter_content_leaves_nothing_of_the_old_in_a_hard_linked_file(
    place: Place,
) -> None:
    path = place.put("a.txt", "a long content\n")
    (place.folder / "b.txt").hardlink_to(path)

    await edited(place, "a.txt", "a long content", "x")

    assert path.read_bytes() == b"x\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
async def test_the_owner_stays(place: Place) -> None:
    path = place.put("a.txt", "one\n")
    os.chown(path, 1234, 1235)

    await edited(place, "a.txt", "one", "two")

    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 1235)


async def test_nothing_is_left_beside_the_file(place: Place) -> None:
    place.put("a.txt", "one\n")

    await edited(place, "a.txt", "one", "two")

    assert [path.name for path in place.folder.iterdir()] == ["a.txt"]


async def test_a_change_between_check_and_write_is_not_overwritten(place: Place) -> None:
    from interlock.tools import disk

    path: Path = place.put("a.txt", "one\n")

    with pytest.raises(disk.ChangedMeanwhile):
        disk.replace(path, b"mine\n", expected=b"as it was when I looked\n")

    assert path.read_bytes() == b"one\n"
    assert [each.name for each in place.folder.iterdir()] == ["a.txt"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
async def test_a_file_whose_folder_takes_no_new_file_is_written_in_place(place: Place) -> None:
    path = place.put("sub/a.txt", "one and more\n")
    number = path.stat().st_ino
    path.parent.chmod(0o555)

    await edited(place, "sub/a.txt", "one and more", "two")

    assert path.read_bytes() == b"two\n"
    assert path.stat().st_ino == number
    path.parent.chmod(0o755)


async def test_paths_that_no_file_can_have_are_refused(place: Place) -> None:
    from interlock.tools.paths import BadPath

    for written in ("", "a\0b", "a\ud800"):
        with pytest.raises(BadPath):
            place.tools["Edit"].touches({"file_path": written}, place.folder)


async def test_a_file_that_is_gone_or_no_file_is_not_edited(place: Place) -> None:
    assert "does not exist" in await place.refused(
        "Edit", file_path="none/a.txt", old_string="a", new_string="b"
    )
    assert "is a folder" in await place.refused(
        "Edit", file_path=".", old_string="a", new_string="b"
    )


async def test_a_person_who_is_asked_sees_the_change_before_it_is_made(place: Place) -> None:
    path = place.put("a.txt", "one\n")
    await place.said("Read", file_path="a.txt")
    edit = {"file_path": "a.txt", "old_string": "one", "new_string": "two"}
    write = {"file_path": "a.txt", "content": "three\n"}

    assert "-one\n+two\n" in str(await place.tools["Edit"].preview(edit, place.context))
    assert "-one\n+three\n" in str(await place.tools["Write"].preview(write, place.context))
    assert path.read_text() == "one\n"
