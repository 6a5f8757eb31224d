"""Endings of a caller's own: rules that end a run, looked at whenever a round of tools is over.

That is where a run would go on, so it is where one can be kept from it: with every call answered
and nothing half done. A rule that holds is told to the loop as a hook's wish to stop, so it takes
the edge that is there (`hook_says_stop`, to `hook_stopped`), stands in the trace and on the tape,
and needs no line in the table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from attrs import evolve, frozen

from interlock.errors import EndingBroke
from phases.world.loop import Loop, Reply, ToolUseContext
from phases.world.messages import Message, ToolResult, ToolUse
from phases.world.ports import Executor, Ran


@frozen(kw_only=True)
class Progress:
    """What an ending rule looks at: how far the run has come when a round of tools is over."""

    turn: int  # model turns so far, this one included
    text: str  # what the model said in this turn
    calls: tuple[ToolUse, ...]
    results: tuple[ToolResult, ...]  # in the order of the calls
    messages: tuple[Message, ...]  # the history the model was sent, this turn included
    cost: float | None  # USD of this prompt so far; None: no price is known
    output_tokens: int

    def called(self, tool: str) -> bool:
        """Whether this turn called `tool`, whatever became of it."""
        return any(call.name == tool for call in self.calls)


@frozen
class Ending:
    """A rule: where `when` holds, the run ends, and `name` is why."""

    name: str
    when: Callable[[Progress], bool]

    def holds(self, progress: Progress) -> bool:
        """Raises EndingBroke: what was to end a run must not fail in silence."""
        try:
            return bool(self.when(progress))
        except Exception as error:  # the caller's function: whatever it raises, it has broken
            raise EndingBroke(self.name, error) from error


@frozen
class EndedByRules:
    """An executor whose rounds can be the last. `standing`: the loop as the last step left it."""

    executor: Executor
    endings: Sequence[Ending]
    standing: Callable[[], Loop | None]

    def begin(self, context: ToolUseContext) -> None:
        self.executor.begin(context)

    def offer(self, call: ToolUse) -> None:
        self.executor.offer(call)

    def drop(self) -> tuple[Message, ...]:
        return self.executor.drop()

    async def run(self, reply: Reply, context: ToolUseContext) -> Ran:
        ran, loop = await self.executor.run(reply, context), self.standing()
        if ran.hook_stopped is not None or loop is None:
            return ran
        progress = progress_of(loop, reply, ran)
        held = next((one.name for one in self.endings if one.holds(progress)), None)
        return ran if held is None else evolve(ran, hook_stopped=held)


def ruled(
    executor: Executor, endings: Sequence[Ending], standing: Callable[[], Loop | None]
) -> Executor:
    """The executor, with these rules if there are any."""
    return EndedByRules(executor, endings, standing) if endings else executor


def progress_of(loop: Loop, reply: Reply, ran: Ran) -> Progress:
    blocks = (block for message in ran.results for block in message.content)
    return Progress(
        turn=loop.state.turn_count,
        text=reply.message.text,
        calls=reply.message.calls,
        results=tuple(block for block in blocks if isinstance(block, ToolResult)),
        messages=(*loop.now.view, reply.message, *ran.results),
        cost=loop.spent.cost,
        output_tokens=loop.spent.tokens,
    )
