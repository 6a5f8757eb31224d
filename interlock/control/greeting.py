"""What a host is told of its session: in the answer to `initialize`, and before each turn."""

from __future__ import annotations

import os
from typing import Any

from interlock.agent import Agent


def greeting(agent: Agent, never: tuple[str, ...]) -> dict[str, Any]:
    """`never` are the hook events it named that nothing here brings about."""
    told: dict[str, Any] = {
        "commands": commands_of(agent),
        "agents": agents_of(agent),
        "models": [
            {"value": agent.model, "displayName": agent.model, "description": "as configured"}
        ],
        "output_style": "default",
        "available_output_styles": ["default"],
        "account": {},
        "pid": os.getpid(),
        "hook_on_failure_supported": True,
    }
    if never:
        told["hooks_never_called"] = list(never)
    return told


def commands_of(agent: Agent) -> list[dict[str, str]]:
    """The commands of files, skills and servers, by which a prompt may begin."""
    return [
        {"name": name, "description": one.description, "argumentHint": one.argument_hint}
        for name, one in sorted(agent.knowledge.instructing.commands().items())
    ]


def agents_of(agent: Agent) -> list[dict[str, str]]:
    return [
        {"name": one.name, "description": one.description, "model": one.model}
        for one in agent.crew.tree.catalogue.types.values()
    ]


def listed(agent: Agent) -> dict[str, Any]:
    """What of the session stands in its `init` messages beside the usual."""
    told: dict[str, Any] = {
        "slash_commands": [one["name"] for one in commands_of(agent)],
        "skills": sorted(agent.knowledge.instructing.book.skills),
    }
    return told | plugins_of(agent)


def plugins_of(agent: Agent) -> dict[str, Any]:
    """The plugins that are loaded, and what of them could not be, if anything."""
    plugins = agent.knowledge.plugins
    if plugins is None:
        return {}
    told: dict[str, Any] = {
        "plugins": [{"name": one.name, "path": str(one.folder)} for one in plugins.loaded]
    }
    if plugins.problems:
        told["plugin_errors"] = [
            {"plugin": one.plugin, "type": one.sort.value, "message": one.words}
            for one in plugins.problems
        ]
    return told
