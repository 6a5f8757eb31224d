"""Bytes of a terminal as text, and long text as its two ends."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from interlock.tools.excerpt import Excerpt, shortened
from interlock.tools.screen import Screen

PIECES = st.sampled_from(
    [
        "a",
        "\n",
        "\r",
        "\r\n",
        "é",
        "你",
        "\x1b[31m",
        "\x1b]0;title\x07",
        "\0",
        "\x1b",
        "\x08",
        "%",
        "\x85",
    ]
)


def shown(*chunks: bytes) -> str:
    screen = Screen()
    return "".join([*(screen.feed(chunk) for chunk in chunks), screen.end()])


@example(text="a\ra\x08", cuts=[3])
@given(st.lists(PIECES, max_size=20).map("".join), st.lists(st.integers(0, 60), max_size=6))
def test_what_is_shown_does_not_depend_on_how_it_arrives(text: str, cuts: list[int]) -> None:
    data = text.encode()
    places = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    chunks = [data[a:b] for a, b in pairwise(places)]

    assert shown(*chunks) == shown(data)


@given(st.binary(max_size=60))
def test_no_control_character_is_left(data: bytes) -> None:
    assert not [letter for letter in shown(data) if letter < " " and letter not in "\t\n\r"]


def test_a_line_without_end_is_not_held_for_ever() -> None:
    screen = Screen()

    assert screen.feed(b"x" * 20_000) == "x" * 20_000


def test_links_and_titles_of_terminals_go_and_their_text_stays() -> None:
    assert shown(b"\x1b]8;;http://x\x1b\\text\x1b]8;;\x1b\\ \x1b[1;31mred\x1b[0m") == "text red"


@given(st.lists(st.text("abc\n", max_size=30), max_size=20), st.integers(2, 40))
def test_an_excerpt_is_the_beginning_and_the_end(pieces: list[str], limit: int) -> None:
    excerpt, whole = Excerpt(limit), "".join(pieces)

    for piece in pieces:
        excerpt.add(piece)

    if len(whole) <= limit:
        assert excerpt.text() == whole
    else:
        head, _, tail = excerpt.text().partition("\n\n[... ")
        count, _, tail = tail.partition(" characters left out here ...]\n\n")
        assert whole.startswith(head)
        assert whole.endswith(tail)
        assert len(head) + int(count) + len(tail) == len(whole)
        assert len(head) + len(tail) == limit


def test_the_whole_is_in_the_file(tmp_path: Path) -> None:
    text = "".join(f"line {n}\n" for n in range(1_000))

    said = shortened(text, 100, tmp_path / "deep" / "whole.txt")

    assert str(tmp_path / "deep" / "whole.txt") in said
    assert (tmp_path / "deep" / "whole.txt").read_text() == text


def test_a_file_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    assert "could not be saved" in shortened("x" * 200, 100, tmp_path / "file" / "whole.txt")
