"""Level 2 of 5: let go of what was said and done a very long time ago. Off unless switched on.

Keeps the last turns, the user's own words and any summary; whole trajectories go, and one note
says so. What it frees counts for the levels after it, so that none of them runs needlessly.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from interlock.context.collapse import COLLAPSED
from interlock.context.level import Room, Trimmed
from interlock.context.trajectories import KEPT, recent, trajectories, without
from phases.world.messages import Kind, Message, note
from phases.world.size import estimate

_NOTE = (
    "[snipped: {count} older messages are left out from here on, to make room: replies, and what "
    "tools said. The user's own messages are still here.]"
)
_OURS = re.compile(r"\[snipped: (\d+) older messages")


class Snip:
    """Waits until half as many turns again as are kept have gathered: each snip changes the
    beginning of the history, which the provider's prompt cache then has to read anew."""

    name = "snip"

    async def apply(self, messages: tuple[Message, ...], room: Room) -> Trimmed:
        keep = room.loop.run.limits.snip_keep_turns
        oldest = recent(messages, keep + max(1, keep // 2))
        if oldest == 0:
            return Trimmed(messages=messages)
        out = list(_old(messages, recent(messages, keep)))
        if not out:
            return Trimmed(messages=messages)
        gone = [messages[at] for at in out]
        mark = note(gone[0].id, "snip", _NOTE.format(count=sum(map(_counted, gone))))
        left = without(messages, {message.id for message in gone}, {gone[0].id: mark})
        freed = sum(map(estimate, messages)) - sum(map(estimate, left))
        return Trimmed(messages=left, freed=freed) if freed > 0 else Trimmed(messages=messages)


def _old(messages: Sequence[Message], end: int) -> Iterator[int]:
    """What may go: trajectories that are over by `end`, and notes that stand for older ones."""
    over = list(trajectories(messages, end=end))
    last = over[-1].end if over else 0
    going = {at for one in over for at in range(one.start, one.end)}
    for at, message in enumerate(messages[:last]):
        if (at in going or _is_mark(message)) and message.kind not in KEPT:
            yield at


def _is_mark(message: Message) -> bool:
    return message.kind is Kind.NOTE and (
        message.text.startswith(COLLAPSED) or _OURS.match(message.text) is not None
    )


def _counted(message: Message) -> int:
    """For how many messages this one stands."""
    earlier = _OURS.match(message.text) if message.kind is Kind.NOTE else None
    return int(earlier[1]) if earlier else 1
