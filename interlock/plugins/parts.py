"""JSON files of a plugin, read with their places; and what of them are hooks, what servers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from interlock.configuration import Source
from interlock.configuration.files import LARGEST, Document, SettingsFile, parsed
from interlock.configuration.json_text import Node, Object, plain
from interlock.errors import ConfigurationError
from interlock.plugins.plugin import Part
from interlock.regular_files import read_regular


def document_of(path: Path) -> Document | None:
    """A JSON file of a plugin; None where there is none. Raises ConfigurationError."""
    file = SettingsFile(source=Source.FLAGS, path=path, shown=str(path), folder=path.parent)
    try:
        data = read_regular(path, LARGEST + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        why = error.strerror or error
        raise ConfigurationError([f"{path}: cannot be read ({why}); make it readable"]) from error
    if len(data) > LARGEST:
        raise ConfigurationError([f"{path}: is larger than {LARGEST >> 20} MiB; write less"])
    return parsed(file, data)


def parts(document: Document, node: Object, key: str) -> Iterator[Part]:
    """The hooks or the servers in an object: a part for each server, one for all hooks.

    Both `{"hooks": {…}}` and what stands in it alone are written; so with `mcpServers`.
    """
    inner = node.get(key)
    if isinstance(inner, Object):
        node = inner
    if key == "hooks":
        yield Part(json=plain(node), where=at(document, node))
        return
    for member in node.members:
        yield Part(name=member.name, json=plain(member.value), where=at(document, member.key))


def at(document: Document, node: Node) -> str:
    """`path:line:column`"""
    return document.origin(node).place
