"""Level 5 of 5: the history is summarised by a model call, when no lighter level made room.

Knows when, not how: that is the summariser's. It gives up after a number of failures in a row,
and when the window was full again at once after so many compactions: then another one would only
burn tokens, and the user is told what fills it. All it remembers is in the loop's tracking.
"""

from __future__ import annotations

from attrs import evolve

from interlock.context.gauge import heaviest, held, told
from interlock.context.level import Room, Trimmed
from interlock.context.surroundings import Count
from phases.world.limits import Limits
from phases.world.loop import AutoCompactTracking, Loop
from phases.world.messages import Message
from phases.world.ports import Request, Summariser
from phases.world.size import estimate, summarised_size
from phases.world.updates import Compaction, Notice, Show

_NEAR = 0.05  # share of the threshold within which it is worth asking the server for a count


class Autocompact:
    """`count` asks the server how large a request is; None where it cannot say."""

    name = "autocompact"

    def __init__(self, summariser: Summariser, *, show: Show, count: Count | None = None) -> None:
        self._summariser = summariser
        self._count = count
        self.show = show  # may be replaced between prompts
        self.told: str | None = None  # what the user was told last, so that it is told once

    async def apply(self, messages: tuple[Message, ...], room: Room) -> Trimmed:
        loop, limits = room.loop, room.loop.run.limits
        tracking = loop.state.auto_compact_tracking
        size = await self._size(messages, room)
        if size < limits.compact_at:
            self._tell_that_it_fills(size, limits)
            return Trimmed(messages=messages, tracking=_in_order(tracking))
        if messages[-1].role == "assistant":
            return Trimmed(messages=messages)  # a paused turn goes back as it is
        fruitless = max(tracking.fruitless_now, _stopped(tracking, limits))
        problem = _why_not(loop, tracking, fruitless)
        if problem is None:
            return await self._compacted(messages, loop, size)
        fixed, weights = loop.run.fixed_tokens, list(map(estimate, messages))
        largest = heaviest(messages, weights, fixed=fixed, size=size)
        self._tell("warning", f"{problem} The largest part is {told(largest)}.", about=problem)
        if fruitless >= limits.max_fruitless_compactions:
            tracking = evolve(tracking, fruitless=fruitless)
        return Trimmed(messages=messages, tracking=tracking)

    async def _compacted(self, messages: tuple[Message, ...], loop: Loop, size: int) -> Trimmed:
        tracking = loop.state.auto_compact_tracking
        made = await self._summariser.summarise(loop, messages, trigger="auto")
        if made.view is None:
            tracking = evolve(tracking, failures=tracking.failures + 1)
            text = f"The conversation could not be summarised: {made.problem}"
            self.show(Notice("warning", text))
            return Trimmed(
                messages=messages, tracking=tracking, cost=made.cost, tokens=made.tokens
            )
        fixed = loop.run.fixed_tokens
        after = summarised_size(made.view, of=messages, size=size, fixed=fixed)
        self.show(Compaction("auto", size, after))
        self.told = None
        return Trimmed(
            messages=made.view,
            freed=max(0, size - after),
            tracking=evolve(tracking.after_one_more(), failures=0),
            cost=made.cost,
            tokens=made.tokens,
        )

    async def _size(self, messages: tuple[Message, ...], room: Room) -> int:
        """Tokens in the window; counted by the server where an estimate could be off."""
        size, threshold = held(room), room.loop.run.limits.compact_at
        if self._count is None or abs(size - threshold) > _NEAR * threshold:
            return size
        context = room.loop.state.tool_use_context
        counted = await self._count(
            Request(model=context.model, messages=messages, max_tokens=1, purpose="main")
        )
        return size if counted is None else counted

    def _tell_that_it_fills(self, size: int, limits: Limits) -> None:
        if size < limits.warn_at:
            self.told = None
            return
        share = size / limits.context_window
        self._tell(
            "info",
            f"The context window is {share:.0%} full; from {limits.compact_at:,} tokens on the "
            "conversation is summarised. Sub-agents keep large outputs out of it.",
        )

    def _tell(self, level: str, text: str, about: str | None = None) -> None:
        kind = about or level  # a size or a share that grows is no news
        if self.told != kind:
            self.told = kind
            self.show(Notice(level, text))


def fixed_part_warning(fixed: int, limits: Limits) -> str | None:
    """What to tell at the start of a session whose fixed part leaves no room, or None."""
    if fixed < limits.compact_at:
        return None
    return (
        f"The system prompt, the tools and the notes alone take about {fixed:,} tokens; the "
        f"conversation is to be summarised from {limits.compact_at:,} on, which cannot help. "
        "Offer fewer tools, or set INTERLOCK_CONTEXT_WINDOW to the model's window."
    )


def by_hand(tracking: AutoCompactTracking) -> AutoCompactTracking:
    """The tracking after a compaction that a person asked for: every chance is back."""
    return AutoCompactTracking(
        compactions=tracking.compactions + 1, turns_since=0, failures=0, fruitless=0
    )


def _stopped(tracking: AutoCompactTracking, limits: Limits) -> int:
    """How many fruitless ones have stopped it; the window has been full ever since. Else 0."""
    return tracking.fruitless if tracking.fruitless >= limits.max_fruitless_compactions else 0


def _in_order(tracking: AutoCompactTracking) -> AutoCompactTracking | None:
    """The window has room: once that has lasted a turn, the last compaction has brought it."""
    if tracking.fruitless and tracking.turns_since > 1:
        return evolve(tracking, fruitless=0)
    return None


def _why_not(loop: Loop, tracking: AutoCompactTracking, fruitless: int) -> str | None:
    """Why there is to be no compaction, in words, or None."""
    limits = loop.run.limits
    if fruitless >= limits.max_fruitless_compactions:
        return (
            f"The context was full again right after {fruitless} compactions, so compaction has "
            "stopped."
        )
    if tracking.failures >= limits.max_compact_failures:
        return (
            f"Compaction failed {tracking.failures} times in a row and is suspended until it is "
            "asked for by hand."
        )
    return fixed_part_warning(loop.run.fixed_tokens, limits)
