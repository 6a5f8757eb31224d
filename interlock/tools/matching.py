"""Where a text stands in a file, and what to say if it stands nowhere or too often.

Matching is exact. A looser match would sometimes change the wrong place; a good explanation
costs the model one more call and never a wrong line.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Callable
from itertools import islice

from interlock.tools.filetext import places

_MAX_COMPARED = 4 << 20  # characters of a file in which lines like the wanted ones are sought
_MAX_LINES = 5_000  # of a file, looked at for the closest lines
_MAX_LINE = 400  # characters of a line, compared
_SHOWN = 12  # lines of the closest place
_NUMBERED = re.compile(r"^\s*\d+\t")
# What models and word processors put for plain letters.
_LOOKS = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-"),
        **dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff\u00ad"),
    }
)


def too_many(view: str, old: str, count: int) -> str:
    numbers, line, done = [], 1, 0
    for at in islice(places(view, old), 10):
        line += view.count("\n", done, at)
        done = at
        numbers.append(str(line))
    more = ", ..." if count > 10 else ""
    return (
        f"old_string stands {count} times in the file, at lines {', '.join(numbers)}{more}."
        " Nothing was changed. Add lines around it until it is unique, or set replace_all."
    )


def why_missing(view: str, old: str) -> str:
    """What is wrong with an `old` that stands nowhere, with the lines that are nearest to it."""
    said = "old_string was not found in the file. Nothing was changed."
    return f"{said} {_slip(view, old) or _likeness(view, old)}"


def _slip(view: str, old: str) -> str | None:
    """A mistake in writing it down, after which it would be found."""
    if "\ufffd" in old and "\ufffd" not in view:
        return (
            "It holds U+FFFD, which Read shows in place of bytes that are no text; choose an"
            " old_string without such a place."
        )
    lines = old.split("\n")
    bare = "\n".join(_NUMBERED.sub("", line, count=1) for line in lines)
    if all(_NUMBERED.match(line) for line in lines if line) and bare in view:
        return "Leave out the line numbers that Read puts in front of each line."
    plain = old.replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"')
    if plain != old and plain in view:
        return "It is there without the backslashes: write line breaks, tabs and quotes plainly."
    import html  # 2,000 entities: for a slip, not for each start

    if html.unescape(old) != old and html.unescape(old) in view:
        return "It is there with <, >, & and quotes written plainly, not as &lt; and the like."
    trimmed = old.strip("\n")
    if trimmed and trimmed != old and trimmed in view:
        return "It is there without the line breaks at its beginning or end."
    return None


def _likeness(view: str, old: str) -> str:
    """Lines that are the same but for what the eye passes over, or else the nearest."""
    if len(view) > _MAX_COMPARED:
        return "The file is too large to look for lines like it: find the place with Grep."
    lines, wanted = view.split("\n"), old.split("\n")
    for kind, key in (
        ("white space", _squeezed),
        ("look-alike characters", _folded),
        ("upper and lower case", lambda line: _folded(line).casefold()),
    ):
        at = _same_by(key, lines, wanted)
        if at is not None:
            told = _told(lines, at, len(wanted))
            return f"Lines like it differ in {kind} only{_letters(lines, at, wanted)}:\n{told}"
    at = _nearest(list(islice(lines, _MAX_LINES)), wanted)
    if at is not None:
        return f"The nearest lines are:\n{_told(lines, at, len(wanted))}"
    return "No line is like it. Read the file again."


def _squeezed(line: str) -> str:
    return "".join(line.split())


def _folded(line: str) -> str:
    return _squeezed(unicodedata.normalize("NFKC", line.translate(_LOOKS)))


def _same_by(key: Callable[[str], str], lines: list[str], wanted: list[str]) -> int | None:
    """The first line from which on all lines are as wanted, seen by their keys."""
    sought = [key(line) for line in wanted]
    if not any(sought):
        return None
    have = [key(line) for line in lines]
    if len(sought) == 1:
        return next((at for at, line in enumerate(have) if sought[0] in line), None)
    first, *middle, last = sought
    for at in range(len(have) - len(sought) + 1):
        if (
            have[at].endswith(first)
            and have[at + 1 : at + 1 + len(middle)] == middle
            and have[at + 1 + len(middle)].startswith(last)
        ):
            return at
    return None


def _letters(lines: list[str], at: int, wanted: list[str]) -> str:
    """The first two characters that differ, by name, where the eye would not tell them apart."""
    for have, want in zip(lines[at:], wanted, strict=False):
        if want in have:
            continue
        matcher = difflib.SequenceMatcher(None, have[:_MAX_LINE], want[:_MAX_LINE], autojunk=False)
        for kind, i1, i2, j1, j2 in matcher.get_opcodes():
            if kind == "replace":
                return f" ({_named(have[i1:i2])} in the file, {_named(want[j1:j2])} in old_string)"
    return ""


def _named(text: str) -> str:
    """The kinds of characters in a short text, `4 x SPACE` or `U+2013 EN DASH`."""
    found = []
    for letter in dict.fromkeys(text[:20]):
        name = {"\t": "TAB", " ": "SPACE"}.get(letter) or (
            f"U+{ord(letter):04X} {unicodedata.name(letter, '')}".rstrip()
        )
        count = text.count(letter)
        found.append(name if count == 1 else f"{count} x {name}")
    return ", ".join(found[:3])


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
