"""Asking a tool of an MCP server whether a call may run: `--permission-prompt-tool`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import orjson
from attrs import define

from interlock.agent import Agent
from interlock.control.asking import BadAnswer, answer_of
from interlock.control.requests import context_of
from interlock.permissions import Answer, BadUpdate, Decision, Question
from interlock.tools import Output, ToolError
from phases.world.limits import Limits
from phases.world.messages import Text


@define(eq=False, kw_only=True)
class ToolAsker:
    """The gate's asker. `agent` is the one whose tool is asked, once it is there."""

    name: str
    limits: Limits
    stop: Callable[[], None]
    agent: Agent | None = None

    async def ask(self, question: Question, decision: Decision) -> Answer:
        try:
            said = await self._asked(question)
            answer = answer_of(said, question)
        except (ToolError, BadAnswer, BadUpdate) as error:
            return Answer(allowed=False, reason=f"{self.name} could not be asked: {error}")
        if not answer.allowed and said.get("interrupt") is True:
            self.stop()
        return answer

    async def _asked(self, question: Question) -> Mapping[str, Any]:
        tool = None if self.agent is None else self.agent.servers.tools.get(self.name)
        if tool is None or self.agent is None:
            raise ToolError("there is no such tool")
        arguments = {
            "tool_name": question.tool,
            "input": dict(question.arguments),
            "tool_use_id": question.tool_use_id,
        }
        output = await tool.run(arguments, context_of(self.agent, self.limits))
        try:
            said = orjson.loads(_text(output))
        except orjson.JSONDecodeError:
            raise BadAnswer("its answer is no JSON") from None
        if not isinstance(said, dict):
            raise BadAnswer("its answer is no JSON object")
        return said


def _text(output: Output) -> str:
    if isinstance(output.content, str):
        return output.content
    return "".join(part.text for part in output.content if isinstance(part, Text))
