"""What fills the window, in the words that hosts know."""

from __future__ import annotations

from typing import Any

from interlock.agent import Agent
from interlock.context.gauge import FIXED
from interlock.prompt import estimated_tokens as weight
from phases.world.limits import Limits

_COLOURS = ("blue", "cyan", "green", "yellow", "magenta", "red")
_FREE = "free space"


def context_usage(agent: Agent, limits: Limits) -> dict[str, Any]:
    """Estimates, but for the sum: that the server has counted, where it did."""
    filled = agent.filling()
    free = max(0, filled.window - filled.size)
    categories = [
        {"name": part.name, "tokens": part.tokens, "color": _COLOURS[at % len(_COLOURS)]}
        for at, part in enumerate(filled.parts)
    ]
    notes = agent.knowledge.notes.start
    threshold = limits.compact_threshold
    return {
        "categories": [*categories, {"name": _FREE, "tokens": free, "color": "gray"}],
        "totalTokens": filled.size,
        "maxTokens": filled.window,
        "rawMaxTokens": filled.window,
        "percentage": round(100 * filled.size / filled.window, 1) if filled.window else 0,
        "model": agent.model,
        "isAutoCompactEnabled": True,
        "autoCompactThreshold": round(threshold * filled.window),
        "memoryFiles": [
            {"path": str(one.path), "type": "notes", "tokens": weight(one.text)} for one in notes
        ],
        "mcpTools": [
            {"name": sent, "serverName": one.name, "tokens": 0}
            for one in agent.servers.status()
            for sent, _ in one.tools
        ],
        "agents": [
            {
                "agentType": one.name,
                "source": one.origin,
                "tokens": weight(one.description),
            }
            for one in agent.crew.tree.catalogue.types.values()
        ],
        "systemPromptSections": [
            {"name": name, "tokens": tokens} for name, tokens in agent.knowledge.front.items()
        ],
        "gridRows": [],
        "apiUsage": None,
        "fixedPart": FIXED,
    }
