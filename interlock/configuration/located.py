"""A part of a settings file that another reader understands: hooks, sandbox."""

from __future__ import annotations

from attrs import field, frozen

from interlock.configuration.files import Document
from interlock.configuration.json_text import Node, deepest, plain
from interlock.configuration.origin import Origin
from phases.world.messages import Json


@frozen
class Located:
    """Its JSON, and for every place in it the line where that stands."""

    document: Document = field(repr=False)
    node: Node = field(repr=False)

    @property
    def json(self) -> Json:
        return plain(self.node)

    @property
    def origin(self) -> Origin:
        return self.document.origin(self.node)

    def at(self, *path: str | int) -> Origin:
        """The origin of what `path` leads to, or of the last thing on the way that is there:
        `hooks.at("PreToolUse", 0, "matcher")`.
        """
        return self.document.origin(deepest(self.node, path))
