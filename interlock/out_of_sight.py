"""Settings that no replay can judge, and why: what reads them stands behind a port.

Behind a port the recorded world begins. Under another setting it would have answered otherwise,
and nobody knows how; so a run that stays the same says nothing about them.
"""

from __future__ import annotations

_TOOLS = "what permissions, hooks and tools answered is played as it was then"
_MODEL = "what the model answered, and how long it took, is played as it was then"
_OFFER = "what the model was told of tools, skills and notes is not part of a recording"

# Limits of a run: they can be given, and change nothing that is seen.
_LIMITS = {
    **dict.fromkeys(
        (
            "max_agent_depth",
            "max_agents_running",
            "max_agents_started",
            "max_concurrent_tools",
            "max_sleep_s",
            "mcp_grace_s",
            "mcp_max_restarts",
            "mcp_timeout_s",
            "mcp_tool_timeout_s",
            "tool_heartbeat_s",
        ),
        _TOOLS,
    ),
    **dict.fromkeys(
        (
            "fallback_cooldown_s",
            "first_event_s",
            "max_concurrent_requests",
            "request_timeout_s",
            "stream_idle_s",
        ),
        _MODEL,
    ),
    **dict.fromkeys(("mcp_defer_share", "skill_listing_budget"), _OFFER),
}
# Beginnings of what people call the rest, in flags and in settings files.
_OTHERS = {
    "permission": _TOOLS,
    "allow": _TOOLS,
    "deny": _TOOLS,
    "ask": _TOOLS,
    "disallow": _TOOLS,
    "hook": _TOOLS,
    "disableallhooks": _TOOLS,
    "sandbox": _TOOLS,
    "tool": _TOOLS,
    "bash_": _TOOLS,
    "mcp": _TOOLS,
    "agent": _TOOLS,
    "model": _MODEL,
    "fallback": _MODEL,
    "effort": _MODEL,
    "thinking": _MODEL,
    "max_thinking": _MODEL,
    "system": _OFFER,
    "append": _OFFER,
    "memory": _OFFER,
    "skill": _OFFER,
}


def why_not_judged(name: str) -> str | None:
    """Why a replay cannot judge this setting; None for one that it can, or that is none."""
    plain = name.lower().replace("-", "_")
    if plain in _LIMITS:
        return _LIMITS[plain]
    return next((why for begin, why in _OTHERS.items() if plain.startswith(begin)), None)
