"""A history made smaller for the request that asks for a summary of it, step by step.

First what tools said is shortened, the newest results too: one of them may be larger than the
window. Then media are left out, then the oldest rounds, whole ones only (law 6). What a person
wrote stays. Pure; knows messages only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from attrs import evolve

from interlock.context.trajectories import KEPT, gaps, without
from phases.world.messages import Block, Media, Message, Text, ToolResult, note
from phases.world.size import estimate

Messages = tuple[Message, ...]
_OfBlock = Callable[[Block], Block]

_HEAD, _TAIL = 1_000, 600  # characters that are left of a result; errors stand at the end
LEFT_OUT = "[The oldest {count} messages of the conversation are left out here.]"


def versions(view: Messages) -> Iterator[Messages]:
    """`view` as it is, then ever smaller ones: each is smaller by estimate than the one before."""
    yield view
    smallest = weight(view)
    for version in _steps(view):
        if weight(version) < smallest:
            smallest = weight(version)
            yield version


def _steps(view: Messages) -> Iterator[Messages]:
    short = shortened(view)
    yield short
    bare = without_media(short)
    yield bare
    most = weight(bare)
    while most := most // 2:
        yield without_oldest(bare, most)


def weight(messages: Messages) -> int:
    """Estimated tokens."""
    return sum(map(estimate, messages))


def shortened(view: Messages, most: int = _HEAD + _TAIL) -> Messages:
    """The view with the head and tail of each result that is longer than `most` characters."""

    def block_of(block: Block) -> Block:
        if not isinstance(block, ToolResult) or len(block.text) <= most + 100:
            return block
        text, head = block.text, most * _HEAD // (_HEAD + _TAIL)
        words = (
            f"{text[:head]}\n[... {len(text) - most:,} characters left out ...]\n"
            f"{text[len(text) - (most - head) :]}"
        )
        media = tuple(part for part in block.content if isinstance(part, Media))
        return evolve(block, content=(Text(words), *media))

    return tuple(_mapped(message, block_of) for message in view)


def without_media(view: Messages) -> Messages:
    """The view with a note in place of each image and document."""

    def plain(part: Text | Media) -> Text:
        return Text(f"[{part.kind} left out]") if isinstance(part, Media) else part

    def block_of(block: Block) -> Block:
        if isinstance(block, Media):
            return plain(block)
        if isinstance(block, ToolResult) and any(isinstance(one, Media) for one in block.content):
            return evolve(block, content=tuple(map(plain, block.content)))
        return block

    return tuple(_mapped(message, block_of) for message in view)


def without_oldest(view: Messages, most: int) -> Messages:
    """The view less its oldest rounds, until `most` tokens are left or one round is.

    A note says so in their place; what a person wrote, and summaries, stay.
    """
    gone: dict[str, int] = {}  # ids, with what each weighs
    left, done = weight(view), 0
    for gap in gaps(view):
        if left <= most:
            break
        for message in view[done:gap]:
            if message.kind not in KEPT:
                gone[message.id] = estimate(message)
                left -= gone[message.id]
        done = gap
    if not gone:
        return view
    first = next(iter(gone))
    mark = note(first, "left out", LEFT_OUT.format(count=len(gone)))
    return without(view, gone.keys(), {first: mark})


def _mapped(message: Message, block_of: _OfBlock) -> Message:
    content = tuple(map(block_of, message.content))
    same = all(one is other for one, other in zip(content, message.content, strict=True))
    return message if same else evolve(message, content=content)
