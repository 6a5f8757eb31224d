"""Grep and the ends of lines, names and files: what looks odd is told as it is."""

from __future__ import annotations

import os
import re

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.tools import line_ends
from tests.tools.places import Place


@pytest.mark.parametrize(
    ("pattern", "multiline", "lines"),
    [
        ("needle$", False, ["2:needle"]),
        (";$", False, ["1:int a;"]),
        ("^$", False, ["3:"]),
        ("needle$", True, ["2:needle"]),
        (r"a;\nneedle", True, ["1:int a;", "2:needle"]),
        (r"a;\s*\n+needle", True, ["1:int a;", "2:needle"]),
        (r"a;[\n\t]needle$", True, ["1:int a;", "2:needle"]),
        (r"a;[^\n]*\nneedle", True, ["1:int a;", "2:needle"]),
        ("a;\nneedle", True, ["1:int a;", "2:needle"]),
        (r";\\n|needle", True, ["2:needle"]),
    ],
)
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
async def test_a_pattern_matches_whatever_the_lines_end_in(
    place: Place, end: bytes, pattern: str, multiline: bool, lines: list[str]
) -> None:
    place.put("a.c", end.join([b"int a;", b"needle", b"", b"more", b""]))

    said = await place.said(
        "Grep", pattern=pattern, multiline=multiline, output_mode="content", path="a.c"
    )

    assert said.split("\n") == [f"a.c:{line}" for line in lines]


@pytest.mark.parametrize("pattern", [r"\r$", r";\r", r"[\r]", r"\x0d", r"\x{0D}", "\r"])
async def test_a_pattern_that_speaks_of_cr_finds_the_files_that_have_it(
    place: Place, pattern: str
) -> None:
    place.put("unix.c", "int a;\n")
    place.put("dos.c", "int a;\r\n")

    assert await place.said("Grep", pattern=pattern) == "dos.c"


pieces = st.sampled_from(
    [
        r"\n",
        "a",
        "b",
        r"\\",
        r"\]",
        r"[\n]",
        r"[a\n]",
        r"[^\n]",
        "[]a]",
        r"[^]\n]",
        "(?:a|b)*",
        ".",
    ]
)


@given(
    pattern=st.lists(pieces, min_size=1, max_size=5).map("".join),
    text=st.text("ab\\]\n", max_size=8),
)
def test_a_text_with_either_line_end_is_told_the_same(pattern: str, text: str) -> None:
    *_, told = line_ends.options(pattern, multiline=True)

    assert bool(re.fullmatch(told, text)) == bool(re.fullmatch(pattern, text))
    if "^" not in pattern and re.fullmatch(pattern, text):
        assert re.fullmatch(told, text.replace("\n", "\r\n"))


@pytest.mark.parametrize("mode", ["content", "count", "files_with_matches"])
async def test_a_pipe_or_device_is_refused_at_once(place: Place, mode: str) -> None:
    os.mkfifo(place.folder / "pipe")

    with anyio.fail_after(5):
        for path in ("pipe", "/dev/zero"):
            said = await place.refused("Grep", pattern="x", path=path, output_mode=mode)
            assert "is a device, pipe or socket, not a file" in said
        assert await place.said("Grep", pattern="x", output_mode=mode) == "No matches found."


async def test_a_name_that_holds_a_line_end_is_told_whole(place: Place) -> None:
    place.put("new\nline.txt", "needle\r\nneedle\n")
    place.put("z.txt", "needle\n")

    counted = await place.said("Grep", pattern="needle", output_mode="count")
    shown = await place.said("Grep", pattern="needle", output_mode="content")
    around = await place.said("Grep", pattern="needle", output_mode="content", **{"-C": 1})

    assert counted == "new\nline.txt:2\nz.txt:1"
    assert shown == "new\nline.txt:1:needle\nnew\nline.txt:2:needle\nz.txt:1:needle"
    assert around == "new\nline.txt:1:needle\nnew\nline.txt:2:needle\n--\nz.txt:1:needle"


async def test_a_binary_file_is_told_as_such_under_its_own_name(place: Place) -> None:
    place.put("a.txt", "needle\n")
    place.put("late.bin", b"needle\n" + b"x" * 49 + b"\n" * 200_000 + b"\0")
    place.put("z.txt", "needle\n")

    said = await place.said("Grep", pattern="needle", output_mode="content")

    first, hit, note, last = said.split("\n")
    assert (first, hit, last) == ("a.txt:1:needle", "late.bin:1:needle", "z.txt:1:needle")
    assert note.startswith("late.bin: WARNING: stopped searching binary file")
