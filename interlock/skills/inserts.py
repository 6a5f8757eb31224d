"""The places in instructions where the output of a command or a file is to be put.

!`git diff`        the output of this command
```!               the output of each line in this fence
@docs/style.md     the content of this file, if it is one
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum

from attrs import frozen

_PLACE = re.compile(
    r"(?:^|(?<=\s))!`(?P<command>[^`\n]+)`"
    r"|^```![^\n]*\n(?P<block>.*?)^```[^\S\n]*$"
    r"|(?:^|(?<=[\s(\[]))@(?P<file>[^\s@`]+)",
    re.MULTILINE | re.DOTALL,
)
_FENCE = re.compile(r"^(?P<mark>```+|~~~+)(?!!).*?^(?P=mark)[^\S\n]*$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"(?<!!)(?<!`)(`+)(?!`)[^\n]*?(?<!`)\1(?!`)")
_STOPS = ".,;:!?)]}'\""


class Sort(StrEnum):
    TEXT = "text"
    COMMAND = "command"
    FILE = "file"


@frozen
class Piece:
    """A part of the text. `source` is how it stands there, `text` what is meant by it."""

    sort: Sort
    text: str
    source: str


def pieces(template: str) -> Iterator[Piece]:
    """The text from its beginning to its end; put together, the sources are the text."""
    code = [found.span() for found in (*_FENCE.finditer(template), *_CODE.finditer(template))]
    at = 0
    for found in _PLACE.finditer(template):
        start, end = found.span()
        if found["file"] is not None:
            name = found["file"].rstrip(_STOPS)
            end = start + 1 + len(name)
            if not name or any(first <= start < last for first, last in code):
                continue
        elif any(first < start < last for first, last in code):
            continue
        if start > at:
            yield Piece(Sort.TEXT, template[at:start], template[at:start])
        source = template[start:end]
        if found["file"] is not None:
            yield Piece(Sort.FILE, name, source)
        else:
            yield Piece(Sort.COMMAND, (found["command"] or found["block"]).strip(), source)
        at = end
    if at < len(template):
        yield Piece(Sort.TEXT, template[at:], template[at:])
