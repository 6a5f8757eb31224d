"""A member of an object in a JSON file put in, replaced or taken out; every other byte stays.

For files that are no settings, like `.mcp.json`: what a member holds is its owner's affair.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from interlock.configuration.editing import Piece, change_text, inserted
from interlock.configuration.files import SettingsFile, read
from interlock.configuration.json_text import Member, Object, parse
from phases.world.messages import Json


def put(file: SettingsFile, way: Sequence[str], value: Json) -> None:
    """Make the member that `way` leads to hold `value`, with all that leads there.

    Raises ConfigurationError where the file cannot be understood, OSError where not written.
    """
    change_text(file, lambda text: with_member(text, way, value))


def take(file: SettingsFile, way: Sequence[str]) -> bool:
    """Take the member out. False: it is not there. Raises as `put` does."""
    if not file.path.exists():
        return False
    return change_text(file, lambda text: without_member(text, way))


def holds(file: SettingsFile, way: Sequence[str]) -> bool:
    """Whether the member is there. Raises ConfigurationError."""
    document = read(file)
    node = None if document is None else document.root
    for name in way:
        node = node.get(name) if isinstance(node, Object) else None
    return node is not None


def with_member(text: str, way: Sequence[str], value: Json) -> str:
    """`text`, which is an object or nothing, with the member."""
    written = Piece(json.dumps(value, ensure_ascii=False, indent=2))
    root = parse(text)
    if not isinstance(root, Object):
        return text + _nested(way, written).text + "\n"
    into: Object = root
    for number, name in enumerate(way):
        standing = next((one for one in into.members if one.name == name), None)
        if standing is None:
            rest = way[number + 1 :]
            return inserted(text, into, Piece.member(name, _nested(rest, written)))
        if number == len(way) - 1 or not isinstance(standing.value, Object):
            return _replaced(text, standing, _nested(way[number + 1 :], written))
        into = standing.value
    return text


def without_member(text: str, way: Sequence[str]) -> str:
    """`text` without the member; as it is where there is none."""
    node = parse(text)
    for name in way[:-1]:
        node = node.get(name) if isinstance(node, Object) else None
    if not isinstance(node, Object):
        return text
    names = [one.name for one in node.members]
    if way[-1] not in names:
        return text
    at = names.index(way[-1])
    gone = node.members[at]
    if at + 1 < len(names):
        start, end = gone.key.start, node.members[at + 1].key.start
    elif at > 0:
        start, end = node.members[at - 1].value.end, gone.value.end
    else:
        start, end = node.start + 1, node.end - 1
    return text[:start] + text[end:]


def _nested(way: Sequence[str], value: Piece) -> Piece:
    for name in reversed(way):
        value = Piece.object(Piece.member(name, value))
    return value


def _replaced(text: str, member: Member, value: Piece) -> str:
    begin = text.rfind("\n", 0, member.key.start) + 1
    line = text[begin : member.key.start]
    outer = line[: len(line) - len(line.lstrip())]
    end_of_line = "\r\n" if "\r\n" in text else "\n"
    new = value.written("", end_of_line + outer)
    return text[: member.value.start] + new + text[member.value.end :]
