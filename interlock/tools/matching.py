"""Where a text stands in a file, and what to say if it stands nowhere or too often.

Matching is exact. A looser match would sometimes change the wrong place; a good explanation
costs the model one more call and never a wrong line.
"""

from __future__ import annotations

import difflib
import re
from itertools import islice

_MAX_LINES = 5_000  # of a file, looked at for the closest lines
_MAX_LINE = 400  # characters of a line, compared
_SHOWN = 12  # lines of the closest place
_NUMBERED = re.compile(r"^\s*\d+\t")


def places(view: str, old: str) -> list[int]:
    """Where `old` stands, without overlap, in order."""
    found: list[int] = []
    at = view.find(old)
    while at >= 0:
        found.append(at)
        at = view.find(old, at + len(old))
    return found


def too_many(view: str, found: list[int]) -> str:
    numbers, line, done = [], 1, 0
    for at in found[:10]:
        line += view.count("\n", done, at)
        done = at
        numbers.append(str(line))
    more = ", ..." if len(found) > 10 else ""
    return (
        f"old_string stands {len(found)} times in the file, at lines {', '.join(numbers)}{more}."
        " Nothing was changed. Add lines around it until it is unique, or set replace_all."
    )


def why_missing(view: str, old: str) -> str:
    """What is wrong with an `old` that stands nowhere, with the lines that are nearest to it."""
    said = "old_string was not found in the file. Nothing was changed."
    if "\ufffd" in old:
        return (
            f"{said} It holds U+FFFD, which Read shows in place of bytes that are no text;"
            " choose an old_string without such a place."
        )
    wanted = old.split("\n")
    bare = [_NUMBERED.sub("", line, count=1) for line in wanted]
    if all(_NUMBERED.match(line) for line in wanted if line) and "\n".join(bare) in view:
        return f"{said} Leave out the line numbers that Read puts in front of each line."
    lines = list(islice(view.split("\n"), _MAX_LINES))
    at = _same_but_blanks(lines, wanted)
    if at is not None:
        return f"{said} Lines like it differ in white space only:\n{_told(lines, at, len(wanted))}"
    at = _nearest(lines, wanted)
    if at is not None:
        return f"{said} The nearest lines are:\n{_told(lines, at, len(wanted))}"
    return f"{said} No line is like it. Read the file again."


def _same_but_blanks(lines: list[str], wanted: list[str]) -> int | None:
    squeezed = ["".join(line.split()) for line in wanted]
    if not any(squeezed):
        return None
    have = ["".join(line.split()) for line in lines]
    first = squeezed[0]
    for at in range(len(have) - len(squeezed) + 1):
        if have[at].endswith(first) and all(
            one in other for one, other in zip(squeezed, have[at:], strict=False)
        ):
            return at
    return None


def _nearest(lines: list[str], wanted: list[str]) -> int | None:
    """Where the line most like the longest wanted one stands, moved to the first wanted one."""
    longest = max(range(len(wanted)), key=lambda at: len(wanted[at].strip()))
    key = wanted[longest].strip()[:_MAX_LINE]
    if not key:
        return None
    stripped = [line.strip()[:_MAX_LINE] for line in lines]
    close = difflib.get_close_matches(key, dict.fromkeys(stripped), n=1, cutoff=0.6)
    return max(0, stripped.index(close[0]) - longest) if close else None


def _told(lines: list[str], at: int, count: int) -> str:
    shown = lines[at : at + min(count, _SHOWN)]
    return "\n".join(
        f"{number}\t{line[:_MAX_LINE]}" for number, line in enumerate(shown, start=at + 1)
    )


def diff(path: str, before: str, after: str, most: int = 400) -> str:
    """A unified diff; bounded, since a model that made the change knows it."""
    if len(before) + len(after) > 2_000_000:
        return f"({path}: too long for a diff)"
    found = list(
        islice(
            difflib.unified_diff(
                _split(before), _split(after), f"{path} (before)", f"{path} (after)", n=3
            ),
            most + 1,
        )
    )
    lines = [
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
        for line in found[:most]
    ]
    if len(found) > most:
        lines.append("... (the diff goes on)\n")
    return "".join(lines)


def _split(text: str) -> list[str]:
    """Lines as editors count them: str.splitlines also cuts at form feeds and U+2028."""
    return [line for line in re.split(r"(?<=\n)", text) if line]
