"""Diffs: right, short, and cheap however large the files are."""

from __future__ import annotations

import re
import shutil
import subprocess
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.tools.diff import FOR_PERSON, Size, diff

LINES = st.lists(
    st.sampled_from(["a\n", "b\n", "c\n", "\n", "x\x0cy\n", "z\u2028\n"]), max_size=30
)
ENDS = st.sampled_from(["", "end", "e"])


def test_a_change_is_shown_with_the_lines_around_it() -> None:
    before = "".join(f"{number}\n" for number in range(1, 11))

    assert diff("a.txt", before, before.replace("6\n", "six\n")) == (
        "--- a.txt\n+++ a.txt\n@@ -3,7 +3,7 @@\n 3\n 4\n 5\n-6\n+six\n 7\n 8\n 9\n"
    )


@pytest.mark.parametrize(
    ("before", "after", "lines"),
    [
        ("a\nb", "a\nc", [" a", "-b", "\\", "+c", "\\"]),
        ("a\nb\n", "a\nb", [" a", "-b", "+b", "\\"]),
        ("a\nb", "a\nb\n", [" a", "-b", "\\", "+b"]),
        ("a\nb", "x\nb", ["-a", "+x", " b", "\\"]),
        ("", "a", ["+a", "\\"]),
        ("a\n", "", ["-a"]),
    ],
)
def test_a_missing_last_line_end_is_shown_where_it_is_missing(
    before: str, after: str, lines: list[str]
) -> None:
    shown = diff("a.txt", before, after).splitlines()[3:]

    assert [re.sub(r"\\ No newline at end of file", r"\\", line) for line in shown] == lines


def test_texts_that_are_the_same_have_no_diff() -> None:
    assert diff("a.txt", "a\n", "a\n") == ""


@given(LINES, ENDS, LINES, ENDS)
def test_what_is_shown_makes_the_new_of_the_old(
    before: list[str], end: str, after: list[str], other_end: str
) -> None:
    old, new = "".join(before) + end, "".join(after) + other_end

    assert _applied(old, diff("a", old, new, FOR_PERSON)) == new


@pytest.mark.skipif(shutil.which("patch") is None, reason="there is no patch here")
@given(LINES, ENDS, LINES, ENDS)
def test_patch_can_apply_it(
    tmp_path_factory: pytest.TempPathFactory,
    before: list[str],
    end: str,
    after: list[str],
    other_end: str,
) -> None:
    folder = tmp_path_factory.mktemp("patch")
    old, new = "".join(before) + end, "".join(after) + other_end
    (folder / "a").write_text(old, newline="")
    found = diff("a", old, new, FOR_PERSON)

    if found and new:  # patch takes a file away that would be empty
        command = ["patch", "-s", "-u", "a"]
        subprocess.run(command, input=found.encode(), cwd=folder, check=True)
        assert (folder / "a").read_bytes().decode() == new


def test_of_a_long_line_is_shown_what_stands_around_the_change() -> None:
    before = "x" * 5_000 + "old" + "y" * 5_000 + "\n"

    shown = diff("a.js", before, before.replace("old", "new"), Size(lines=10, width=60))

    removed, added = shown.splitlines()[3:]
    assert "old" in removed
    assert "new" in added
    assert removed.startswith("-[4980 characters]...x")
    assert len(removed) < 130


def test_a_long_diff_is_cut_and_says_so() -> None:
    before = "".join(f"{number}\n" for number in range(300))

    shown = diff("a", before, before.replace("\n", "!\n"), Size(lines=20, width=80)).splitlines()

    assert len(shown) == 2 + 20 + 1
    assert shown[-1] == "... (the diff goes on)"


def test_one_line_in_a_huge_file_is_found_at_once_and_told_with_its_number() -> None:
    before = "some line or other\n" * 2_000_000
    middle = 1_000_000 * len("some line or other\n")
    after = f"{before[:middle]}a new line\n{before[middle:]}"
    begun = time.process_time()

    shown = diff("huge", before, after)

    assert time.process_time() - begun < 2
    assert "@@ -999998,6 +999998,7 @@" in shown
    assert "+a new line\n" in shown
    assert shown.count("\n") == 10


def test_a_change_all_over_a_huge_file_is_cut_and_not_compared_to_the_end() -> None:
    before = "".join(f"line {number}\n" for number in range(300_000))
    begun = time.process_time()

    everywhere = diff("huge", before, before.replace("line", "row"))
    shifted = diff("huge", before, "first\n" + before.replace("line 299999", "row"))

    assert time.process_time() - begun < 5
    assert everywhere.count("\n") == 63
    assert "-line 0\n" in everywhere
    # The line put in moved all others: none of them counts as changed where comparing ended.
    assert [line for line in shifted.splitlines() if line.startswith(("+f", "-l", "..."))] == [
        "+first",
        "... (the diff goes on)",
    ]


def test_bytes_that_are_no_text_do_not_spoil_it() -> None:
    shown = diff("a", "caf\udce9 1\n", "caf\udce9 2\n")

    assert "-caf\ufffd 1\n" in shown
    shown.encode()


def _applied(old: str, shown: str) -> str:
    """The text that a diff makes of the old one."""
    lines, made, at = re.split(r"(?<=\n)", old), [], 0
    marked = re.sub(r"(?m)\n\\ No newline at end of file$", "\0", shown)
    for line in re.split(r"(?<=\n)", marked)[2:]:
        text = line[1:].replace("\0\n", "")
        hunk = re.match(r"@@ -(\d+)(?:,(\d+))? ", line)
        if hunk is not None:
            start = int(hunk[1]) - (hunk[2] != "0")
            made += lines[at:start]
            at = start
        elif line.startswith("+"):
            made.append(text)
        elif line.startswith(("-", " ")):
            assert lines[at] == text
            made += [text] if line.startswith(" ") else []
            at += 1
    return "".join(made + lines[at:])
