"""The host's first request, `initialize`: what it adds to the flags, read and checked. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import evolve, frozen

from interlock.agents.definition import AgentDefinition, BadDefinition, definition_of
from interlock.errors import UsageError
from interlock.options import Options


class BadOpening(UsageError):
    """What the host asked for first cannot be done."""


@frozen(kw_only=True)
class Opening:
    """What `initialize` says. None: nothing about it."""

    hooks: Mapping[str, Any] | None = None  # as it came: `control.hooks` reads it
    agents: tuple[AgentDefinition, ...] = ()
    skills: tuple[str, ...] | None = None  # the only ones the model is told of
    system_prompt: str | None = None
    append_system_prompt: str | None = None
    json_schema: Mapping[str, Any] | None = None
    servers: tuple[str, ...] = ()  # MCP servers that live in the host
    subagent_text: bool = False  # what sub-agents say and think is told too

    def over(self, options: Options) -> Options:
        """`options` with what this adds; what the flags say gives way."""
        return evolve(
            options,
            agents=(*options.agents, *self.agents),
            skills=options.skills if self.skills is None else self.skills,
            json_schema=self.json_schema or options.json_schema,
            system_prompt=_first(self.system_prompt, options.system_prompt),
            append_system_prompt=_first(self.append_system_prompt, options.append_system_prompt),
        )


def opening_of(fields: Mapping[str, Any]) -> Opening:
    """Raises BadOpening."""
    hooks = fields.get("hooks")
    if hooks is not None and not isinstance(hooks, Mapping):
        raise BadOpening("initialize: hooks is no object of events")
    skills = fields.get("skills")
    schema = fields.get("jsonSchema")
    if schema is not None and not isinstance(schema, Mapping):
        raise BadOpening("initialize: jsonSchema is no object")
    return Opening(
        hooks=hooks or None,
        agents=_agents(fields.get("agents")),
        skills=tuple(map(str, skills)) if isinstance(skills, list) else None,
        system_prompt=_text(fields.get("systemPrompt")),
        append_system_prompt=_text(fields.get("appendSystemPrompt")),
        json_schema=schema,
        servers=tuple(map(str, fields.get("sdkMcpServers") or ())),
        subagent_text=fields.get("forwardSubagentText") is True,
    )


def _agents(raw: object) -> tuple[AgentDefinition, ...]:
    if raw is None:
        return ()
    if not isinstance(raw, Mapping):
        raise BadOpening("initialize: agents is no object of definitions")
    found = []
    for name, fields in raw.items():
        if not isinstance(fields, Mapping):
            raise BadOpening(f"initialize: the agent {name} is no object")
        try:
            found.append(definition_of({**fields, "name": name}, origin="the host"))
        except BadDefinition as error:
            raise BadOpening(f"initialize: the agent {name}: {error}") from None
    return tuple(found)


def _text(raw: object) -> str | None:
    """A text, or a list of its parts."""
    if isinstance(raw, list):
        return "\n\n".join(map(str, raw))
    return raw if isinstance(raw, str) else None


def _first(one: str | None, other: str | None) -> str | None:
    return other if one is None else one
