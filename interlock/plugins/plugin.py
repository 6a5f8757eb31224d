"""A plugin as data, and what is wrong with one."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

from attrs import field, frozen

from interlock.visible import visible
from phases.world.messages import Json

ROOT = "CLAUDE_PLUGIN_ROOT"  # what its texts, hooks and servers know its folder by


class Sort(StrEnum):
    """What of a plugin cannot be used, by the words that hosts of such an agent know."""

    FOLDER = "path-not-found"
    MANIFEST = "manifest-parse-error"
    NAME = "manifest-validation-error"
    COMPONENT = "component-load-failed"
    HOOKS = "hook-load-failed"
    SERVERS = "mcp-config-invalid"


@frozen(kw_only=True)
class Problem:
    """Something that was left out. `words` say where, what and how to mend it."""

    plugin: str = field(converter=visible)  # its folder's name where it has none of its own
    sort: Sort
    words: str = field(converter=visible)  # a file may be called anything

    @property
    def line(self) -> str:
        return f"plugin {self.plugin}: {self.words}"


@frozen(kw_only=True)
class Text:
    """A Markdown file of a plugin, and what it goes by: `plugin:name`."""

    path: Path
    name: str


@frozen(kw_only=True)
class Part:
    """A piece of JSON, and where it stands."""

    json: Json
    where: str
    name: str = ""  # of a server


@frozen(kw_only=True)
class Plugin:
    """One plugin. Its parts lie in its folder, all of them."""

    name: str
    folder: Path
    version: str = ""
    description: str = ""
    commands: tuple[Text, ...] = ()
    skills: tuple[Text, ...] = ()
    agents: tuple[Text, ...] = ()
    hooks: tuple[Part, ...] = ()  # objects of events, as settings have them
    servers: tuple[Part, ...] = ()

    @property
    def variables(self) -> dict[str, str]:
        """What `${NAME}` stands for in what it holds."""
        return {ROOT: str(self.folder)}


@frozen(kw_only=True)
class Plugins:
    """Those of one session, in the order they were named."""

    folders: tuple[Path, ...] = ()  # as they were named
    loaded: tuple[Plugin, ...] = ()
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()  # what is written and has no effect here, a line each
