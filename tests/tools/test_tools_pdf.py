"""Pages of a PDF: their text, themselves where they have none, one clear line where neither."""

from __future__ import annotations

import base64

import pytest

from interlock.tools import Output
from phases.world.messages import Media, Text
from tests.tools.documents import locked, pages_of, pdf
from tests.tools.places import Place

LONG = "enough words to be a text"


def words(output: Output) -> str:
    assert not output.is_error, output.content
    assert not isinstance(output.content, str)
    return "".join(part.text for part in output.content if isinstance(part, Text))


async def test_pages_come_as_text_under_their_numbers(place: Place) -> None:
    place.put("a.pdf", pdf(f"Alpha, {LONG}", f"Beta, {LONG}"))

    said = words(await place.call("Read", file_path="a.pdf"))

    assert "PDF, pages 1 to 2 of 2 (text only" in said
    assert f"--- page 1 ---\nAlpha, {LONG}\n\n--- page 2 ---\nBeta, {LONG}" in said


@pytest.mark.parametrize(
    ("pages", "shown"),
    [("2", [2]), ("2-3", [2, 3]), ("4-", [4, 5]), (" 4 - 99 ", [4, 5])],
)
async def test_pages_are_chosen(place: Place, pages: str, shown: list[int]) -> None:
    place.put("a.pdf", pdf(*(f"Text of page {n}, {LONG}" for n in range(1, 6))))

    said = words(await place.call("Read", file_path="a.pdf", pages=pages))

    assert [n for n in range(1, 6) if f"--- page {n} ---" in said] == shown


async def test_a_long_pdf_says_how_to_go_on(place: Place) -> None:
    place.put("a.pdf", pdf(*(f"Text of page {n}, {LONG}" for n in range(1, 31))))

    said = words(await place.call("Read", file_path="a.pdf"))

    assert 'pages 1 to 20 of 30; use `pages` for others, like "21-30"' in said
    assert "Text of page 20" in said
    assert "Text of page 21" not in said


async def test_pages_beyond_the_cap_wait_for_the_next_call(place: Place) -> None:
    place.put("a.pdf", pdf(*(f"{n}" + "x" * 8_000 for n in range(1, 6))))

    said = words(await place.call("Read", file_path="a.pdf"))

    assert "pages 1 to 3 of 5" in said
    assert len(said) <= place.limits.tool_output_cap


async def test_scanned_pages_are_shown_as_they_are(place: Place) -> None:
    place.put("a.pdf", pdf("", "", f"Only this has text, {LONG}"))

    output = await place.call("Read", file_path="a.pdf", pages="1-2")

    assert "shown as they are" in words(output)
    assert isinstance(output.content, tuple)
    media = output.content[1]
    assert isinstance(media, Media)
    assert (media.kind, media.media_type) == ("document", "application/pdf")
    assert pages_of(base64.b64decode(media.data)) == 2


async def test_a_page_without_text_among_others_is_named(place: Place) -> None:
    place.put("a.pdf", pdf(f"One, {LONG}", "", f"Three, {LONG}"))

    assert "no text on page 2" in words(await place.call("Read", file_path="a.pdf"))


@pytest.mark.parametrize(
    ("data", "pages", "why"),
    [
        pytest.param(b"%PDF-1.4 no document\n\xff", None, "cannot be read", id="one line"),
        pytest.param(pdf(LONG)[:200] + b"\xff", None, "cannot be read", id="cut"),
        pytest.param(locked(pdf(LONG), "secret"), None, "needs a password", id="locked"),
        pytest.param(pdf(LONG), "7", "has 1 pages; there is none from 7 on", id="beyond"),
        pytest.param(pdf(LONG), "x-y", '"1-5"', id="no number"),
        pytest.param(pdf(LONG), "3-2", "holds no page", id="backwards"),
    ],
)
async def test_what_cannot_be_shown_is_one_clear_line(
    place: Place, data: bytes, pages: str | None, why: str
) -> None:
    place.put("a.pdf", data)
    chosen = {} if pages is None else {"pages": pages}

    said = await place.refused("Read", file_path="a.pdf", **chosen)

    assert why in said
    assert "\n" not in said


async def test_a_pdf_without_a_password_that_is_locked_is_read(place: Place) -> None:
    place.put("a.pdf", locked(pdf(LONG), ""))

    assert LONG in words(await place.call("Read", file_path="a.pdf"))


async def test_a_text_has_no_pages(place: Place) -> None:
    place.put("a.txt", "one\n")

    assert "is no PDF" in await place.refused("Read", file_path="a.txt", pages="1")
