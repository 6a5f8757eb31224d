"""The five levels in order, light to heavy; a later one acts where the earlier did not suffice.

The order cannot be exchanged. The result budget changes what results hold, so it stands before
microcompact, which goes by ids alone; what snip frees must be known before autocompact looks at
its threshold; and a summary is made of what collapse has left, or not at all.
"""

from __future__ import annotations

from attrs import frozen

from interlock.context.gauge import heaviest, told
from interlock.context.level import Level, Room
from interlock.context.trajectories import same_until
from phases.world.loop import Features, Loop
from phases.world.messages import Message
from phases.world.outcomes import Freed
from phases.world.ports import Piped
from phases.world.size import calibration, estimate


class ContextPipeline:
    """Implements `phases.world.ports.Pipeline` for one session."""

    def __init__(self, levels: tuple[Level, ...]) -> None:
        """`levels` in the order in which they are to run; one that is missing does nothing."""
        self._levels = levels
        self._scale = Scale()

    @property
    def memory(self) -> Weighed:
        """What it goes by beside the loop."""
        return self._scale.memory

    def recall(self, memory: Weighed) -> None:
        self._scale = Scale(memory)

    async def prepare(self, loop: Loop) -> Piped:
        view, fixed = loop.state.messages, loop.run.fixed_tokens
        size = self._scale.weigh(view, fixed=fixed)
        tracking = loop.state.auto_compact_tracking
        freed: list[Freed] = []
        cost: float | None = 0.0
        tokens = 0
        for level in self._levels:
            if not _is_on(level, loop.run.features):
                continue
            room = Room(loop=loop, size=size, freed=sum(one.tokens for one in freed))
            trimmed = await level.apply(view, room)
            if trimmed.messages is not view or trimmed.freed:
                freed.append(Freed(level=level.name, tokens=trimmed.freed))
            view = trimmed.messages
            tracking = trimmed.tracking or tracking
            cost = None if cost is None or trimmed.cost is None else cost + trimmed.cost
            tokens += trimmed.tokens
        size = self._scale.weigh(view, fixed=fixed)
        self._scale.sent()
        return Piped(
            view=view,
            size=size,
            tracking=tracking,
            freed=tuple(freed),
            heaviest=told(heaviest(view, self._scale.weights, fixed=fixed, size=size)),
            cost=cost,
            tokens=tokens,
        )


@frozen(kw_only=True)
class Weighed:
    """What a scale knows of the history that it weighed last."""

    view: tuple[Message, ...] = ()
    anchor: str | None = None  # the last message that the server counted, by its id
    covered: int = 0  # estimated tokens of what that count was made of
    sent: int | None = None  # estimated tokens of the last request


NOTHING_WEIGHED = Weighed()


class Scale:
    """Weighs one history as it goes on, at the cost of what is new in it.

    Like `tokens_of`: what the server counted last, plus an estimate of what came since. But the
    server counted what it was sent then. Where something of that has been taken out since, by a
    level or by the drain, as much is taken off; else a retry would find the window full still.
    """

    def __init__(self, memory: Weighed = NOTHING_WEIGHED) -> None:
        self._view: tuple[Message, ...] = ()
        self.weights: list[int] = []  # of the messages weighed last
        self._counted: list[int] = []  # places of those with a count of the server
        self._anchor, self._covered, self._sent = memory.anchor, memory.covered, memory.sent
        self._read(memory.view)

    @property
    def memory(self) -> Weighed:
        return Weighed(
            view=self._view, anchor=self._anchor, covered=self._covered, sent=self._sent
        )

    def weigh(self, view: tuple[Message, ...], *, fixed: int) -> int:
        """Tokens of `view` with the `fixed` part before it."""
        self._read(view)
        if not self._counted:
            return fixed + sum(self.weights)
        at = self._counted[-1]
        before, after = sum(self.weights[:at]), sum(self.weights[at + 1 :])
        anchor = view[at]
        assert anchor.origin is not None
        if anchor.id != self._anchor:
            self._anchor = anchor.id
            # Not seen before: the reply to what was sent last, or one from another process.
            self._covered = before if self._sent is None else self._sent
        usage = anchor.origin.usage
        factor = calibration(usage.prompt_tokens, fixed + self._covered)
        left = usage.total_tokens - round((self._covered - before) * factor)
        return max(fixed, left) + round(after * factor)

    def sent(self) -> None:
        """What was weighed last is what the model is asked with."""
        self._sent = sum(self.weights)

    def _read(self, view: tuple[Message, ...]) -> None:
        same = same_until(self._view, view)
        del self.weights[same:]
        while self._counted and self._counted[-1] >= same:
            self._counted.pop()
        for at in range(same, len(view)):
            self.weights.append(estimate(view[at]))
            if _has_count(view[at]):
                self._counted.append(at)
        self._view = view


def _has_count(message: Message) -> bool:
    return message.origin is not None and message.origin.usage.prompt_tokens > 0


def _is_on(level: Level, features: Features) -> bool:
    return bool(getattr(features, level.name, True))
