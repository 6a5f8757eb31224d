"""Images and documents are what their bytes say; what is over a limit is told in words."""

from __future__ import annotations

import base64
from collections.abc import Sequence

import pytest
from attrs import evolve, frozen

from interlock.model.looks import Looks
from interlock.scripted.validate import problems
from phases.world.media import picture
from phases.world.messages import Block, Media, Message, Text, ToolResult
from tests.model.broken import media, mend, png
from tests.model.histories import PIXEL, assistant, call, marked, user

PDF = media(b"%PDF-1.7\n...", "application/pdf", "document")
GIF = b"GIF89a\x02\x00\x03\x00"
JPEG = b"\xff\xd8\xff\xe0\x00\x04ab\xff\xc0\x00\x0b\x08\x00\x10\x00\x20\x01\x01\x11\x00"
WEBP = b"RIFF\x1e\x00\x00\x00WEBPVP8L\x11\x00\x00\x00/\x07\xc0\x01\x00"
SVG = b'<svg xmlns="http://www.w3.org/2000/svg"/>'


@frozen
class Case:
    given: Media
    words: str


REFUSED = {
    "a png that is an svg": Case(media(SVG, "image/png"), "no picture that can be read"),
    "an empty jpeg": Case(media(b"", "image/jpeg"), "it is empty"),
    "a pdf of one line": Case(
        media(b"this is no pdf\n", "application/pdf", "document"), "no PDF that can be read"
    ),
    "a png cut in its head": Case(media(b"\x89PNG\r\n\x1a\n\0\0", "image/png"), "no head"),
    "a jpeg without a frame": Case(media(JPEG[:6], "image/jpeg"), "ends too early"),
    "a gif without size": Case(media(b"GIF89a\0\0\0\0", "image/gif"), "it has no size"),
    "no base64": Case(Media("image", "image/png", PIXEL.data[:-1] + "!"), "base64 is not valid"),
    "too wide": Case(png(9000, 1), "9000 x 1 pixels, at most 8000"),
    "too large": Case(png(1, 1, padding=4_000_000), "at most 5,242,880"),
}


def only(content: Sequence[Block]) -> Block:
    (block,) = content
    return block


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_what_the_api_would_refuse_becomes_a_note_that_says_why(case: Case) -> None:
    shown = ToolResult("a", (Text("here:"), case.given))
    history = (user(case.given), assistant(call("a")), user(shown))

    mended = mend(*history).messages

    note = only(mended[0].content)
    assert isinstance(note, Text)
    assert case.words in note.text
    assert note.text.endswith(".]")
    assert mended[2].content == (ToolResult("a", (Text("here:"), note)),)


RELABELLED = {
    "gif": (media(GIF, "image/png"), media(GIF, "image/gif")),
    "jpeg": (media(JPEG, "image/png"), media(JPEG, "image/jpeg")),
    "webp": (media(WEBP, "image/png"), media(WEBP, "image/webp")),
    "a picture, not a document": (
        media(GIF, "application/pdf", "document"),
        media(GIF, "image/gif"),
    ),
    "a document, not a picture": (evolve(PDF, kind="image", media_type="image/png"), PDF),
    "base64 in lines": (
        Media("image", "image/png", "\n".join((PIXEL.data[:20], PIXEL.data[20:], ""))),
        PIXEL,
    ),
}


@pytest.mark.parametrize(("given", "sent"), RELABELLED.values(), ids=RELABELLED)
def test_a_wrong_name_is_replaced_by_the_true_one(given: Media, sent: Media) -> None:
    mended = mend(user(given, "look"))

    assert mended.messages[0].content == (sent, Text("look"))
    assert [each.what for each in mended.mends] == ["an image or document was given its true type"]


@pytest.mark.parametrize("given", [PIXEL, PDF, media(WEBP, "image/webp"), png(8000, 1)])
def test_what_is_in_order_is_not_touched(given: Media) -> None:
    history = (user(given),)

    assert mend(*history).mends == ()


def test_media_beside_an_error_is_never_sent_and_so_not_looked_at() -> None:
    failed = ToolResult("a", (media(SVG, "image/png"),), is_error=True)

    assert mend(user("go"), assistant(call("a")), user(failed)).mends == ()


def test_a_picture_said_by_the_assistant_becomes_a_note() -> None:
    mended = mend(user("go"), assistant(PIXEL), user("on")).messages

    assert mended[1].content == (Text("[An image was left out here: it stood in a reply.]"),)


# --- together --------------------------------------------------------------------------------


def shown_in(messages: Sequence[Message]) -> list[Media]:
    return [block for message in messages for block in message.content if isinstance(block, Media)]


def test_with_many_pictures_each_must_be_smaller() -> None:
    large, small = png(2001, 1), png(2000, 1)
    few = (user(large), *(user(small) for _ in range(19)))
    many = (*few, user(small))

    assert mend(*few).mends == ()
    mended = mend(*many)

    assert shown_in(mended.messages) == [small] * 20
    assert "with more than 20 images" in mended.messages[0].text
    assert problems(marked(*mended.messages)) == ()


def test_of_many_large_pictures_the_newest_stay() -> None:
    pictures = [user(png(2001, height)) for height in range(1, 22)]

    mended = mend(*pictures).messages

    assert shown_in(mended) == shown_in(pictures[-16:])
    assert problems(marked(*mended)) == ()


def test_of_too_many_pictures_the_oldest_go_and_leave_some_room() -> None:
    pictures = [user(png(1, height)) for height in range(1, 102)]

    assert mend(*pictures[:100]).mends == ()
    mended = mend(*pictures).messages

    assert shown_in(mended) == shown_in(pictures[-80:])
    assert "more than 100 are too many" in mended[0].text


def test_of_too_large_a_conversation_the_oldest_media_go() -> None:
    # A tenth of what may be sent each, so that the eleventh is too much.
    large = media(b"%PDF" + bytes(2_000_000), "application/pdf", "document")
    documents = [user(evolve(large), "keep this") for _ in range(11)]

    mended = mend(*documents)

    assert len(shown_in(mended.messages)) == 8
    assert "had become too large to be sent" in mended.messages[0].text
    assert all("keep this" in message.text for message in mended.messages)
    assert sum(len(message.wire) for message in mended.messages) < 32 * 1024 * 1024


def test_a_picture_is_looked_at_once_and_forgotten_with_its_message() -> None:
    looks, shown = Looks(), user(png(1, 1))
    (picture_,) = shown_in([shown])
    first = looks.of(picture_)

    looks.keep_only([user("other"), shown])
    again = looks.of(picture_)
    looks.keep_only([user("other")])

    assert again is first
    assert looks.of(picture_) is not first


def test_the_reader_of_heads_agrees_with_whole_pictures() -> None:
    data = base64.b64decode(png(12, 34).data)

    assert picture(data) == picture(data, whole=False)
