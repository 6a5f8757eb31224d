"""Small PDFs and notebooks, made by hand."""

from __future__ import annotations

import io
import json
from typing import Any

from pypdf import PdfReader, PdfWriter


def pdf(*pages: str) -> bytes:
    """A PDF with a page for each text; an empty text makes a page without one."""
    kids = " ".join(f"{3 + 2 * at} 0 R" for at in range(len(pages)))
    font = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"
    objects = [
        "<</Type/Catalog/Pages 2 0 R>>",
        f"<</Type/Pages/Kids[{kids}]/Count {len(pages)}>>",
    ]
    for at, text in enumerate(pages):
        drawn = f"BT /F1 12 Tf 20 100 Td ({text}) Tj ET" if text else "0 0 50 50 re f"
        objects += [
            (
                f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 400 200]/Contents {4 + 2 * at} 0 R"
                f"/Resources<</Font<</F1 {font}>>>>>>"
            ),
            f"<</Length {len(drawn)}>>stream\n{drawn}\nendstream",
        ]
    out, places = "%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj{body}endobj\n"
    start = len(out)
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n"
    out += "".join(f"{place:010} 00000 n \n" for place in places)
    out += f"trailer<</Size {len(objects) + 1}/Root 1 0 R>>\nstartxref\n{start}\n%%EOF\n"
    return out.encode()


def locked(data: bytes, password: str) -> bytes:
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(data)))
    writer.encrypt(password, algorithm="RC4-128")
    into = io.BytesIO()
    writer.write(into)
    return into.getvalue()


def pages_of(data: bytes) -> int:
    return len(PdfReader(io.BytesIO(data)).pages)


def notebook(*cells: dict[str, Any]) -> str:
    return json.dumps(
        {
            "cells": list(cells),
            "metadata": {"language_info": {"name": "python"}},
            "nbformat": 4,
            "nbformat_minor": 5,
        }
    )


def code(source: str, *outputs: dict[str, Any], id: str | None = None) -> dict[str, Any]:  # noqa: A002
    named = {} if id is None else {"id": id}
    return {"cell_type": "code", "source": source, "outputs": list(outputs), **named}
