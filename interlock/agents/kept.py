"""Children as the disk knows them: after a crash, and for whoever looks at a session later.

Written by `disk`. Knows files only, so that commands which only look load nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
from attrs import frozen

from interlock.regular_files import read_regular


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


def kept(folder: Path) -> Iterator[Kept]:
    """The children of a session, oldest first; `folder` is where their transcripts are."""
    for path in sorted(folder.glob("agent-*.meta.json"), key=lambda path: path.stat().st_mtime_ns):
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
        raw = orjson.loads(read_regular(path))
    except (OSError, orjson.JSONDecodeError):
        return {}  # not there yet, or cut by a crash: then nothing is known
    return raw if isinstance(raw, dict) else {}
