"""An agent type: what a child of this kind is told, may use, and how far it goes.

Pure. Comes from a Markdown file's front matter, from code, or from the JSON that drivers pass;
the three have the same fields. What cannot be used is refused with a line that says why: a child
with other rights than its author wrote would be worse than none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, cast

from attrs import field, frozen

from interlock.errors import SettingsError
from interlock.hooks.registering import parse
from interlock.options import PermissionMode

INHERIT = "inherit"  # the parent's model
_NAME = re.compile(r"[A-Za-z0-9][\w.:-]{0,63}")
_SPAWNER = re.compile(r"(?:Agent|Task)(?:\((?P<types>[^()]*)\))?")
_TOOL = re.compile(r"[^\s(),]+(?:\([^()]*\))?")
# Known to other programs and without effect here; told once, so that nobody relies on them.
WITHOUT_EFFECT = ("initialPrompt", "color")
KNOWN = frozenset(
    """
    name description prompt tools disallowedTools model permissionMode maxTurns background
    isolation skills memory effort hooks mcpServers
    """.split()  # noqa: SIM905 (read as a text)
) | frozenset(WITHOUT_EFFECT)
EFFORTS = ("low", "medium", "high", "xhigh", "max")


class MemoryScope(StrEnum):
    """Whose work the memory of a type is about, and so where it lies."""

    USER = "user"  # all projects
    PROJECT = "project"  # for all who work in it: it can be committed
    LOCAL = "local"  # this working folder


class BadDefinition(ValueError):
    """Why a definition cannot be used. `field` is where, if one field is to blame."""

    def __init__(self, problem: str, key: str | None = None) -> None:
        self.field = key
        super().__init__(problem)


@frozen(kw_only=True)
class AgentDefinition:
    """One type of agent. `tools` None: those of its parent."""

    name: str
    description: str  # when to use it: the parent's model goes by this
    prompt: str  # its system prompt
    tools: tuple[str, ...] | None = None
    disallowed_tools: tuple[str, ...] = ()
    spawns: tuple[str, ...] | None = None  # types it may start itself; None: any
    model: str = INHERIT  # a model, or one of the short names
    permission_mode: PermissionMode | None = None  # None: its parent's, as it is at the time
    max_turns: int | None = None
    background: bool = False  # runs beside its parent, whether the call asks for that or not
    isolation: str | None = None  # where it runs, if not in its parent's folder
    skills: tuple[str, ...] = ()  # whose text it is told at its start
    memory: MemoryScope | None = None  # what it keeps from session to session; None: nothing
    effort: str | None = None  # one of EFFORTS; None: as its parent
    hooks: Mapping[str, Any] = field(factory=dict)  # as settings files have them; of it alone
    servers: tuple[str, ...] = ()  # of MCP, by name, whose tools it has beside `tools`
    # Those of them that it defines itself, as they are written; they live as long as a child.
    own_servers: Mapping[str, Any] = field(factory=dict, hash=False)
    origin: str = "code"  # "project, .claude/agents/reviewer.md"
    unheard: tuple[str, ...] = ()  # fields that have no effect here
    unknown: tuple[str, ...] = ()  # fields that nobody knows


def definition_of(
    fields: Mapping[str, Any], *, prompt: str | None = None, origin: str
) -> AgentDefinition:
    """A definition from its fields, spelled as users know them. Raises BadDefinition."""
    body = (prompt if prompt is not None else _text(fields, "prompt") or "").strip()
    name = _text(fields, "name")
    if name is None:
        raise BadDefinition("it has no name: write name: in its front matter")
    if not _NAME.fullmatch(name):
        raise BadDefinition(
            f"{name!r} is no name for an agent: up to 64 letters, digits, - and _", "name"
        )
    description = _text(fields, "description")
    if description is None:
        raise BadDefinition("it has no description: the model chooses agents by it")
    if not body:
        raise BadDefinition("it has no prompt: what the agent is to do stands below the ---")
    tools = _words(fields, "tools")
    _insist_on_tools(tools)
    servers = tuple(_servers(fields))
    return AgentDefinition(
        name=name,
        description=description,
        prompt=body,
        tools=_plain(tools),
        disallowed_tools=_words(fields, "disallowedTools") or (),
        spawns=_spawned(tools),
        model=_text(fields, "model") or INHERIT,
        permission_mode=_mode(fields),
        max_turns=_turns(fields),
        background=_switch(fields, "background"),
        isolation=_text(fields, "isolation"),
        skills=_words(fields, "skills") or (),
        memory=_memory(fields),
        effort=_effort(fields),
        hooks=_hooks(fields, origin),
        servers=tuple(name for name, _ in servers),
        own_servers={name: raw for name, raw in servers if raw is not None},
        origin=origin,
        unheard=tuple(name for name in fields if name in WITHOUT_EFFECT and fields[name]),
        unknown=tuple(name for name in fields if name not in KNOWN),
    )


def _text(fields: Mapping[str, Any], key: str) -> str | None:
    value = fields.get(key)
    if value is None:
        return None
    if isinstance(value, list | dict):
        raise BadDefinition(f"{key} is a list or an object; write one text", key)
    return str(value).strip() or None


def _words(fields: Mapping[str, Any], key: str) -> tuple[str, ...] | None:
    """A list, or one text with commas between; commas in brackets part nothing."""
    value = fields.get(key)
    if value is None:
        return None
    if isinstance(value, dict):
        raise BadDefinition(f"{key} is an object; write names with commas between", key)
    given = value if isinstance(value, list) else re.split(r"[,\s]+(?![^(]*\))", str(value))
    words = tuple(text for one in given if (text := str(one).strip()))
    wrong = next((word for word in words if not _TOOL.fullmatch(word)), None)
    if wrong is not None:
        raise BadDefinition(f"{key}: {wrong!r} is no tool; write a name like Read", key)
    return words


def _servers(fields: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Names of MCP servers, each with its definition or None; a list of both, or an object."""
    given = fields.get("mcpServers")
    if isinstance(given, str):
        given = [word for word in re.split(r"[,\s]+", given) if word]
    elif isinstance(given, dict):
        given = [given]
    if given is None:
        return
    for one in given if isinstance(given, list) else [given]:
        if isinstance(one, str) and one.strip():
            yield one.strip(), None
        elif isinstance(one, dict) and all(isinstance(raw, dict) for raw in one.values()):
            yield from ((str(name), raw) for name, raw in one.items())
        else:
            raise BadDefinition(
                f"mcpServers: {one!r} is no server; write a name, or name: and its definition",
                "mcpServers",
            )


def _insist_on_tools(tools: tuple[str, ...] | None) -> None:
    """Raise for `Bash(git:*)`: taken for `Bash`, it would give more than was written."""
    for tool in tools or ():
        if "(" in tool and not _SPAWNER.fullmatch(tool):
            plain = tool.partition("(")[0]
            raise BadDefinition(
                f"tools: {tool!r} names some calls of a tool; write {plain}, and forbid the "
                "others in disallowedTools or in permissions",
                "tools",
            )


def _plain(tools: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """Names, `Agent` without its types; None where all are meant."""
    if tools is None or "*" in tools:
        return None
    return tuple(dict.fromkeys(tool.partition("(")[0] for tool in tools))


def _spawned(tools: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """The types that `Agent(one, two)` names; None where nothing is said."""
    found = [match for tool in tools or () if (match := _SPAWNER.fullmatch(tool))]
    named = [match["types"] for match in found if match["types"] is not None]
    if not named or len(named) < len(found):
        return None
    return tuple(name for types in named for name in re.split(r"[,\s]+", types.strip()) if name)


def _mode(fields: Mapping[str, Any]) -> PermissionMode | None:
    named = _text(fields, "permissionMode")
    if named is None:
        return None
    if named not in set(PermissionMode):
        known = ", ".join(PermissionMode)
        problem = f"permissionMode {named!r} is unknown; there are {known}"
        raise BadDefinition(problem, "permissionMode")
    return PermissionMode(named)


def _memory(fields: Mapping[str, Any]) -> MemoryScope | None:
    named = _text(fields, "memory")
    if named is None:
        return None
    if named not in set(MemoryScope):
        problem = f"memory {named!r} is unknown; there are {', '.join(MemoryScope)}"
        raise BadDefinition(problem, "memory")
    return MemoryScope(named)


def _effort(fields: Mapping[str, Any]) -> str | None:
    named = _text(fields, "effort")
    if named is not None and named not in EFFORTS:
        raise BadDefinition(
            f"effort {named!r} is unknown; there are {', '.join(EFFORTS)}", "effort"
        )
    return named


def _hooks(fields: Mapping[str, Any], origin: str) -> Mapping[str, Any]:
    """Refused as in settings: what cannot be understood would be a guard that never runs."""
    given = fields.get("hooks") or {}
    try:
        parse(given, origin)
    except SettingsError as error:
        raise BadDefinition(str(error), "hooks") from error
    return cast("Mapping[str, Any]", given)


def _turns(fields: Mapping[str, Any]) -> int | None:
    given = _text(fields, "maxTurns")
    if given is None:
        return None
    if not given.isascii() or not given.isdigit() or int(given) < 1:
        raise BadDefinition(f"maxTurns {given!r} is no whole number from 1 up", "maxTurns")
    return int(given)


def _switch(fields: Mapping[str, Any], key: str) -> bool:
    given = (_text(fields, key) or "false").lower()
    if given not in ("true", "false", "yes", "no"):
        raise BadDefinition(f"{key} is {given!r}; write true or false", key)
    return given in ("true", "yes")
