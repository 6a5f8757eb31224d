"""`.claude-plugin/plugin.json`: what a plugin is called, and where its parts are.

All of it may be left out, the file too. What cannot be understood costs that field; a file that
is no JSON, or a name that cannot be one, costs the plugin: nobody could say what its parts are
called.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path

from attrs import frozen

from interlock.configuration.files import Document
from interlock.configuration.json_text import Array, Node, Object, Scalar, kind
from interlock.errors import ConfigurationError
from interlock.plugins.contained import Contained
from interlock.plugins.parts import at, document_of, parts
from interlock.plugins.plugin import Part, Sort

FILE = Path(".claude-plugin") / "plugin.json"
NAME = re.compile(r"[A-Za-z][\w-]{0,63}", re.ASCII)
_HEARD = ("name", "version", "description", "commands", "agents", "skills", "hooks", "mcpServers")
# Of people, shops and lists of plugins: they say nothing that could be done here.
_ABOUT = ("$schema", "author", "homepage", "repository", "license", "keywords", "displayName")
_NOT_HERE = (
    "channels",
    "dependencies",
    "experimental",
    "lspServers",
    "monitors",
    "outputStyles",
    "settings",
    "themes",
    "userConfig",
    "workflows",
)
_INLINE = {"hooks": Sort.HOOKS, "mcpServers": Sort.SERVERS}


class BadManifest(Exception):
    """Why there is no plugin here; `sort` says of what kind that is."""

    def __init__(self, words: str, sort: Sort = Sort.MANIFEST) -> None:
        self.sort = sort
        super().__init__(words)


@frozen(kw_only=True)
class Manifest:
    """What is written, as far as it can be understood. Paths: None where nothing is said."""

    name: str
    version: str = ""
    description: str = ""
    commands: tuple[Path, ...] | None = None
    agents: tuple[Path, ...] | None = None
    skills: tuple[Path, ...] | None = None
    hooks: tuple[Part | Path, ...] = ()
    servers: tuple[Part | Path, ...] = ()
    notes: tuple[str, ...] = ()


def manifest_of(place: Contained) -> Manifest:
    """The manifest of a folder; without one, that of a plugin named like its folder.

    Raises BadManifest; problems of single fields are the place's.
    """
    path, root = place.folder / FILE, None
    try:
        document = document_of(path) if place.keeps(path) else None
    except ConfigurationError as error:
        raise BadManifest(f"{error}; the plugin is left out") from error
    if document is not None and document.root is not None:
        root = document.root
        if not isinstance(root, Object):
            raise BadManifest(f"{at(document, root)}: is {kind(root)}; write an object: {{…}}")
    if document is None or not isinstance(root, Object):
        return Manifest(name=_folders_name(place))
    read = _Reader(place, document, root)
    return Manifest(
        name=read.name(),
        version=read.text("version"),
        description=read.text("description"),
        commands=read.paths("commands"),
        agents=read.paths("agents"),
        skills=read.paths("skills"),
        hooks=read.parts("hooks"),
        servers=read.parts("mcpServers"),
        notes=tuple(read.unheard()),
    )


def _folders_name(place: Contained) -> str:
    name = place.folder.name
    if NAME.fullmatch(name) is None:
        raise BadManifest(
            f'{place.folder}: {name!r} is no name for a plugin; write {{"name": "my-plugin"}} '
            f"into {FILE} in it",
            Sort.NAME,
        )
    return name


@frozen
class _Reader:
    place: Contained
    document: Document
    root: Object

    def name(self) -> str:
        node = self.root.get("name")
        if node is None:
            return _folders_name(self.place)
        name = node.value if isinstance(node, Scalar) else None
        if not isinstance(name, str) or NAME.fullmatch(name) is None:
            shown = repr(name) if isinstance(name, str) else kind(node)
            raise BadManifest(
                f"{at(self.document, node)}: name is {shown}; write letters, digits, - and _, "
                "at most 64, a letter first",
                Sort.NAME,
            )
        return name

    def text(self, key: str) -> str:
        node = self.root.get(key)
        if node is None or (isinstance(node, Scalar) and node.value is None):
            return ""
        if not isinstance(node, Scalar) or not isinstance(node.value, str):
            self._refuse(node, f'{key} is {kind(node)}; write "{key}": "…"', Sort.NAME)
            return ""
        return node.value

    def paths(self, key: str) -> tuple[Path, ...] | None:
        """Those that lie in the plugin; None where the manifest says nothing."""
        node = self.root.get(key)
        if node is None or (isinstance(node, Scalar) and node.value is None):
            return None
        named = (self._path(one, key) for one in _each(node))
        return tuple(dict.fromkeys(path for path in named if path is not None))

    def parts(self, key: str) -> tuple[Part | Path, ...]:
        """Objects, and the files that hold such."""
        node = self.root.get(key)
        found = list[Part | Path]()
        for one in () if node is None else _each(node):
            if isinstance(one, Object):
                found += parts(self.document, one, key)
            elif (path := self._path(one, key)) is not None:
                found.append(path)
        return tuple(found)

    def unheard(self) -> Iterator[str]:
        known = (*_HEARD, *_ABOUT, *_NOT_HERE)
        for member in self.root.members:
            if member.name in (*_HEARD, *_ABOUT):
                continue
            near = get_close_matches(member.name, known, n=1)
            hint = f"; did you mean {near[0]}?" if near and member.name not in known else ""
            yield f"{at(self.document, member.key)}: {member.name} has no effect here{hint}"

    def _path(self, node: Node, key: str) -> Path | None:
        if isinstance(node, Scalar) and isinstance(node.value, str):
            return self.place.named(node.value, f"{at(self.document, node)}: {key}")
        mend = 'write "./path", or a list of paths'
        self._refuse(node, f"{key} is {kind(node)}; {mend}", _INLINE.get(key, Sort.COMPONENT))
        return None

    def _refuse(self, node: Node, words: str, sort: Sort) -> None:
        self.place.refuse(f"{at(self.document, node)}: {words}", sort)


def _each(node: Node) -> tuple[Node, ...]:
    return node.items if isinstance(node, Array) else (node,)
