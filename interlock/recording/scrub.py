"""Take secrets out of a recording, so that it can be shown and still be run again.

A secret becomes as many asterisks as it has letters, everywhere: in what the world answered
and in what came of it. So sizes stay, and every decision with them. What is found: values of
the environment whose names say so, values under such keys, and words of well-known forms.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import orjson
from attrs import evolve

from interlock.recording.form import Json, Line, Recording, line_of

_LEAST = 8  # characters; what is shorter hides in too many harmless words
_NAMES = re.compile(
    r"(?i)(?:^|[_-])(?:api_?key|key|token|secret|passwd|password|passphrase|credentials?|pat)$"
)
_KEYS = re.compile(
    r"(?i)(?:api_?key|(?:access|auth|refresh|id|bearer)_?token|(?:client|app)_?secret|secret"
    r"|passwd|password|passphrase|authorization|private_?key|secret_?access_?key)"
)
_FORMS = tuple(
    re.compile(form)
    for form in (
        r"\bsk-[A-Za-z0-9_-]{16,}",  # model providers
        r"\b(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,}",
        r"\bgh[pousr]_[A-Za-z0-9]{20,}",
        r"\bgithub_pat_[A-Za-z0-9_]{20,}",
        r"\bglpat-[A-Za-z0-9_-]{16,}",
        r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}",
        r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
        r"\bAIza[0-9A-Za-z_-]{35}\b",
        r"\bnpm_[A-Za-z0-9]{36}\b",
        r"\bpypi-[A-Za-z0-9_-]{32,}",
        r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",  # a signed token
        r"(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.+?-----END [A-Z ]*PRIVATE KEY-----",
        r"(?i)(?<=bearer )[A-Za-z0-9._~+/=-]{8,}",
        r"(?<=://)[^/\s:@\"']+:[^/\s:@\"']+(?=@)",  # of an address: user and password
        r"(?i)(?<=[\w-]key=)[^\s&\"'\\]{8,}",
        r"(?i)(?<=token=)[^\s&\"'\\]{8,}",
        r"(?i)(?<=secret=)[^\s&\"'\\]{8,}",
        r"(?i)(?<=password=)[^\s&\"'\\]{6,}",
    )
)
_BARE = frozenset('\n\r\t"\\ ')  # tell nothing by themselves
_STARS = "*\u00d7\u204e\U0001f7b2"  # of one, two, three and four bytes
_PIECES = ("TextDelta", "ThinkingDelta", "RawEvent")


def scrubbed(
    recording: Recording, environ: Mapping[str, str], more: Iterable[str] = ()
) -> tuple[Recording, int]:
    """The recording without secrets, and how many there were. `more` are words to take out too.

    What came of the run is scrubbed as well, as text; a rerun says whether that is the same.
    """
    files = (recording.before, recording.transcript, recording.trace)
    inner = [value for text in files for value in _parsed(text)]
    found = set(more) | _of_environment(environ)
    for value in (*inner, *recording.lines):
        found |= _secrets(value)
    words = sorted((word for word in found if word.strip("* ")), key=len, reverse=True)
    if not words:
        return recording, 0
    # One pass over the longest first: a secret may hold another.
    pattern = re.compile("|".join(map(re.escape, words)))

    def hidden(text: str) -> str:
        return pattern.sub(lambda match: _asterisks(match[0]), text)

    header = {**recording.header, "facts": _mapped(recording.header["facts"], hidden)}
    clean = evolve(
        recording,
        header=header,
        before=_each_line(recording.before, hidden),
        lines=tuple(_mapped(line, hidden) for line in recording.lines if not _is_piece(line)),
        transcript=_each_line(recording.transcript, hidden),
        trace=_each_line(recording.trace, hidden),
    )
    return clean, len(words)


def _asterisks(word: str) -> str:
    """As large as the word, also where its letters take several bytes, or are escaped in JSON."""
    return "".join(
        each if each in _BARE else _STARS[len(each.encode(errors="replace")) - 1] for each in word
    )


def _is_piece(line: Line) -> bool:
    """Whether it is a piece of an answer: a secret may be spread over several. They are shown as
    they come and decide nothing; the whole follows."""
    gave = line.get("gave")
    return line.get("on") == "model.event" and isinstance(gave, dict) and gave["is"] in _PIECES


def _of_environment(environ: Mapping[str, str]) -> set[str]:
    return {
        value
        for name, value in environ.items()
        if len(value) >= _LEAST and _NAMES.search(name) and "/" not in value[:1]
    }


def _secrets(value: Json, key: str = "") -> set[str]:
    """Secrets within a value."""
    if isinstance(value, str):
        found = {match[0] for form in _FORMS for match in form.finditer(value)}
        if len(value) >= 6 and _KEYS.fullmatch(key):
            found.add(value)
        return found
    if isinstance(value, dict):
        return {each for name, item in value.items() for each in _secrets(item, name)}
    if isinstance(value, list):
        return {each for item in value for each in _secrets(item, key)}
    return set()


def _mapped(value: Any, hidden: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return hidden(value)
    if isinstance(value, dict):
        return {key: _mapped(item, hidden) for key, item in value.items()}
    if isinstance(value, list):
        return [_mapped(item, hidden) for item in value]
    return value


def _parsed(text: str) -> Iterator[Json]:
    for line in text.splitlines():
        try:
            yield orjson.loads(line)
        except orjson.JSONDecodeError:
            yield line


def _each_line(text: str, hidden: Callable[[str], str]) -> str:
    """A file of JSON lines, each by its values: a secret may be written otherwise in JSON."""
    made = []
    for line in text.split("\n"):
        try:
            value = orjson.loads(line)
        except orjson.JSONDecodeError:
            made.append(hidden(line))
            continue
        clean = _mapped(value, hidden)
        made.append(line if clean == value else line_of(clean).decode().removesuffix("\n"))
    return "\n".join(made)
