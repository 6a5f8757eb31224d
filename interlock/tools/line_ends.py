r"""A regular expression of ripgrep's that does not care how a file ends its lines.

Read and Edit show every file with LF, so what a pattern says of line ends is meant of those:
`;$` and `a\nb` match in a file with CRLF as well. A pattern that speaks of CR itself is left
alone: it looks for files that have it.
"""

from __future__ import annotations

import re

_CR = re.compile(
    r"\r|(?<!\\)(?:\\\\)*\\(?:r|x0[dD]|x\{0*[dD]\}|[uU]\{0*[dD]\}|u000[dD]|U0000000[dD])"
)
_LETTER = re.compile(r"\\.|.", re.DOTALL)
_END = r"(?:\r?\n)"


def options(pattern: str, *, multiline: bool) -> list[str]:
    """How ripgrep is told to look for it."""
    if _CR.search(pattern):
        return ["-e", pattern]
    # `-e`, so that a pattern which looks like a flag is none.
    return ["--crlf", "-e", _either(pattern) if multiline else pattern]


def _either(pattern: str) -> str:
    """The pattern with each line end in it standing for both kinds."""
    letters = _LETTER.findall(pattern)
    told, at = list[str](), 0
    while at < len(letters):
        if letters[at] == "[":
            end = _end_of_set(letters, at)
            told.append(_set("".join(letters[at:end])))
            at = end
        else:
            told.append(_END if letters[at] in (r"\n", "\n") else letters[at])
            at += 1
    return "".join(told)


def _set(text: str) -> str:
    """A set with a line end in it; one that is negated leaves both kinds out already."""
    ends = r"\n" in text or "\n" in text
    return rf"(?:\r\n|{text})" if ends and not text.startswith("[^") else text


def _end_of_set(letters: list[str], at: int) -> int:
    """Where the pattern goes on behind the set that begins here; sets may hold sets."""
    depth, begin = 0, at
    while at < len(letters):
        letter = letters[at]
        first = letters[at - 1] == "[" or letters[at - 2 : at] == ["[", "^"]
        if letter == "[":
            depth += 1
        elif letter == "]" and not (first and at > begin):
            depth -= 1
            if not depth:
                return at + 1
        at += 1
    return at
