"""MultiEdit: all edits or none, each in what the one before it has left."""

from __future__ import annotations

from typing import Any

import pytest

from tests.tools.places import Place


def edit(old: str, new: str, **more: bool) -> dict[str, Any]:
    return {"old_string": old, "new_string": new, **more}


async def test_edits_are_made_in_order_each_in_what_the_last_one_left(place: Place) -> None:
    path = place.put("a.txt", "one two\n")
    await place.said("Read", file_path="a.txt")

    said = await place.said(
        "MultiEdit",
        file_path="a.txt",
        edits=[edit("one", "two"), edit("two", "2", replace_all=True), edit("2 2", "3")],
    )

    assert path.read_text() == "3\n"
    assert said == (
        "Changed a.txt (3 edits, 4 places).\n\n--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n-one two\n+3\n"
    )


async def test_if_one_fails_none_is_made_and_the_answer_says_which(place: Place) -> None:
    path = place.put("a.txt", "one\ntwo\ntwo\n")
    await place.said("Read", file_path="a.txt")
    before = path.stat().st_mtime_ns

    missing = await place.refused(
        "MultiEdit", file_path="a.txt", edits=[edit("one", "1"), edit("one", "2")]
    )
    double = await place.refused(
        "MultiEdit", file_path="a.txt", edits=[edit("one", "1"), edit("two", "2")]
    )
    empty = await place.refused("MultiEdit", file_path="a.txt", edits=[edit("", "x")])
    same = await place.refused(
        "MultiEdit", file_path="a.txt", edits=[edit("one", "1"), edit("two", "two")]
    )

    assert missing.startswith("Edit 2 of 2: old_string was not found in the file.")
    assert "as the edits before it would have left them" in missing
    assert "Edit 2 of 2: old_string stands 2 times in the file, at lines 2, 3." in double
    assert empty.startswith("Edit 1 of 1: old_string is empty.")
    assert same.startswith("Edit 2 of 2: old_string and new_string are the same")
    assert all("Nothing was changed" in said for said in (missing, double, empty, same))
    assert path.read_text() == "one\ntwo\ntwo\n"
    assert path.stat().st_mtime_ns == before


async def test_a_file_that_was_not_read_or_has_changed_is_refused(place: Place) -> None:
    path = place.put("a.txt", "one\n")

    assert "Read it first" in await place.refused(
        "MultiEdit", file_path="a.txt", edits=[edit("one", "1")]
    )
    await place.said("Read", file_path="a.txt")
    path.write_text("one, by someone else\n")
    assert "Read it again" in await place.refused(
        "MultiEdit", file_path="a.txt", edits=[edit("one", "1")]
    )
    assert path.read_text() == "one, by someone else\n"


async def test_edits_that_come_to_nothing_are_refused(place: Place) -> None:
    place.put("a.txt", "one\n")
    await place.said("Read", file_path="a.txt")

    assert "undo one another" in await place.refused(
        "MultiEdit", file_path="a.txt", edits=[edit("one", "1"), edit("1", "one")]
    )
    assert "edits is empty" in await place.refused("MultiEdit", file_path="a.txt", edits=[])


async def test_every_line_keeps_its_end_and_every_byte_that_is_no_text(place: Place) -> None:
    path = place.put("a.txt", b"one\r\ntwo\nthree\r\ncaf\xe9")
    await place.said("Read", file_path="a.txt")

    await place.said(
        "MultiEdit",
        file_path="a.txt",
        edits=[edit("one\ntwo", "1\n2"), edit("2\nthree", "2\nextra\n3"), edit("caf", "tea ")],
    )

    assert path.read_bytes() == b"1\r\n2\nextra\n3\r\ntea \xe9"


async def test_a_person_is_shown_one_diff_of_all_edits(place: Place) -> None:
    place.put("a.txt", "one\ntwo\n")
    await place.said("Read", file_path="a.txt")
    arguments = {"file_path": "a.txt", "edits": [edit("one", "1"), edit("two", "2")]}

    shown = str(await place.tools["MultiEdit"].preview(arguments, place.context))

    assert shown.endswith("@@ -1,2 +1,2 @@\n-one\n-two\n+1\n+2\n")


@pytest.mark.parametrize(
    ("edits", "problem"),
    [
        ([{"old_string": "a"}], "`edits[0].new_string` is missing"),
        ("a", "`edits` must be array"),
        ([{"old_string": "a", "new_string": "b", "all": True}], "`edits[0].all` is not known"),
    ],
)
def test_input_of_the_wrong_form_is_named_by_its_place(edits: Any, problem: str) -> None:
    from interlock.tools import built_in
    from interlock.tools.schema import BadInput, checked

    with pytest.raises(BadInput) as caught:
        checked({"file_path": "a", "edits": edits}, built_in()["MultiEdit"].input_schema)

    assert problem in str(caught.value)
