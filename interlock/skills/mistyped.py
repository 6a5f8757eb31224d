"""Fields of front matter that hold another kind of value than they are for, and so do nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from interlock.front_matter import Fronted

_TEXTS = ("name", "description", "when_to_use", "context", "effort", "shell")
_NAMES = ("model", "agent")  # no number is one
_LISTS = ("allowed-tools", "arguments", "paths")


def mistyped(front: Fronted) -> Iterator[tuple[str, str]]:
    """Each such key, with words for a person."""
    for key in (*_TEXTS, *_NAMES):
        value = front.fields.get(key)
        if isinstance(value, list | dict) or (key in _NAMES and not _is_text(value)):
            yield key, f"{key} is {_shown(value)}, and no text; it has no effect"
    for key in _LISTS:
        value = front.fields.get(key)
        items = value if isinstance(value, list) else [value]
        if not all(map(_is_text, items)):
            yield key, f"{key} is {_shown(value)}, and no list of texts; it has no effect"
    if isinstance(front.fields.get("argument-hint"), dict):
        yield "argument-hint", "argument-hint holds keys, and is no text; it has no effect"
    for word in argument_words(front):
        if not word.isidentifier():
            yield "arguments", f"arguments: {word!r} is no name, so nothing is filled in for it"


def texts(front: Fronted, key: str) -> tuple[str, ...]:
    """A field that is one text or a list of such, as it is written; else nothing."""
    value = front.fields.get(key)
    items = value if isinstance(value, list) else [value]
    if not all(map(_is_text, items)):
        return ()
    return tuple(text for one in items if one is not None and (text := one.strip()))


def argument_words(front: Fronted) -> tuple[str, ...]:
    """The names of arguments as they are written, one by one."""
    given = texts(front, "arguments")
    if isinstance(front.fields.get("arguments"), list):
        return given
    return tuple(word for one in given for word in one.replace(",", " ").split())


def _is_text(value: Any) -> bool:
    return value is None or isinstance(value, str)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:39]}…"
