"""What a note file takes in with `@path`: which words of it are meant, and where they lead.

Text in code and mail addresses is left alone. Reads nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from attrs import frozen

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")
# Behind a blank, a bracket or the line's beginning: in `me@example.org` it stands behind a letter.
# A path with blanks in it stands in quotes.
_IMPORT = re.compile(r"(?:^|(?<=[\s(\[]))@(?:\"(?P<quoted>[^\"]+)\"|(?P<bare>[^\s@`]+))")
_STOPS = ".,;:!?)]}'\""
_LINES = re.compile(r"L?(?P<first>\d+)(?:-L?(?P<last>\d+))?")


@frozen
class Import:
    """One path as it is written."""

    written: str
    quoted: bool = False

    @property
    def path(self) -> str:
        """Without a fragment: `a.md#L10-20` is about lines, `a.md#usage` about a heading."""
        return self.written.partition("#")[0]

    @property
    def lines(self) -> range | None:
        """Which lines a fragment asks for, from 1; None for the whole file."""
        found = _LINES.fullmatch(self.written.partition("#")[2])
        if found is None:
            return None
        first = max(1, int(found["first"]))
        return range(first, max(first, int(found["last"] or first)) + 1)


def imports(text: str) -> Iterator[Import]:
    """The paths that a text imports, as they are written, in order."""
    fence = ""
    for line in text.splitlines():
        mark = _FENCE.match(line)
        if fence:
            closes = mark is not None and mark[1].startswith(fence) and not line.strip(" `~")
            fence = "" if closes else fence
        elif mark is not None:
            fence = mark[1]
        else:
            for found in _IMPORT.finditer(_CODE.sub(" ", line)):
                if found["quoted"]:
                    yield Import(found["quoted"], quoted=True)
                elif path := found["bare"].rstrip(_STOPS):
                    yield Import(path)


def is_path(written: str) -> bool:
    """Whether it is surely meant as a file: `@someone` is a person as well."""
    return "/" in written or Path(written).suffix != ""


def leads_to(written: str, folder: Path) -> Path | None:
    """The path, counted from the importing file's folder; None for what is none."""
    try:
        return folder / Path(written).expanduser() if written else None
    except RuntimeError:
        return None
