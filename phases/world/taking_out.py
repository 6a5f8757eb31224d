"""What the model's server refused is taken out of a view: what then stands in its place.

Whole blocks only. A call goes with its result, thinking goes without a word; which blocks go
together is told by the failure (see `interlock/model/refusals.py`). Nothing is made up.
"""

from __future__ import annotations

from collections.abc import Iterable

from attrs import evolve

from phases.world.failures import Failure, RefusedBlock
from phases.world.messages import (
    Block,
    Kind,
    Message,
    RedactedThinking,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    derived_id,
    encoded,
    is_blank,
)

_MARK = "[taken out: "  # how each note begins


def taken_out(view: tuple[Message, ...], failure: Failure) -> tuple[Message, ...]:
    """The view without the blocks that `failure` names; the very same where it holds none."""
    wanted = {(one.message_id, one.block): one for one in failure.to_take_out}
    ids = {message_id for message_id, _ in wanted}
    if ids.isdisjoint(message.id for message in view):
        return view
    calls = {
        block.id
        for message in view
        for at, block in enumerate(message.content)
        if isinstance(block, ToolUse) and (message.id, at) in wanted
    }

    def without(message: Message) -> Message:
        content = [
            kept
            for at, block in enumerate(message.content)
            for kept in _in_place_of(block, wanted.get((message.id, at)), calls, failure)
        ]
        return evolve(
            message,
            id=derived_id(message.id, "mended"),
            content=tuple(content),
            replaces=message.id,
        )

    return tuple(without(message) if message.id in ids else message for message in view)


def is_note(block: Block) -> bool:
    """Whether the block stands for one that was taken out: nothing is left to take."""
    match block:
        case Text(text):
            return text.startswith(_MARK)
        case ToolResult(content=(Text(text),)):
            return text.startswith(_MARK)
    return False


def silences_the_user(view: tuple[Message, ...], failure: Failure) -> bool:
    """Whether nothing of the newest prompt would be left, so that there is nothing to answer."""
    prompt = newest_prompt(view)
    if prompt is None:
        return False
    gone = {one.block for one in failure.to_take_out if one.message_id == prompt.id}
    return all(at in gone or is_blank(block) for at, block in enumerate(prompt.content))


def newest_prompt(view: tuple[Message, ...]) -> Message | None:
    """What the user said last."""
    return next((one for one in reversed(view) if one.kind is Kind.PROMPT), None)


def named(blocks: Iterable[RefusedBlock]) -> str:
    """What was taken out, for a person: each kind of thing once."""
    return ", ".join(dict.fromkeys(one.what or "a block" for one in blocks))


def _in_place_of(
    block: Block, refused: RefusedBlock | None, calls: set[str], failure: Failure
) -> tuple[Block, ...]:
    if refused is None:
        return (block,)
    if isinstance(block, Thinking | RedactedThinking):
        return ()  # edited, it would be refused for ever
    if refused.told:
        return (Text(_in_words(block)),)
    why = f"the model's server refused it: {failure.message}"
    match block:
        case ToolUse():
            # Truthful also of a call that never ran: that is told by no one else now.
            note = f"a call of {block.name} and its result; {why}. What it did, if it ran, stands"
        case ToolResult() if block.tool_use_id in calls:
            note = "the result of a call that was taken out as well"
        case ToolResult(loads=names) if names:
            return (ToolResult(block.tool_use_id, (Text(f"Loaded: {', '.join(names)}."),)),)
        case ToolResult():
            words = Text(f"{_MARK}{why}]")
            return (ToolResult(block.tool_use_id, (words,), block.is_error),)
        case _:
            note = why
    return (Text(f"{_MARK}{note}]"),)


def _in_words(block: Block) -> str:
    """A call or a result as text, where it may no longer stand as what it is."""
    match block:
        case ToolUse():
            return f"[called {block.name} with {encoded(dict(block.input)).decode()}]"
        case ToolResult():
            said = block.text or "(no text)"
            return f"[the {'error' if block.is_error else 'result'} was: {said}]"
    return f"{_MARK}a block that could not stay where it stood]"
