"""What of a child is kept on disk beside its transcript: what it is, and what came of it.

`agent-ID.meta.json` is written before it begins, `agent-ID.result.json` before anybody is told
its result: so after a crash it is known of each child whether it had ended, and how.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
from attrs import frozen

from interlock.agents.errand import Errand, Report
from interlock.agents.telling import told
from interlock.home import AgentPaths
from interlock.sessions.transcript import private_folder
from phases.world.messages import encoded


@frozen(kw_only=True)
class Kept:
    """One child as the disk knows it. `result` is None as long as it is not over."""

    agent_id: str
    agent_type: str
    description: str
    tool_use_id: str
    parent_agent_id: str | None
    background: bool
    chain_id: str
    transcript: Path
    result: str | None = None
    is_error: bool = False


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


def kept(folder: Path) -> Iterator[Kept]:
    """The children of a session, oldest first; `folder` is where their transcripts are."""
    metas = sorted(folder.glob("agent-*.meta.json"), key=lambda path: path.stat().st_mtime_ns)
    for path in metas:
        agent_id = path.name.removeprefix("agent-").removesuffix(".meta.json")
        meta = _read(path)
        result = _read(path.with_name(f"agent-{agent_id}.result.json"))
        yield Kept(
            agent_id=agent_id,
            agent_type=str(meta.get("agentType", "")),
            description=str(meta.get("description", "")),
            tool_use_id=str(meta.get("toolUseId", "")),
            parent_agent_id=meta.get("parentAgentId"),
            background=meta.get("background") is True,
            chain_id=str(meta.get("chainId", "")),
            transcript=path.with_name(f"agent-{agent_id}.jsonl"),
            result=result.get("result"),
            is_error=result.get("error") is not None,
        )


def _read(path: Path) -> dict[str, Any]:
    try:
        raw = orjson.loads(path.read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return {}  # not there yet, or cut by a crash: then nothing is known
    return raw if isinstance(raw, dict) else {}


def _write(path: Path, raw: dict[str, Any]) -> None:
    """Whole or not at all, and for its owner's eyes only."""
    private_folder(path.parent)
    part = path.with_name(f"{path.name}.part")
    with open(part, "wb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        file.write(encoded(raw) + b"\n")
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
