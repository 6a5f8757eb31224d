"""A change as a unified diff that is short, and bounded however large the files are.

Knows texts with LF line ends. What both have in common at the beginning and at the end is not
looked at line by line, so a change in a huge file costs about what it costs in a small one.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from typing import Literal

from attrs import frozen

_AROUND = 3  # lines of context
_MAX_COMPARED = 2_000  # lines of each side that are compared; the rest is told as a number
_SURROGATES = re.compile("[\ud800-\udfff]")
_Kind = Literal["replace", "delete", "insert", "equal"]
_Code = tuple[_Kind, int, int, int, int]
_NO_NEWLINE = "\\ No newline at end of file"


@frozen(kw_only=True)
class Size:
    """How much of a diff is worth showing."""

    lines: int
    width: int  # characters of a line


FOR_MODEL = Size(lines=60, width=300)  # it made the change, and pays for each line
FOR_PERSON = Size(lines=400, width=380)  # who is to approve it wants to see it all


@frozen(kw_only=True)
class _Window:
    """The lines that differ, with those around them."""

    before: list[str]
    after: list[str]
    first: int  # lines in front of the window
    cut: bool  # there is more behind it


def diff(path: str, before: str, after: str, size: Size = FOR_MODEL) -> str:
    """The unified diff; empty if the texts are the same."""
    if before == after:
        return ""
    window = _window(before, after)
    found: list[str] = []
    more = window.cut
    for line in _lines(window, size.width):
        if len(found) == size.lines:
            more = True
            break
        found.append(line)
    if more:
        found.append("... (the diff goes on)")
    text = "\n".join([f"--- {path}", f"+++ {path}", *found, ""])
    return _SURROGATES.sub("\ufffd", text)


def _window(before: str, after: str) -> _Window:
    begin = _same_at_begin(before, after)
    same_end = _same_at_end(before, after, min(len(before), len(after)) - begin)
    start = _line_start(before, begin, _AROUND)
    cut = _after_lines(before, len(before) - same_end, _AROUND + 1)
    tail = len(before) - cut
    old, more_old = _first_lines(before[start:cut])
    new, more_new = _first_lines(after[start : len(after) - tail])
    return _Window(
        before=old,
        after=new,
        first=before.count("\n", 0, start),
        cut=more_old or more_new,
    )


def _same_at_begin(one: str, other: str) -> int:
    """How many characters both begin with."""
    low, high = 0, min(len(one), len(other))
    while low < high:  # halving compares whole pieces, each character about twice
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _same_at_end(one: str, other: str, most: int) -> int:
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if (
            one[len(one) - middle : len(one) - low]
            == other[len(other) - middle : len(other) - low]
        ):
            low = middle
        else:
            high = middle - 1
    return low


def _line_start(text: str, at: int, lines: int) -> int:
    """Where the line of `at` begins, or the one so many lines before it."""
    for _ in range(lines + 1):
        at = text.rfind("\n", 0, at)
        if at < 0:
            return 0
    return at + 1


def _after_lines(text: str, at: int, lines: int) -> int:
    """Behind so many line ends from `at` on, or the end."""
    for _ in range(lines):
        at = text.find("\n", at) + 1
        if at == 0:
            return len(text)
    return at


def _first_lines(text: str) -> tuple[list[str], bool]:
    """The lines that are compared, as editors count them (str.splitlines also cuts at form feeds
    and U+2028), and whether there are more: a large file is millions of them."""
    *whole, rest = text.split("\n", _MAX_COMPARED)
    lines = [f"{line}\n" for line in whole]
    if len(lines) == _MAX_COMPARED:
        return lines, rest != ""
    return [*lines, rest] if rest else lines, False


class _Matcher(difflib.SequenceMatcher[str]):
    """Compares only what is between the same lines at both ends: among many lines that are alike
    difflib would match others than those, and show a change where none is."""

    def __init__(self, window: _Window) -> None:
        old, new = window.before, window.after
        pairs = zip(old, new, strict=False)
        self._lead = next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(old), len(new)))
        most = 0 if window.cut else min(len(old), len(new)) - self._lead
        self._tail = next((n for n in range(most) if old[-1 - n] != new[-1 - n]), most)
        self._size = len(old), len(new)
        core = slice(self._lead, len(old) - self._tail), slice(self._lead, len(new) - self._tail)
        # With autojunk blank lines of long files match less well, without it time is quadratic.
        autojunk = len(old) + len(new) > 1_000
        super().__init__(None, old[core[0]], new[core[1]], autojunk=autojunk)

    def get_opcodes(self) -> list[_Code]:
        lead, tail, (old, new) = self._lead, self._tail, self._size
        codes: list[_Code] = [("equal", 0, lead, 0, lead)] if lead else []
        for kind, i1, i2, j1, j2 in super().get_opcodes():
            codes.append((kind, i1 + lead, i2 + lead, j1 + lead, j2 + lead))
        if tail:
            codes.append(("equal", old - tail, old, new - tail, new))
        return codes


def _lines(window: _Window, width: int) -> Iterator[str]:
    old, new = window.before, window.after
    matcher = _Matcher(window)
    for number, group in enumerate(matcher.get_grouped_opcodes(_AROUND)):
        changes = sum(kind != "equal" for kind, *_ in group)
        if window.cut and _reaches_the_cut(group[-1], old, new) and (number or changes > 1):
            group = group[:-1]  # it may be no change: what follows there was not compared
            if changes == 1:
                continue
        _, from_old, _, from_new, _ = group[0]
        _, _, to_old, _, to_new = group[-1]
        old_range = _range(window.first + from_old, window.first + to_old)
        new_range = _range(window.first + from_new, window.first + to_new)
        yield f"@@ -{old_range} +{new_range} @@"
        for kind, i1, i2, j1, j2 in group:
            if kind == "equal":
                for line in old[i1:i2]:
                    yield from _told(" ", line, 0, width)
                continue
            differ = [
                _same_at_begin(one, other)
                for one, other in zip(old[i1:i2], new[j1:j2], strict=False)
            ]
            for sign, lines in (("-", old[i1:i2]), ("+", new[j1:j2])):
                for place, line in enumerate(lines):
                    at = differ[place] if place < len(differ) else 0
                    yield from _told(sign, line, at, width)


def _reaches_the_cut(code: tuple[str, int, int, int, int], old: list[str], new: list[str]) -> bool:
    kind, _, i2, _, j2 = code
    return kind != "equal" and (i2 == len(old) or j2 == len(new))


def _range(start: int, stop: int) -> str:
    length = stop - start
    if length == 1:
        return str(start + 1)
    return f"{start + 1 if length else start},{length}"


def _told(sign: str, line: str, at: int, width: int) -> Iterator[str]:
    """A line of the diff; of a long one, what stands around `at`."""
    text = line.removesuffix("\n")
    if len(text) > width:
        start = max(0, min(at - width // 3, len(text) - width))
        end = start + width
        before = f"[{start} characters]..." if start else ""
        after = f"...[{len(text) - end} characters]" if end < len(text) else ""
        text = before + text[start:end] + after
    yield sign + text
    if not line.endswith("\n"):
        yield _NO_NEWLINE
