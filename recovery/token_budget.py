"""The run could end: has the user given a token budget that is not used up?"""

from __future__ import annotations

from typing import Protocol

from phases.world.loop import Loop
from phases.world.outcomes import BudgetJudged
from phases.world.updates import Notice, Show
from recovery.guards import budget_left, nudges_left, still_productive


class TokenBudgetPorts(Protocol):
    @property
    def show(self) -> Show: ...


async def token_budget(loop: Loop, ports: TokenBudgetPorts) -> BudgetJudged:
    """Report that the budget is to be judged: what was spent is already in the loop."""
    outcome = BudgetJudged()
    words = verdict(loop, outcome)
    if words is not None:
        ports.show(Notice("info", words))
    return outcome


def verdict(loop: Loop, outcome: BudgetJudged) -> str | None:
    """How the budget stands, for a person: asked of the very guards that decide."""
    budget, spent = loop.run.token_budget, loop.spent
    if budget is None or loop.state.tool_use_context.agent_id is not None:
        return None
    share = 100 * spent.tokens / budget if budget else 100.0
    used = f"token budget: {share:.0f} % used ({spent.tokens:,} of {budget:,})"
    if not budget_left(loop, outcome):
        return f"{used}; that is enough"
    if not still_productive(loop, outcome):
        return f"{used}; stopped early: going on brought little (diminishing returns)"
    if not nudges_left(loop, outcome):
        return f"{used}; stopped early: {spent.nudges} nudges were given"
    return f"{used}; going on (nudge {spent.nudges + 1} of {loop.run.limits.max_nudges})"
