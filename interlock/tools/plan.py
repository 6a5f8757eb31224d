"""EnterPlanMode and ExitPlanMode: first think, then act, with a person's approval in between.

The approval is the permission for ExitPlanMode itself: it asks in every mode that asks at all,
and the plan is what the person is shown. So a refusal, with the person's words, leaves the mode
as it is, and so does a session without anyone to ask.
"""

from __future__ import annotations

from typing import Protocol

from interlock.tools.tool import Arguments, Output, Tool, ToolContext, ToolError


class PlanMode(Protocol):
    """The session's mode, as far as plans are concerned."""

    @property
    def active(self) -> bool: ...

    def enter(self) -> str | None:
        """From now on nothing may be changed; or why that cannot be."""
        ...

    def leave(self, plan: str) -> str:
        """Back to the mode before, with this plan approved; what is so now, as a clause."""
        ...


class EnterPlanMode(Tool):
    name = "EnterPlanMode"
    description = (
        "Goes into plan mode: until the user has approved a plan you can read and search, but"
        " change nothing. Use it before work that can be done in more than one way, that touches"
        " many files, or whose aim is not clear yet; not for small or obvious changes. When the"
        " plan is complete, present it with ExitPlanMode."
    )
    input_schema = {  # noqa: RUF012 (never changed)
        "type": "object",
        "properties": {},
        "additionalProperties": False,
    }

    def __init__(self, mode: PlanMode) -> None:
        self._mode = mode

    def effects(self, arguments: Arguments) -> bool:
        return False  # it only takes rights away

    async def run(self, arguments: Arguments, context: ToolContext) -> Output:
        if self._mode.active:
            return Output("Plan mode is on already. Present the plan with ExitPlanMode.")
        problem = self._mode.enter()
        if problem is not None:
            raise ToolError(f"Plan mode was not entered: {problem}")
        return Output(
            "Plan mode is on: read, search and ask, but change nothing. When the plan is complete,"
            " present it with ExitPlanMode."
        )


class ExitPlanMode(Tool):
    name = "ExitPlanMode"
    description = (
        "Presents your plan to the user for approval, and ends plan mode if they approve. Give"
        " the whole plan as Markdown: what changes where, in which order, and how it is checked."
        " Settle open questions with AskUserQuestion before. For questions about the code alone"
        " no plan is needed."
    )
    input_schema = {  # noqa: RUF012 (never changed)
        "type": "object",
        "properties": {"plan": {"type": "string", "description": "The plan, as Markdown."}},
        "required": ["plan"],
        "additionalProperties": False,
    }

    def __init__(self, mode: PlanMode) -> None:
        self._mode = mode

    def effects(self, arguments: Arguments) -> bool:
        return True  # it gives rights back: never without approval

    async def preview(self, arguments: Arguments, context: ToolContext) -> str | None:
        plan: str = arguments["plan"]
        return plan

    async def run(self, arguments: Arguments, context: ToolContext) -> Output:
        if not self._mode.active:
            raise ToolError("Plan mode is not on: there is nothing to leave. Go on with the work.")
        if not arguments["plan"].strip():
            raise ToolError("The plan is empty. Plan mode stays on.")
        now = self._mode.leave(arguments["plan"])
        return Output(f"The plan is approved; {now}. Begin with it.")
