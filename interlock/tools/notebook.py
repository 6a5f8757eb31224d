"""A notebook's JSON text, and one cell of it changed without touching the rest.

Parsing and writing it all anew would reformat what other programs have written. So the place of
each part is found in the text, and only what changes is written, in the manner of what is around
it. Knows text only; nothing about files.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from attrs import evolve, frozen

from interlock.tools.filetext import FileText

Json = Any

_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\r\n]*")
_INDEX = re.compile(r"(?:cell-)?(\d{1,9})")
_ESCAPED = re.compile(r"\\u(?!00[0-7])[0-9a-fA-F]{4}")
_SURROGATES = re.compile("[\ud800-\udfff]")
_ONLY_CODE = ("outputs", "execution_count")
_TOLD_IDS = 20


class BadNotebook(Exception):
    """It is no notebook that can be changed here, or has no such cell; for the model."""


@frozen(kw_only=True)
class Place:
    """A value in the text, from `start` to `end`, and where its key begins, if it has one."""

    start: int
    end: int
    value: Json
    key: int = -1


@frozen(kw_only=True)
class Style:
    """How the JSON around is written. `indent` None: without line breaks."""

    indent: str | None
    comma: str
    colon: str
    escaped: bool  # letters outside ASCII

    def written(self, value: Json, margin: str) -> str:
        """The value as JSON, to stand in a line that begins with `margin`."""
        text = json.dumps(
            value,
            indent=self.indent,
            ensure_ascii=self.escaped,
            separators=("," if self.indent is not None else self.comma, self.colon),
        )
        text = _SURROGATES.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
        return text.replace("\n", f"\n{margin}")


@frozen(kw_only=True)
class Notebook:
    """A notebook of format 4, and where its cells stand."""

    source: FileText
    text: str  # with LF line ends
    array: Place
    cells: tuple[Place, ...]
    has_ids: bool

    @classmethod
    def of(cls, source: FileText) -> Notebook:
        text = source.view
        try:
            whole = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise BadNotebook(f"the file is no notebook: its JSON is broken ({error})") from error
        if not isinstance(whole, dict) or "nbformat" not in whole:
            raise BadNotebook("the file is no notebook: it has no `nbformat`")
        if whole["nbformat"] != 4:
            raise BadNotebook(
                f"the notebook has format {whole['nbformat']}; only format 4 can be changed here."
                " Convert it first: jupyter nbconvert --to notebook --inplace FILE"
            )
        array = _members(text, _skip(text, 0)).get("cells")
        if array is None or not isinstance(array.value, list):
            raise BadNotebook("the file is no notebook: it has no list of `cells`")
        cells = _items(text, array.start)
        if not all(isinstance(cell.value, dict) and "cell_type" in cell.value for cell in cells):
            raise BadNotebook("the file is no notebook: a cell has no `cell_type`")
        minor = whole.get("nbformat_minor", 0)
        return cls(
            source=source,
            text=text,
            array=array,
            cells=cells,
            has_ids=isinstance(minor, int) and minor >= 5,
        )

    # --- which cell --------------------------------------------------------------------------

    def find(self, wanted: str) -> int:
        """Where a cell stands, by its id, or by `cell-N` or `N`, counted from 0."""
        found = [at for at, cell in enumerate(self.cells) if cell.value.get("id") == wanted]
        if len(found) > 1:
            places = ", ".join(f"cell-{at}" for at in found)
            raise BadNotebook(f"{len(found)} cells have the id {wanted!r}: say which of {places}")
        if found:
            return found[0]
        number = _INDEX.fullmatch(wanted)
        if number is not None and int(number[1]) < len(self.cells):
            return int(number[1])
        raise BadNotebook(f"there is no cell {wanted!r}. {self._told_cells()}")

    def name(self, at: int) -> str:
        return str(self.cells[at].value.get("id") or f"cell-{at}")

    def _told_cells(self) -> str:
        if not self.cells:
            return "The notebook has no cells"
        names = ", ".join(self.name(at) for at in range(min(len(self.cells), _TOLD_IDS)))
        more = f" and {len(self.cells) - _TOLD_IDS} more" if len(self.cells) > _TOLD_IDS else ""
        return f"The cells are: {names}{more}"

    # --- changes -----------------------------------------------------------------------------

    def replaced(self, at: int, code: str, kind: str) -> FileText:
        """Another source for a cell; what it printed before goes, since it is no longer true."""
        cell = self.cells[at]
        style = self._style(cell)
        margin = _margin(self.text, cell.end - 1)
        if kind != cell.value["cell_type"]:
            value = _of_kind(cell.value, code, kind)
            return self._spliced((cell.start, cell.end, style.written(value, margin)))
        members = _members(self.text, cell.start)
        changes = [self._source_changed(cell, members, code, style)]
        if kind == "code":
            for name, empty in (("outputs", "[]"), ("execution_count", "null")):
                old = members.get(name)
                if old is not None and old.value != json.loads(empty):
                    changes.append((old.start, old.end, empty))
        return self._spliced(*changes)

    def inserted(self, at: int, code: str, kind: str) -> FileText:
        """A new cell in front of the one that stands at `at` now."""
        alike = [cell.value for cell in self.cells if cell.value["cell_type"] == kind]
        like: Mapping[str, Json] = alike[0] if alike else {}
        value = self._new_cell(code, kind, like)
        if not self.cells:
            return self._first(value)
        near = self.cells[max(0, at - 1)]
        written = self._style(near).written(value, _margin(self.text, near.end - 1))
        between = self._between()
        if at == 0:
            return self._spliced((near.start, near.start, written + between))
        return self._spliced((near.end, near.end, between + written))

    def deleted(self, at: int) -> FileText:
        cell = self.cells[at]
        if len(self.cells) == 1:
            return self._spliced((self.array.start, self.array.end, "[]"))
        if at + 1 < len(self.cells):
            return self._spliced((cell.start, self.cells[at + 1].start, ""))
        return self._spliced((self.cells[at - 1].end, cell.end, ""))

    # --- how it is written -------------------------------------------------------------------

    def _spliced(self, *changes: tuple[int, int, str]) -> FileText:
        source = self.source
        for start, end, new in sorted(changes, reverse=True):
            text = source.spliced([start], self.text[start:end], new)
            source = evolve(source, text=text)
        return source

    def _style(self, like: Place) -> Style:
        """As the object `like` is written."""
        text = self.text
        members = sorted(_members(text, like.start).values(), key=lambda member: member.key)
        escaped = text.isascii() and _ESCAPED.search(text) is not None
        if not members:
            return Style(indent=" ", comma=", ", colon=": ", escaped=escaped)
        first = members[0]
        _, key_end = _DECODER.raw_decode(text, first.key)
        colon = text[key_end : first.start]
        comma = text[first.end : members[1].key] if len(members) > 1 else ", "
        before = text[like.start + 1 : first.key]
        indent: str | None = None
        if "\n" in before:
            margin = _margin(text, like.end - 1)
            indent = before.rpartition("\n")[2].removeprefix(margin) or " "
        return Style(indent=indent, comma=comma, colon=colon, escaped=escaped)

    def _source_changed(
        self, cell: Place, members: Mapping[str, Place], code: str, style: Style
    ) -> tuple[int, int, str]:
        old = members.get("source")
        if old is None:
            raise BadNotebook("the cell has no `source`")
        in_line = bool(old.value) and "\n" not in self.text[old.start : old.end]
        if in_line and isinstance(old.value, list) and style.indent is not None:
            style = evolve(style, indent=None, comma=", ")
        new = style.written(_as_before(code, old.value), _margin(self.text, old.key))
        return old.start, old.end, new

    def _between(self) -> str:
        """What stands between two cells."""
        if len(self.cells) > 1:
            return self.text[self.cells[0].end : self.cells[1].start]
        before = self.text[self.array.start + 1 : self.cells[0].start]
        if "\n" in before:
            return f",{before}"
        style = self._style(self.cells[0])
        return style.comma if style.indent is None else ", "

    def _first(self, value: Json) -> FileText:
        top = _skip(self.text, 0)
        style = self._style(Place(start=top, end=len(self.text.rstrip()), value=None))
        margin = _margin(self.text, self.array.key)
        written = style.written([value], margin)
        return self._spliced((self.array.start, self.array.end, written))

    def _new_cell(self, code: str, kind: str, like: Mapping[str, Json]) -> dict[str, Json]:
        cell: dict[str, Json] = {"cell_type": kind, "metadata": {}}
        if self.has_ids:
            cell["id"] = self._free_id(code)
        cell["source"] = _as_before(code, like.get("source", []))
        if kind == "code":
            cell |= {"execution_count": None, "outputs": []}
        order = list(like)
        return dict(
            sorted(
                cell.items(),
                key=lambda item: (
                    order.index(item[0]) if item[0] in order else len(order),
                    item[0],
                ),
            )
        )

    def _free_id(self, code: str) -> str:
        """An id of its own for a new cell; the same for the same call, so that what a person
        approves is what is written."""
        taken = {cell.value.get("id") for cell in self.cells}
        seed = hashlib.sha256(f"{self.text}{code}".encode(errors="replace"))
        while (found := seed.hexdigest()[:8]) in taken:
            seed.update(b"again")
        return found


def source_of(cell: Mapping[str, Json]) -> str:
    source = cell.get("source", "")
    return "".join(source) if isinstance(source, list) else str(source)


def _as_before(code: str, old: Json) -> Json:
    """The source as one string or as a list of lines, whichever the old one is."""
    if not isinstance(old, list):
        return code
    return [line for line in re.split(r"(?<=\n)", code) if line]


def _of_kind(cell: Mapping[str, Json], code: str, kind: str) -> dict[str, Json]:
    """The cell made one of another kind, with what such a cell must and must not have."""
    unfit = ("attachments",) if kind == "code" else _ONLY_CODE
    new = {name: value for name, value in cell.items() if name not in unfit}
    new |= {"cell_type": kind, "source": _as_before(code, cell.get("source", []))}
    if kind == "code":
        new |= {"execution_count": None, "outputs": []}
    return dict(sorted(new.items())) if list(cell) == sorted(cell) else new


def _margin(text: str, at: int) -> str:
    """The blanks that the line of `at` begins with."""
    start = text.rfind("\n", 0, at) + 1
    return text[start : start + len(text[start:at]) - len(text[start:at].lstrip(" \t"))]


def _members(text: str, at: int) -> dict[str, Place]:
    """The members of the object that begins here; of two with one name the last counts."""
    found: dict[str, Place] = {}
    at = _skip(text, at + 1)
    while text[at] != "}":
        key = at
        name, at = _DECODER.raw_decode(text, key)
        start = _skip(text, _skip(text, at) + 1)
        value, end = _DECODER.raw_decode(text, start)
        found[name] = Place(key=key, start=start, end=end, value=value)
        at = _after_comma(text, end)
    return found


def _items(text: str, at: int) -> tuple[Place, ...]:
    """The items of the array that begins here."""
    found: list[Place] = []
    at = _skip(text, at + 1)
    while text[at] != "]":
        value, end = _DECODER.raw_decode(text, at)
        found.append(Place(start=at, end=end, value=value))
        at = _after_comma(text, end)
    return tuple(found)


def _after_comma(text: str, at: int) -> int:
    at = _skip(text, at)
    return _skip(text, at + 1) if text[at] == "," else at


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    assert match is not None
    return match.end()
