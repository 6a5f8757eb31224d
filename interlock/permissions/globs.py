r"""Path patterns as .gitignore knows them: `**`, `*`, `?`, `[a-z]`, `[^a]`, `\*`; and `{a,b}`.

Matched part by part, never by one regular expression over the whole path: a pattern comes from
a model or a settings file, and nested stars would let it run for hours. What one part means is
in `names.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice

from attrs import frozen

from interlock.permissions.names import BadPattern, of_name

__all__ = ("BadPattern", "Glob", "compiled", "expanded", "literally")

MAX_ALTERNATIVES = 64  # of braces, multiplied out


# Innermost braces with a comma in them; what a backslash stands before means itself.
_BRACES = re.compile(
    r"(?P<before>(?:\\.|[^\\])*?)"
    r"\{(?P<choices>(?:\\.|[^\\{},])*(?:,(?:\\.|[^\\{},])*)+)\}(?P<after>.*)",
    re.DOTALL,
)
_LETTER = re.compile(r"\\.|.", re.DOTALL)


@frozen
class Glob:
    """A compiled pattern; matches relative paths, given as their parts."""

    alternatives: tuple[tuple[re.Pattern[str] | None, ...], ...]  # None stands for `**`

    def matches(self, parts: tuple[str, ...]) -> bool:
        return any([*_walk(pattern, parts)][-1] for pattern in self.alternatives)

    def covers(self, parts: tuple[str, ...]) -> bool:
        """Whether the path, or a folder above it, matches: as in .gitignore."""
        return any(any(islice(_walk(pattern, parts), 1, None)) for pattern in self.alternatives)


@lru_cache(maxsize=256)
def compiled(pattern: str, ignore_case: bool = False) -> Glob:
    """A pattern without a slash matches at any depth; one with a slash from the top."""
    flags = re.IGNORECASE if ignore_case else 0
    return Glob(tuple(_compiled(one, flags) for one in expanded(pattern)))


def _compiled(pattern: str, flags: int) -> tuple[re.Pattern[str] | None, ...]:
    pattern = "".join("/" if each == r"\/" else each for each in _LETTER.findall(pattern))
    anchored = "/" in pattern.rstrip("/")
    parts = [part for part in pattern.split("/") if part not in ("", ".")]
    if not parts:
        raise BadPattern(f"the pattern {pattern!r} matches nothing")
    if ".." in parts:
        raise BadPattern(f"the pattern {pattern!r} leaves its folder")
    if not anchored:
        parts.insert(0, "**")
    found: list[re.Pattern[str] | None] = []
    for part in parts:
        if part != "**":
            found.append(re.compile(of_name(part), flags))
        elif not found or found[-1] is not None:
            found.append(None)
    if found[-1] is None:  # `a/**` means what is in a, not a itself
        found.append(re.compile("(?s:.*)"))
    return tuple(found)


def _walk(pattern: tuple[re.Pattern[str] | None, ...], parts: tuple[str, ...]) -> Iterator[bool]:
    """Whether the pattern matches no part, the first, the first two … Keeps the set of pattern
    positions that the parts so far can have led to."""
    positions = _past_stars(pattern, {0})
    yield len(pattern) in positions
    for part in parts:
        following: set[int] = set()
        for at in positions:
            if at == len(pattern):
                continue
            step = pattern[at]
            if step is None:
                following.add(at)
            elif step.fullmatch(part):
                following.add(at + 1)
        positions = _past_stars(pattern, following)
        yield len(pattern) in positions


def _past_stars(pattern: tuple[re.Pattern[str] | None, ...], positions: set[int]) -> set[int]:
    """`**` stands for no part too."""
    return positions | {at + 1 for at in positions if at < len(pattern) and pattern[at] is None}


def expanded(pattern: str) -> tuple[str, ...]:
    """The pattern with its braces multiplied out."""
    if "\0" in pattern:
        raise BadPattern("a pattern cannot hold a NUL")
    done: list[str] = []
    waiting = [pattern]
    while waiting:
        one = waiting.pop()
        braces = _BRACES.fullmatch(one)
        if braces is None:
            done.append(one)
        else:
            for choice in _choices(braces["choices"]):
                waiting.append(braces["before"] + choice + braces["after"])
        if len(done) + len(waiting) > MAX_ALTERNATIVES:
            raise BadPattern(f"the braces of {pattern!r} stand for too many patterns")
    return tuple(dict.fromkeys(reversed(done)))


def _choices(text: str) -> list[str]:
    found = [""]
    for letter in _LETTER.findall(text):
        if letter == ",":
            found.append("")
        else:
            found[-1] += letter
    return found


def literally(pattern: str) -> str | None:
    """The pattern with its brackets meant as such: folders are called `[id]`, too. None if it
    has none."""
    meant = "".join(r"\[" if each == "[" else each for each in _LETTER.findall(pattern))
    return None if meant == pattern else meant
