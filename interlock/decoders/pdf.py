"""The text of a PDF's pages; the pages themselves, as a PDF of their own, where it has none."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

from pypdf import PdfReader, PdfWriter
from pypdf.errors import DependencyError, PyPdfError

from interlock.decoders.child import Answer, Unreadable, serve

_SCANNED = 20  # letters of a page that has none: a number, a stamp


def read(data: bytes, ask: Mapping[str, Any]) -> Answer:
    """`ask`: `first`, `last` (None: to the end), `most` (pages), `room` (characters of text)
    and `bytes` (of a PDF that may be sent)."""
    try:
        return _read(PdfReader(io.BytesIO(data), strict=False), data, ask)
    except (Unreadable, MemoryError):
        raise
    except DependencyError as error:
        raise Unreadable("it is encrypted in a way that cannot be read here") from error
    except PyPdfError as error:
        raise Unreadable(f"it is damaged, or no PDF at all ({error})") from error
    except Exception as error:  # a parser of other people's bytes: anything may come
        raise Unreadable(f"it is damaged ({type(error).__name__}: {error})") from error


def _read(reader: PdfReader, data: bytes, ask: Mapping[str, Any]) -> Answer:
    if reader.is_encrypted and not reader.decrypt(""):
        raise Unreadable("it is encrypted and needs a password")
    total = len(reader.pages)
    first, last = ask["first"], min(ask["last"] or total, total)
    facts: dict[str, Any] = {"pages": total, "texts": {}, "scanned": []}
    room = ask["room"]
    for number in range(first, min(last, first + ask["most"] - 1) + 1):
        text = reader.pages[number - 1].extract_text().strip()
        if facts["texts"] and len(text) > room:
            break
        room -= len(text)
        facts["texts"][number] = text
        if len("".join(text.split())) < _SCANNED:
            facts["scanned"].append(number)
    if len(facts["scanned"]) * 2 <= len(facts["texts"]):
        return facts, b""
    return facts, _pages(reader, data, facts["scanned"], ask["bytes"])


def _pages(reader: PdfReader, data: bytes, numbers: list[int], most: int) -> bytes:
    """A PDF of these pages; nothing, if it would be too large."""
    if len(numbers) == len(reader.pages) and not reader.is_encrypted:
        return data if len(data) <= most else b""
    writer = PdfWriter()
    for number in numbers:
        writer.add_page(reader.pages[number - 1])
    into = io.BytesIO()
    writer.write(into)
    return into.getvalue() if into.tell() <= most else b""


if __name__ == "__main__":
    serve(read)
