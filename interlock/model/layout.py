"""Which blocks of which messages are sent, and in which order. For the gate and its mender."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from attrs import frozen

from phases.world.messages import (
    Block,
    Message,
    RedactedThinking,
    Thinking,
    ToolResult,
    is_blank,
)

_THOUGHT = (Thinking, RedactedThinking)


@frozen
class Place:
    """A block and where it stands in the history."""

    message: Message
    index: int  # in `message.content`

    @property
    def block(self) -> Block:
        return self.message.content[self.index]


def sendable(message: Message) -> bool:
    """Whether the message says anything: white space and thinking alone do not count."""
    return says_something(message.content)


def says_something(content: Iterable[Block]) -> bool:
    return any(not isinstance(block, _THOUGHT) and not is_blank(block) for block in content)


def runs(
    messages: tuple[Message, ...], at: int = 0
) -> Iterator[tuple[int, int, tuple[Message, ...]]]:
    """Neighbouring messages of one role; those that say nothing belong to the run before."""
    start, members = at, []  # type: int, list[Message]
    for index in range(at, len(messages)):
        message = messages[index]
        if not sendable(message):
            continue
        if members and members[0].role != message.role:
            yield start, index, tuple(members)
            start, members = index, []
        members.append(message)
    if members:
        yield start, len(messages), tuple(members)


def has_thought(message: Message) -> bool:
    return any(isinstance(block, _THOUGHT) for block in message.content)


def answers_of(message: Message) -> Iterator[str]:
    """The calls that the message answers."""
    for block in message.content:
        if isinstance(block, ToolResult):
            yield block.tool_use_id


def ordered(members: Sequence[Message], asked: tuple[str, ...], *, thinking: bool) -> list[Place]:
    """The blocks of one API message: results first, in the order they were `asked` for."""
    results: dict[str, Place] = {}
    others: list[Place] = []
    for message in members:
        for index in _sent(message, thinking=thinking):
            place = Place(message, index)
            block = message.content[index]
            if isinstance(block, ToolResult):
                results[block.tool_use_id] = place
            else:
                others.append(place)
    return [*(results[id_] for id_ in asked if id_ in results), *others]


def _sent(message: Message, *, thinking: bool) -> list[int]:
    content = message.content
    indexes = [
        index
        for index, block in enumerate(content)
        if not is_blank(block) and (thinking or not isinstance(block, _THOUGHT))
    ]
    # The API refuses thinking as the last block; alone it never gets here, see `sendable`.
    while indexes and isinstance(content[indexes[-1]], _THOUGHT):
        indexes.pop()
    return indexes
