r"""What one name of a path pattern means, as .gitignore has it: `*`, `?`, `[a-z]`, `[^a]`, `\*`.

Knows no slashes and no braces: those are globs.py's.
"""

from __future__ import annotations

import re

_KINDS = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "blank": r"\ \t",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": r"\ -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\ \t\n\r\f\v",
    "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
}
_KIND = re.compile(r"\[:(\w*):\]")


class BadPattern(ValueError):
    """A pattern that means nothing."""


def of_name(name: str) -> str:
    """The regular expression that whole names must match; one that cannot backtrack far."""
    pieces, at = [""], 0
    while at < len(name):
        letter = name[at]
        if letter == "*":
            pieces.append("")
            at += 1
            continue
        one, at = _one(name, at)
        pieces[-1] += one
    first, *others = pieces
    if not others:
        return f"(?s:{first})"
    *middle, last = others
    # Between two stars the first place that fits is as good as any: it is not gone back on.
    fixed = "".join(f"(?>.*?{piece})" for piece in middle if piece)
    return f"(?s:{first}{fixed}.*{last})"


def _one(name: str, at: int) -> tuple[str, int]:
    """What matches one letter, and where the next begins."""
    letter = name[at]
    if letter == "?":
        return ".", at + 1
    if letter == "[":
        found = _set(name, at + 1)
        if found is not None:
            return found
    if letter == "\\":
        if at + 1 == len(name):
            raise BadPattern(f"the pattern {name!r} ends in a backslash that stands for nothing")
        return re.escape(name[at + 1]), at + 2
    return re.escape(letter), at + 1


def _set(name: str, at: int) -> tuple[str, int] | None:
    """The letters between brackets; None if they are never closed, so `[` means itself."""
    negated = name[at : at + 1] in ("!", "^")
    begin = at = at + negated
    ranges, previous = list[str](), ""
    while at < len(name) and (name[at] != "]" or at == begin):
        kind = _KIND.match(name, at)
        if kind is not None:
            ranges.append(_kind(kind[1], name))
            at, previous = kind.end(), ""
            continue
        until = name[at] == "-" and previous and name[at + 1 : at + 2] not in ("", "]")
        letter, at = _letter(name, at + 1 if until else at)
        if not letter:
            return None
        if until:
            ranges[-1:] = [f"{re.escape(previous)}-{re.escape(letter)}"] * (previous <= letter)
            # A range upside down holds nothing but, as git has it, the letter it begins with.
            ranges.append(re.escape(previous))
            previous = ""
        else:
            ranges.append(re.escape(letter))
            previous = letter
    if at >= len(name):
        return None
    return f"[{'^' if negated else ''}{''.join(ranges)}]", at + 1


def _letter(name: str, at: int) -> tuple[str, int]:
    r"""A letter within brackets, `\]` being one; "" if the name ends before it."""
    if name[at] == "\\":
        at += 1
    return name[at : at + 1], at + 1


def _kind(kind: str, name: str) -> str:
    if kind not in _KINDS:
        raise BadPattern(f"the pattern {name!r} names a kind of letters [:{kind}:] that is none")
    return _KINDS[kind]
