"""Sleep: wait, or until something arrives that the model should read.

Offered only where something can arrive: assembly decides (see `registry.built_in`).
"""

from __future__ import annotations

from typing import Protocol

import anyio

from interlock.tools.tool import Arguments, Output, Tool, ToolContext, ToolError
from phases.world.ports import Clock


class Arrivals(Protocol):
    """Where something may arrive for the agent that sleeps."""

    async def arrival(self) -> None:
        """Return once something is there to be read; at once, if it is there already."""
        ...


class Sleep(Tool):
    name = "Sleep"
    time_limit = None  # it keeps its own
    description = (
        "Waits for some seconds, and ends early when something arrives: a background task has"
        " ended, or the user has written. What arrived follows the result.\n"
        "- Use it where there is nothing to do until then; it costs nothing while it waits. Do"
        " not run `sleep` in a shell for that.\n"
        "- Call it again if what you wait for has not come."
    )
    input_schema = {  # noqa: RUF012 (never changed)
        "type": "object",
        "properties": {
            "seconds": {"type": "number", "description": "How long at most."},
            "reason": {
                "type": "string",
                "description": "What is waited for, in a few words, for the user.",
            },
        },
        "required": ["seconds"],
        "additionalProperties": False,
    }

    def __init__(self, arrivals: Arrivals, clock: Clock) -> None:
        self._arrivals = arrivals
        self._clock = clock

    def effects(self, arguments: Arguments) -> bool:
        return False

    # Not safe beside others although it changes nothing: a call behind it means "and then".

    async def run(self, arguments: Arguments, context: ToolContext) -> Output:
        asked = float(arguments["seconds"])
        if not asked >= 0:
            raise ToolError("`seconds` must be 0 or more.")
        most = context.limits.max_sleep_s
        began = self._clock.time()
        woken = await self._woken(min(asked, most))
        if woken:
            slept = min(max(self._clock.time() - began, 0.0), asked)  # whoever sets the clock
            return Output(f"Woken after {slept:.0f} s: something arrived.")
        longest = f" (the longest one call may: {most:g} s)" if asked > most else ""
        return Output(f"Slept {min(asked, most):g} s{longest}. Nothing arrived.")

    async def _woken(self, seconds: float) -> bool:
        """Wait so long, or for an arrival; whether one came."""
        woken = False
        async with anyio.create_task_group() as tasks:

            async def listen() -> None:
                nonlocal woken
                await self._arrivals.arrival()
                woken = True
                tasks.cancel_scope.cancel()

            tasks.start_soon(listen)
            await self._clock.sleep(seconds)
            tasks.cancel_scope.cancel()
        return woken
