"""A Markdown file that begins with `---`, keys and values, `---`: the fields, and the text below.

The block is YAML; but people write `description: Use it for: tests`, which is none. What YAML
refuses is read line by line, so a file is never lost for a colon. What the fields mean is the
affair of whoever asks: skills, commands, rules, agents.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from attrs import field, frozen

from phases.world.messages import Json

_BLOCK = re.compile(r"\A---[ \t]*\n(?P<head>.*?)(?:^---[ \t]*(?:\n|\Z))", re.DOTALL | re.MULTILINE)
_LINE = re.compile(r"(?P<key>[A-Za-z][\w-]*)[ \t]*:(?P<value>.*)")
_ITEM = re.compile(r"[ \t]+-[ \t]+(?P<item>.*)|-[ \t]+(?P<flush>.*)")


@frozen(kw_only=True)
class Fronted:
    """A file, taken apart. `problem` says what is odd in the block."""

    fields: Mapping[str, Json] = field(factory=dict)
    body: str
    problem: str | None = None
    lines: Mapping[str, int] = field(factory=dict)  # of the keys, from 1

    def line_of(self, key: str) -> int | None:
        """The line of the file that a key stands on."""
        return self.lines.get(key)

    def text(self, key: str) -> str | None:
        """A field as one line of text; None where it is missing or empty."""
        value = self.fields.get(key)
        if value is None or isinstance(value, dict | list):
            return None
        words = " ".join(str(value).split())
        return words or None

    def words(self, key: str) -> tuple[str, ...]:
        """A field that lists things: as a list, or as one text with commas between them; those in
        brackets belong to a thing, as in `*.{ts,tsx}`."""
        value = self.fields.get(key)
        if value is None:
            return ()
        given = value if isinstance(value, list) else _split(str(value))
        return tuple(text for one in given if (text := str(one).strip()))

    def switch(self, key: str, default: bool) -> bool:
        """A field that is true or false; anything else counts as the default."""
        value = self.fields.get(key, default)
        if isinstance(value, str):
            return {"true": True, "yes": True, "false": False, "no": False}.get(
                value.strip().lower(), default
            )
        return value if isinstance(value, bool) else default


def fronted(text: str) -> Fronted:
    """Take a file's text apart; without such a block all of it is the body."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    block = _BLOCK.match(text)
    if block is None:
        unclosed = text.startswith("---\n") and _LINE.match(text[4:]) is not None
        problem = "its front matter has no closing ---" if unclosed else None
        return Fronted(body=text, problem=problem)
    head, body = block["head"], text[block.end() :]
    lines = _lines_of(head)
    import yaml  # here: it costs 15 ms, and most sessions meet no such file

    try:
        fields = yaml.safe_load(head)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        where = getattr(error, "problem_mark", None)
        line = f" in line {where.line + 2}" if where is not None else ""
        read = dict(_line_by_line(head))
        problem = f"its front matter is no YAML{line}"
        return Fronted(fields=read, body=body, problem=problem, lines=lines)
    if fields is None:
        return Fronted(body=body)
    if not isinstance(fields, dict):
        return Fronted(body=body, problem="its front matter holds no keys; write key: value")
    named = {str(key): value for key, value in fields.items()}
    return Fronted(fields=named, body=body, lines=lines)


def _lines_of(head: str) -> dict[str, int]:
    found = ((_LINE.match(line), number) for number, line in enumerate(head.splitlines(), 2))
    return {line["key"]: number for line, number in found if line is not None}


def _split(text: str) -> list[str]:
    """At the commas outside brackets."""
    depth, parts = 0, [""]
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth <= 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def _line_by_line(head: str) -> Iterator[tuple[str, Json]]:
    """`key: anything` and lists below a key; nothing else is understood."""
    key, items = "", list[str]()
    for line in head.splitlines():
        if (item := _ITEM.match(line)) and key:
            items.append(_unquoted(item["item"] or item["flush"]))
        elif found := _LINE.match(line):
            if items:
                yield key, items
            key, items = found["key"], []
            if found["value"].strip():
                yield key, _unquoted(found["value"])
    if items:
        yield key, items


def _unquoted(text: str) -> str:
    text = text.strip()
    quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "\"'"
    return text[1:-1] if quoted else text
