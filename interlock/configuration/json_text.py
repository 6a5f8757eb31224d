"""JSON that knows where it stands: every value keeps its place in the text.

As strict as RFC 8259, and stricter where leniency would lose a rule in silence: a name that
stands twice in one object is refused. Knows nothing of settings. The standard decoder reads the
strings; it does not tell where the values were, so the walk around them is ours.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import TypeAlias

from attrs import define, frozen

from phases.world.messages import Json

DEPTH = 64  # settings go five deep; a thousand brackets are an attack on our stack

_STRINGS = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\n\r]*")
_WORD = re.compile(r"[A-Za-z]+")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?P<part>\.\d+)?(?P<power>[eE][-+]?\d+)?", re.ASCII)
_DIGITS = 400  # longer whole numbers are no setting, and Python refuses to read very long ones
_SURROGATE = re.compile("[\ud800-\udfff]")
_WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None}

Node: TypeAlias = "Scalar | Array | Object"


class Malformed(ValueError):
    """The text is no JSON; `at` is where that shows."""

    def __init__(self, at: int, problem: str, mend: str) -> None:
        self.at = at
        self.problem = problem
        self.mend = mend
        super().__init__(f"{problem}; {mend}")


@frozen(kw_only=True)
class Scalar:
    """A string, number, true, false or null; it stands from `start` up to `end`."""

    value: str | int | float | bool | None
    start: int
    end: int


@frozen(kw_only=True)
class Array:
    items: tuple[Node, ...]
    start: int
    end: int


@frozen(kw_only=True)
class Member:
    """A name and its value."""

    key: Scalar
    value: Node

    @property
    def name(self) -> str:
        return str(self.key.value)


@frozen(kw_only=True)
class Object:
    members: tuple[Member, ...]
    start: int
    end: int

    def get(self, name: str) -> Node | None:
        return next((one.value for one in self.members if one.name == name), None)


def plain(node: Node) -> Json:
    """The value without its places."""
    match node:
        case Object():
            return {one.name: plain(one.value) for one in node.members}
        case Array():
            return [plain(item) for item in node.items]
        case Scalar():
            return node.value


def deepest(node: Node, path: tuple[str | int, ...]) -> Node:
    """The node that the path of names and numbers leads to, or the last one on the way."""
    for step in path:
        below: Node | None = None
        if isinstance(node, Object) and isinstance(step, str):
            below = node.get(step)
        elif isinstance(node, Array) and isinstance(step, int) and step < len(node.items):
            below = node.items[step]
        if below is None:
            break
        node = below
    return node


def kind(node: Node) -> str:
    """What a person would call the value."""
    match node:
        case Object():
            return "an object"
        case Array():
            return "a list"
    match node.value:
        case bool():
            return "true" if node.value else "false"
        case None:
            return "null"
        case str():
            return "a string"
    return "a number"


def parse(text: str) -> Node | None:
    """The value that the text holds; None if it holds nothing. Raises Malformed."""
    reader = _Reader(text)
    reader.skip()
    if reader.at == len(text):
        return None
    node = reader.value(0)
    reader.skip()
    if reader.at < len(text):
        raise reader.wrong("something stands behind the end", "take it out")
    return node


@define
class _Reader:
    text: str
    at: int = 0

    def skip(self) -> None:
        match = _SPACE.match(self.text, self.at)
        self.at = match.end() if match else self.at
        if self.text.startswith(("//", "/*", "#"), self.at):
            raise self.wrong("a comment is no JSON", "take it out")

    def wrong(self, problem: str, mend: str, at: int | None = None) -> Malformed:
        return Malformed(self.at if at is None else at, problem, mend)

    @property
    def next(self) -> str:
        return self.text[self.at : self.at + 1]

    def value(self, depth: int) -> Node:
        if depth > DEPTH:
            raise self.wrong(f"more than {DEPTH} brackets deep", "make it flatter")
        match self.next:
            case "{":
                return self.object(depth)
            case "[":
                return self.array(depth)
            case '"':
                return self.string()
            case "":
                raise self.wrong("the file ends where a value should stand", "write the value")
            case "'":
                raise self.wrong("a string in single quotes", 'put it in double quotes: "…"')
        return self.number() if self.next in "-0123456789" else self.word()

    def object(self, depth: int) -> Object:
        start, members, seen = self.at, list[Member](), dict[str, int]()
        for _ in self._each("}", "an object"):
            if self.next != '"':
                raise self.wrong("a name should stand here", 'write "name": value')
            key = self.string()
            name = str(key.value)
            if name in seen:
                raise self.wrong(
                    f'"{name}" stands twice in one object (first on line {seen[name]})',
                    "only one of them would count: put both into one",
                    key.start,
                )
            seen[name] = self.text.count("\n", 0, key.start) + 1
            self.skip()
            if self.next != ":":
                raise self.wrong(f'no colon behind "{name}"', f'write "{name}": value')
            self.at += 1
            self.skip()
            members.append(Member(key=key, value=self.value(depth + 1)))
        return Object(members=tuple(members), start=start, end=self.at)

    def array(self, depth: int) -> Array:
        start = self.at
        items = tuple(self.value(depth + 1) for _ in self._each("]", "a list"))
        return Array(items=items, start=start, end=self.at)

    def _each(self, closing: str, what: str) -> Iterator[None]:
        """Stop at each item between two brackets; whoever iterates reads the item."""
        self.at += 1
        self.skip()
        first = True
        while self.next != closing:
            if not first:
                comma = self.at
                if self.next != ",":
                    ends = self.at == len(self.text)
                    mend = f"close it with {closing}" if ends else "put a comma before it"
                    where = "the file ends inside" if ends else "no comma between two items of"
                    raise self.wrong(f"{where} {what}", mend)
                self.at += 1
                self.skip()
                if self.next == closing:
                    raise self.wrong(f"a comma before {closing}", "take the comma out", comma)
            if self.at == len(self.text):
                raise self.wrong(f"the file ends inside {what}", f"close it with {closing}")
            yield
            self.skip()
            first = False
        self.at += 1

    def string(self) -> Scalar:
        start = self.at
        try:
            value, self.at = _STRINGS.raw_decode(self.text, start)
        except json.JSONDecodeError as error:
            mend = 'close it with "; inside, write \\" for a quote and \\n for a new line'
            raise self.wrong("a string that is not well formed", mend, error.pos) from None
        if _SURROGATE.search(value):
            raise self.wrong("half a character (a lone surrogate)", "write it whole", start)
        return Scalar(value=value, start=start, end=self.at)

    def number(self) -> Scalar:
        start, match = self.at, _NUMBER.match(self.text, self.at)
        if match is None:
            raise self.wrong("not a number", "write digits behind the minus")
        self.at = match.end()
        number: int | float
        if match["part"] or match["power"]:
            number = float(match[0])
        else:
            number = int(match[0]) if len(match[0]) <= _DIGITS else math.inf
        if not math.isfinite(number) or self.next.isalnum() or self.next == ".":
            raise self.wrong("a number that cannot be read", "write a plain number", start)
        return Scalar(value=number, start=start, end=self.at)

    def word(self) -> Scalar:
        start, match = self.at, _WORD.match(self.text, self.at)
        word = match[0] if match else self.next
        if word not in _WORDS:
            mend = f'write "{word}"' if match else "write a value"
            raise self.wrong(f"{word!r} is no value of JSON", mend)
        self.at += len(word)
        return Scalar(value=_WORDS[word], start=start, end=self.at)
