"""A skill that runs as an agent of its own: its text is the prompt of a child, its rights are that
child's.

The text is filled in by the child: so the commands in it run with the rights of that one, and what
the skill lends is lent to nobody else.
"""

from __future__ import annotations

import secrets

from attrs import evolve, frozen

from interlock.agents.asked import errand_of
from interlock.agents.crew import Crew
from interlock.agents.errand import Use
from interlock.agents.telling import output
from interlock.permissions import Question
from interlock.tools import Apart, Output, ToolContext, ToolError


@frozen
class SkillErrands:
    """Implements `Elsewhere`, for the agent whose children the crew are."""

    crew: Crew

    async def __call__(self, apart: Apart, arguments: str, context: ToolContext) -> Output:
        asked = {
            "description": f"skill {apart.name}",
            "prompt": f"/{apart.name} {arguments}".strip(),
            "subagent_type": apart.agent,
            "model": apart.model,
            "run_in_background": False,  # the result of the call is what came of it
        }
        errand = errand_of(asked, context, self.crew, secrets.token_hex(8))
        await self._insist_on_permission(errand.agent_type, context)
        errand = evolve(errand, skill=Use(apart.name, arguments, apart.effort))
        return output(errand, await self.crew.run(errand))

    async def _insist_on_permission(self, agent_type: str, context: ToolContext) -> None:
        """Rules about agents hold for those that a skill starts. Raises ToolError."""
        assert self.crew.parent is not None
        question = Question(
            tool="Agent",
            tool_use_id=context.use_id,
            arguments={"subagent_type": agent_type},
            effects=True,
            cwd=context.cwd,
        )
        decision = await self.crew.parent.gate.settle(question)
        if not decision.allowed:
            raise ToolError(f"Permission denied: Agent({agent_type}): {decision.reason}")
