"""Parents and children against a scripted model: who said what, and what they left behind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson
from attrs import frozen

from fsm import Trace, read_trace
from interlock.agent import Agent
from interlock.scripted import Reply, SentRequest, reply, tool_use
from interlock.scripted.replies import Answer

Say = Callable[[SentRequest], Answer]


def hand(prompt: str, *, kind: str | None = None, id_: str | None = None, **more: Any) -> Any:
    """A call that hands this prompt to an agent."""
    given: dict[str, Any] = {"description": f"do {prompt[:20]}", "prompt": prompt, **more}
    if kind is not None:
        given["subagent_type"] = kind
    return tool_use("Agent", given) if id_ is None else tool_use("Agent", given, id=id_)


def first_words(request: SentRequest) -> str:
    """The last text of a conversation's first message: the prompt it began with."""
    content = request.body["messages"][0]["content"]
    blocks = [{"text": content}] if isinstance(content, str) else content
    return [str(block["text"]) for block in blocks if "text" in block][-1]


def by_prompt(scripts: Mapping[str, Sequence[Any]]) -> Say:
    """Each conversation walks through the answers of the prompt that it began with."""
    left = {prompt: list(answers) for prompt, answers in scripts.items()}

    def answer(request: SentRequest) -> Answer:
        answers = left[first_words(request)]
        said: Answer = answers.pop(0) if len(answers) > 1 else answers[0]
        return said

    return answer


def of(requests: Sequence[SentRequest], prompt: str) -> list[SentRequest]:
    """The requests of the conversation that began with this prompt."""
    return [request for request in requests if first_words(request) == prompt]


@frozen
class Left:
    """What one child has left on disk."""

    agent_id: str
    meta: dict[str, Any]
    result: dict[str, Any]
    trace_path: Path

    @property
    def began(self) -> bool:
        """One that is interrupted while its place is made comes to no first step."""
        return self.trace_path.exists()

    @property
    def trace(self) -> Trace:
        return read_trace(self.trace_path)


def children(agent: Agent) -> dict[str, Left]:
    """The children of a session by their descriptions."""
    found = {}
    for path in agent.paths.agents.glob("agent-*.meta.json"):
        agent_id = path.name.removeprefix("agent-").removesuffix(".meta.json")
        paths, meta = agent.paths.agent(agent_id), orjson.loads(path.read_bytes())
        result = orjson.loads(paths.result.read_bytes())
        found[meta["description"]] = Left(agent_id, meta, result, paths.trace)
    return found


__all__ = ["Left", "Reply", "by_prompt", "children", "first_words", "hand", "of", "reply"]
