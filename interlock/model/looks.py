"""What an image or document really is, by its bytes, and whether the API would take it.

Each is looked at once: a look decodes up to 5 MB, and a history is looked at with every request.
"""

from __future__ import annotations

import binascii
from collections.abc import Iterable, Iterator

from attrs import Factory, define, frozen

from phases.world.media import (
    MAX_BASE64,
    MAX_SIDE,
    PDF,
    BrokenPicture,
    is_pdf,
    picture,
)
from phases.world.messages import Block, Media, Message, Text, ToolResult

_HEAD = 64  # bytes: enough for the signature of every kind


@frozen(kw_only=True)
class Look:
    """`sent` is the media as it may leave, or the note that takes its place."""

    sent: Media | Text
    widest: int = 0  # pixels; 0 for a document

    @property
    def size(self) -> int:
        return len(self.sent.data) if isinstance(self.sent, Media) else 0

    @property
    def is_picture(self) -> bool:
        return isinstance(self.sent, Media) and self.sent.kind == "image"


@define
class Looks:
    """Remembers what was looked at, by the very object."""

    _seen: dict[int, tuple[Media, Look]] = Factory(dict)

    def of(self, media: Media) -> Look:
        known = self._seen.get(id(media))
        if known is None:
            known = self._seen[id(media)] = (media, look_at(media))
        return known[1]

    def keep_only(self, messages: Iterable[Message]) -> None:
        """Forget what is no longer part of the history: pictures are large."""
        if self._seen:
            here = {id(one) for message in messages for one in media_in(message.content)}
            self._seen = {key: known for key, known in self._seen.items() if key in here}


def media_in(content: Iterable[Block]) -> Iterator[Media]:
    """The media that are sent; beside an error, `ToolResult.wire` leaves them out."""
    for block in content:
        if isinstance(block, Media):
            yield block
        elif isinstance(block, ToolResult) and not block.is_error:
            yield from (part for part in block.content if isinstance(part, Media))


def look_at(media: Media) -> Look:
    """Judge one by itself. How many there are, and how large together, is for the mender."""
    if media.kind == "image" and len(media.data) > MAX_BASE64:
        size = f"{len(media.data):,} bytes in base64"
        return Look(sent=left_out(media, f"it has {size}, at most {MAX_BASE64:,} are taken"))
    data, raw = _decoded(media.data)
    if raw is None:
        return Look(sent=left_out(media, "its base64 is not valid"))
    if not raw:
        return Look(sent=left_out(media, "it is empty"))
    if is_pdf(raw[:_HEAD]):
        return Look(sent=_labelled(media, "document", PDF, data))
    try:
        found = picture(raw, whole=False)
    except BrokenPicture as broken:
        why = f"it is no {'PDF' if media.kind == 'document' else 'picture'} that can be read"
        return Look(sent=left_out(media, f"{why} ({broken})"))
    if len(data) > MAX_BASE64:
        return look_at(Media("image", found.media_type, data))
    if found.too_wide:
        return Look(sent=too_wide(media, found.width, found.height, MAX_SIDE))
    return Look(sent=_labelled(media, "image", found.media_type, data), widest=found.widest)


def too_wide(media: Media, width: int, height: int, most: int) -> Text:
    return left_out(media, f"it is {width} x {height} pixels, at most {most} a side are taken")


def left_out(media: Media, why: str) -> Text:
    """The note in its place: the model must not believe it has seen it."""
    name = "An image" if media.kind == "image" else "A document"
    return Text(f"[{name} was left out here: {why}.]")


def _labelled(media: Media, kind: str, media_type: str, data: str) -> Media:
    """The media under its true name; the same object where that is the name it has."""
    if (media.kind, media.media_type, media.data) == (kind, media_type, data):
        return media
    return Media("image" if kind == "image" else "document", media_type, data)


def _decoded(data: str) -> tuple[str, bytes | None]:
    """The bytes, and the base64 they came from: line ends within it are taken out."""
    raw = _strictly(data)
    if raw is None and data != (joined := "".join(data.split())):
        return joined, _strictly(joined)
    return data, raw


def _strictly(data: str) -> bytes | None:
    try:
        return binascii.a2b_base64(data, strict_mode=True)
    except (binascii.Error, ValueError):
        return None
