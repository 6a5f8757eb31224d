"""The run could end: has the user given a token budget that is not used up?"""

from __future__ import annotations

from phases.world.loop import Loop
from phases.world.outcomes import BudgetJudged


async def token_budget(loop: Loop, ports: object) -> BudgetJudged:
    """Report that the budget is to be judged: what was spent is already in the loop."""
    return BudgetJudged()
