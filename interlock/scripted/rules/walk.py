"""What every rule looks at: the request with its places, and its messages merged into turns.

Judges nothing itself. Everything here may trust the shape once rules/blocks.py has passed it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import attrs

from interlock.scripted.signatures import SignatureBook

Problems = Iterator[str]


@attrs.frozen(kw_only=True)
class Placed:
    """A content block and where it stands."""

    place: str  # messages.3.content.1
    type: str
    block: Mapping[str, Any]


@attrs.frozen(kw_only=True)
class Turn:
    """Neighbouring messages of one role, which the API reads as one."""

    index: int  # of its last message
    role: str
    blocks: tuple[Placed, ...]


@attrs.frozen(kw_only=True)
class Asked:
    """A request under judgment."""

    body: Mapping[str, Any]
    turns: tuple[Turn, ...]
    signatures: SignatureBook
    window: int | None
    tokens: Callable[[], int]  # counted only where a window asks for it

    def blocks(self) -> Iterator[Placed]:
        """All blocks of all messages, those inside tool results not included."""
        for turn in self.turns:
            yield from turn.blocks


def turns_of(messages: list[Any]) -> tuple[Turn, ...]:
    """The messages merged by role. A `system` message in the middle belongs to no turn."""
    turns: list[Turn] = []
    for index, message in enumerate(messages):
        if message["role"] == "system":
            continue
        blocks = placed(f"messages.{index}", message["content"])
        if turns and turns[-1].role == message["role"]:
            blocks = (*turns[-1].blocks, *blocks)
            turns.pop()
        turns.append(Turn(index=index, role=message["role"], blocks=blocks))
    return tuple(turns)


def placed(place: str, content: Any) -> tuple[Placed, ...]:
    """A content, string or list, as blocks with their places."""
    if isinstance(content, str):
        content = [{"type": "text", "text": content}] if content else []
    return tuple(
        Placed(place=f"{place}.content.{at}", type=block["type"], block=block)
        for at, block in enumerate(content)
    )


def inside(result: Placed) -> tuple[Placed, ...]:
    """The blocks inside a tool result that was given as a list."""
    if result.type != "tool_result":
        return ()
    content = result.block.get("content")
    if not isinstance(content, list):
        return ()
    return placed(f"{result.place}.tool_result", content)


def trajectory(turns: tuple[Turn, ...]) -> tuple[Turn, ...]:
    """The assistant turns since the user last spoke rather than answered a tool call."""
    found: list[Turn] = []
    for turn in reversed(turns):
        answers = any(block.type == "tool_result" for block in turn.blocks)
        if turn.role == "user" and not answers:
            break
        if turn.role == "assistant":
            found.append(turn)
    return tuple(reversed(found))
