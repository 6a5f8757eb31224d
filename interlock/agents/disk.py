"""What of a child is kept on disk beside its transcript: what it is, and what came of it.

`agent-ID.meta.json` is written before it begins, `agent-ID.result.json` before anybody is told
its result: so after a crash it is known of each child whether it had ended, and how. `kept`
reads them.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from interlock.agents.errand import Errand, Report
from interlock.agents.telling import told
from interlock.home import AgentPaths
from interlock.sessions.transcript import private_folder
from phases.world.messages import encoded


def begin(paths: AgentPaths, errand: Errand) -> None:
    """Write down what begins. Raises OSError."""
    _write(
        paths.meta,
        {
            "agentType": errand.agent_type,
            "description": errand.description,
            "toolUseId": errand.tool_use_id,
            "parentAgentId": errand.parent_agent_id,
            "background": errand.background,
            "chainId": errand.chain_id,
            "depth": errand.depth,
        },
    )


def end(paths: AgentPaths, errand: Errand, report: Report) -> None:
    """Write down what came of it. Raises OSError."""
    usage = report.usage
    _write(
        paths.result,
        {
            "result": told(errand, report),
            "error": report.error,
            "turns": report.turns,
            "calls": report.calls,
            "costUSD": report.cost,
            "inputTokens": usage.input_tokens,
            "outputTokens": usage.output_tokens,
            "cacheReadInputTokens": usage.cache_read_input_tokens,
            "cacheCreationInputTokens": usage.cache_creation_input_tokens,
        },
    )


def _write(path: Path, raw: dict[str, Any]) -> None:
    """Whole or not at all, and for its owner's eyes only."""
    private_folder(path.parent)
    part = path.with_name(f"{path.name}.part")
    with open(part, "wb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        file.write(encoded(raw) + b"\n")
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
