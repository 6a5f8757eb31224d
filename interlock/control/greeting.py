"""What a host is told when its session has begun: the answer to `initialize`."""

from __future__ import annotations

import os
from typing import Any

from interlock.agent import Agent


def greeting(agent: Agent, never: tuple[str, ...]) -> dict[str, Any]:
    """`never` are the hook events it named that nothing here brings about."""
    told: dict[str, Any] = {
        "commands": commands_of(agent),
        "agents": [
            {"name": one.name, "description": one.description, "model": one.model}
            for one in agent.crew.tree.catalogue.types.values()
        ],
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
