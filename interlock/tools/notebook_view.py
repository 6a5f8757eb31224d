"""A Jupyter notebook as a tool shows it: cells with their ids, and what they put out."""

from __future__ import annotations

import binascii
from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from attrs import define, field

from interlock.tools import images
from interlock.tools.excerpt import shortened
from interlock.tools.screen import Screen
from interlock.tools.tool import ToolError
from phases.world.messages import Media, Text

_MOST_PICTURES = 8  # of one call; each costs the model some 1,500 tokens
_MOST_OUTPUT = 3_000  # characters of what one cell put out
_PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")


def cells_of(data: bytes) -> Mapping[str, Any] | None:
    """The notebook these bytes are; None if they are none."""
    try:
        found = orjson.loads(data)
    except orjson.JSONDecodeError:
        return None
    if isinstance(found, dict) and isinstance(found.get("cells"), list) and "nbformat" in found:
        return found
    return None


def cell_id(cell: Mapping[str, Any], at: int) -> str:
    """The cell's own id, or one by its place: notebooks before 4.5 have none."""
    own = cell.get("id")
    return own if isinstance(own, str) and own else f"cell-{at}"


async def shown(
    notebook: Mapping[str, Any], name: str, *, offset: int, limit: int, room: int
) -> tuple[Text | Media, ...]:
    """The cells from number `offset` on, counted from 1 (negative: from the end)."""
    cells: list[Any] = notebook["cells"]
    first = max(0, len(cells) + offset if offset < 0 else offset - 1)
    if cells and first >= len(cells):
        raise ToolError(f"{name} has {len(cells)} cells; there is none from {offset} on.")
    metadata = notebook.get("metadata")
    language = _language(metadata if isinstance(metadata, Mapping) else {})
    page = _Page(room=room)
    last = first
    for at in range(first, min(len(cells), first + limit)):
        cell = cells[at] if isinstance(cells[at], Mapping) else {}
        if not await page.take(cell, cell_id(cell, at), language):
            break
        last = at + 1
    head = f"{name}: notebook with {len(cells)} cells"
    if last - first < len(cells):
        head += f"; shown are {first + 1} to {last}; use offset and limit, which count cells"
    return page.blocks(f"{head}\n")


@define
class _Page:
    """Cells as text, with the pictures among them, until there is no more room."""

    room: int
    text: str = ""
    done: list[Text | Media] = field(factory=list)
    pictures: int = 0

    async def take(self, cell: Mapping[str, Any], id_: str, language: str) -> bool:
        """Put a cell in, unless it does not fit."""
        kind = cell.get("cell_type")
        named = f' language="{language}"' if kind == "code" else ""
        source = _joined(cell.get("source"))
        said = f'\n<cell id="{id_}" type="{kind}"{named}>\n{source}\n</cell>\n'
        outputs = cell.get("outputs")
        found = outputs if isinstance(outputs, Sequence) and kind == "code" else ()
        told = [_told(one) for one in found if isinstance(one, Mapping)]
        words = shortened("\n".join(text for text, _ in told if text), _MOST_OUTPUT, None)
        said += f"<output>\n{words}\n</output>\n" if words else ""
        begun = bool(self.text or self.done)
        if begun and len(said) > self.room:
            return False
        self.room -= len(said)
        self.text += said
        for picture in (one for _, one in told if one is not None):
            await self._show(picture, id_)
        return True

    async def _show(self, picture: str, id_: str) -> None:
        self.pictures += 1
        if self.pictures > _MOST_PICTURES:
            self.text += f"(a picture; only {_MOST_PICTURES} are shown, read this cell alone)\n"
            return
        try:
            data = binascii.a2b_base64("".join(picture.split()))
            words, media = await images.shown(data, f"picture of {id_}")
        except (ToolError, binascii.Error, ValueError) as error:
            self.text += f"(a picture that cannot be shown: {error})\n"
            return
        self.done += [Text(f"{self.text}{words.text}"), media]
        self.text = ""

    def blocks(self, head: str) -> tuple[Text | Media, ...]:
        return (Text(head), *self.done, *([Text(self.text)] if self.text else ()))


def _language(metadata: Mapping[str, Any]) -> str:
    for key, name in (("language_info", "name"), ("kernelspec", "language")):
        found = metadata.get(key)
        if isinstance(found, Mapping) and isinstance(found.get(name), str):
            return str(found[name])
    return "python"


def _told(output: Mapping[str, Any]) -> tuple[str, str | None]:
    """The words of an output, and its picture in base64."""
    match output.get("output_type"):
        case "stream":
            return _plain(_joined(output.get("text"))), None
        case "error":
            traceback = _joined_lines(output.get("traceback"))
            return _plain(traceback or f"{output.get('ename')}: {output.get('evalue')}"), None
    data = output.get("data")
    if not isinstance(data, Mapping):
        return "", None
    picture = next((_joined(data[kind]) for kind in _PICTURES if kind in data), None)
    text = _joined(data.get("text/plain")) or _joined(data.get("text/markdown"))
    if not text and "text/html" in data and picture is None:
        text = _joined(data["text/html"])
    return _plain(text), picture


def _joined(value: Any) -> str:
    """A string, or the lines that nbformat makes of one."""
    if isinstance(value, str):
        return value
    return "".join(map(str, value)) if isinstance(value, Sequence) else ""


def _joined_lines(value: Any) -> str:
    return "\n".join(map(str, value)) if isinstance(value, Sequence) else ""


def _plain(text: str) -> str:
    screen = Screen()
    return (screen.feed(text.encode(errors="replace")) + screen.end()).rstrip("\n")
