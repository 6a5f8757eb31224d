"""Where a history may be cut: in the gaps between trajectories, nowhere else (law 6).

A trajectory is a reply with calls, their results, and, where it thought and the next reply did
not, that reply too: it goes on from the same thinking. A reply that thinks for itself begins a
trajectory of its own. Pure; knows messages only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set

from attrs import evolve, frozen

from phases.world.messages import (
    Kind,
    Message,
    RedactedThinking,
    Thinking,
    ToolResult,
    derived_id,
    is_blank,
)

# What a person wrote, and what stands for what they wrote: never part of what is taken out.
KEPT = frozenset({Kind.PROMPT, Kind.SUMMARY})


@frozen
class Trajectory:
    """`messages[start:end]`: from one gap to the next, begun by a reply."""

    start: int
    end: int
    has_calls: bool


def gaps(messages: Sequence[Message], start: int = 0) -> Iterator[int]:
    """Each index that `messages` may be cut before, ends left out. `start` is 0 or a gap.

    No gap stands between two messages of one role: the API reads them as one, so what follows
    the results of a turn (notes, words typed meanwhile) belongs to that turn.
    """
    asked: set[str] = set()
    answers = thought = False  # of the messages since the user last only spoke
    for at in range(start, len(messages)):
        message = messages[at]
        new_turn = at == start or messages[at - 1].role != message.role
        if message.role == "user":
            if at > start and new_turn and not asked:
                yield at
            answers = (answers and not new_turn) or holds_results(message)
            asked -= set(_answered(message))
            continue
        if new_turn:
            thought = thought and answers  # the user has spoken: nothing leans on older thinking
            if at > start and not asked and (not thought or _thinks(message)):
                yield at
        thought = thought or _thinks(message)
        asked.update(call.id for call in message.calls)


def trajectories(
    messages: Sequence[Message], start: int = 0, end: int | None = None
) -> Iterator[Trajectory]:
    """Those that begin at `start`, which is 0 or a gap, or later and are over by `end`.

    The last one of a history is never given: its next reply may still belong to it.
    """
    begin = start
    for gap in gaps(messages, start):
        if end is not None and gap > end:
            return
        if messages[begin].role == "assistant":
            yield Trajectory(begin, gap, any(one.calls for one in messages[begin:gap]))
        begin = gap


def recent(messages: Sequence[Message], turns: int) -> int:
    """Where the last `turns` model calls begin: the index of the first one's reply."""
    if turns <= 0:
        return len(messages)
    for at in range(len(messages) - 1, -1, -1):
        if messages[at].role == "assistant" and (at == 0 or messages[at - 1].role == "user"):
            turns -= 1
            if turns == 0:
                return at
    return 0


def without(
    messages: Sequence[Message], gone: Set[str], marks: Mapping[str, Message]
) -> tuple[Message, ...]:
    """`messages` less those with an id in `gone`; what was typed in them stays.

    `marks` holds, for some ids in `gone`, the note that takes the place.
    """
    left: list[Message] = []
    for message in messages:
        if message.id not in gone:
            left.append(message)
            continue
        if message.id in marks:
            left.append(marks[message.id])
        words = typed(message)
        if words is not None:
            left.append(words)
    return tuple(left)


def typed(message: Message) -> Message | None:
    """What a person typed into a message that also holds results, as a message of its own."""
    if message.role != "user" or not holds_results(message):
        return None
    words = tuple(
        block
        for block in message.content
        if not isinstance(block, ToolResult) and not is_blank(block)
    )
    if not words:
        return None
    return evolve(
        message,
        id=derived_id(message.id, "typed"),
        kind=Kind.PROMPT,
        content=words,
        source=None,
        replaces=None,
    )


def same_until(old: Sequence[Message], new: Sequence[Message]) -> int:
    """How many messages both begin with, the very same objects: nearly always all of `old`.

    What a level has looked at once it need not look at again; so its work follows what is new.
    """
    size = len(old)
    if new[:size] == old:  # at the cost of a pointer each
        return size
    pairs = zip(old, new, strict=False)
    return next((at for at, (one, other) in enumerate(pairs) if one is not other), len(new))


def holds_results(message: Message) -> bool:
    return any(isinstance(block, ToolResult) for block in message.content)


def _answered(message: Message) -> Iterator[str]:
    for block in message.content:
        if isinstance(block, ToolResult):
            yield block.tool_use_id


def _thinks(message: Message) -> bool:
    return any(isinstance(block, Thinking | RedactedThinking) for block in message.content)
