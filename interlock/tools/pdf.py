"""A PDF as a tool shows it: the text of its pages, or the pages where they have no text."""

from __future__ import annotations

import base64
import re

from attrs import frozen

from interlock.decoders.apart import Decoder, Undecodable, decoded
from interlock.tools.tool import ToolError
from phases.world.media import MAX_RAW, PDF
from phases.world.messages import Media, Text

MOST_PAGES = 20  # of one call
_PAGES = re.compile(r"\s*(\d{1,6})\s*(?:(-)\s*(\d{1,6})?\s*)?")


class NoPages(ToolError):
    """It begins like a PDF and cannot be read as one."""


@frozen
class Pages:
    """From `first` to `last`; None: to the end."""

    first: int = 1
    last: int | None = None

    @classmethod
    def of(cls, written: str | None) -> Pages:
        """Read "3", "1-5" or "10-". Raises `ToolError`."""
        if written is None:
            return cls()
        match = _PAGES.fullmatch(written)
        if match is None:
            raise ToolError(f'`pages` must be like "3", "1-5" or "10-", not {written!r}.')
        first = int(match[1])
        last = (int(match[3]) if match[3] else None) if match[2] else first
        if first < 1 or (last is not None and last < first):
            raise ToolError(f"`pages` counts from 1 and up; {written!r} holds no page.")
        return cls(first, last)


async def shown(data: bytes, name: str, pages: Pages, room: int) -> tuple[Text | Media, ...]:
    """The pages, as text of at most about `room` characters. Raises `ToolError`."""
    ask = {
        "first": pages.first,
        "last": pages.last,
        "most": MOST_PAGES,
        "room": room,
        "bytes": MAX_RAW,
    }
    try:
        made = await decoded(Decoder.PDF, data, ask)
    except Undecodable as error:
        raise NoPages(f"{name} is a PDF that cannot be read: {error}.") from error
    total: int = made.facts["pages"]
    texts: dict[str, str] = made.facts["texts"]
    if not texts:
        raise ToolError(f"{name} has {total} pages; there is none from {pages.first} on.")
    last = pages.first + len(texts) - 1
    head = f"{name}: PDF, {_range(pages.first, last)} of {total}"
    if (pages.last is None and last < total) or (pages.last or 0) > last < total:
        head += '; use `pages` for others, like "' + f'{last + 1}-{min(total, last + 10)}"'
    scanned: list[int] = made.facts["scanned"]
    if made.data:
        told = f"{head}. They have next to no text, so they are shown as they are."
        return Text(told), Media("document", PDF, base64.b64encode(made.data).decode())
    notes = ["text only: figures and layout are not shown"]
    if scanned:
        listed = ", ".join(map(str, scanned))
        notes.append(f"no text on page {listed}: a picture, perhaps; ask for it alone to see it")
    body = "\n\n".join(f"--- page {number} ---\n{text}" for number, text in texts.items())
    return (Text(f"{head} ({'; '.join(notes)})\n\n{body}"),)


def _range(first: int, last: int) -> str:
    return f"page {first}" if first == last else f"pages {first} to {last}"
