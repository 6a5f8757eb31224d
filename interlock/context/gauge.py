"""What fills the window: parts by kind, and the heaviest single item by name.

Pure. How much there is in all is what the server counted, where it did; how it is shared out are
estimates by size (phases/world/size.py), scaled so that they add up to that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from attrs import frozen

from interlock.context.level import Room
from phases.world.loop import Loop
from phases.world.messages import (
    Block,
    Kind,
    Media,
    Message,
    RedactedThinking,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    encoded,
)
from phases.world.size import BYTES_PER_TOKEN, MEDIA_TOKENS, estimate, tokens_of

FIXED = "system prompt, tools, notes"
_NOTES = {Kind.NOTE: "notes", Kind.SUMMARY: "summaries", Kind.INTERRUPTION: "notes"}
_SHOWN = 40  # characters of a text that is named by its beginning
_BAR = 20  # characters of a full bar


def held(room: Room) -> int:
    """Tokens a level finds in the window: what came in, less what lighter levels have freed."""
    return max(0, room.size - room.freed)


@frozen
class Part:
    """A kind of thing in the window, or one thing."""

    name: str
    tokens: int


@frozen(kw_only=True)
class Fill:
    """What is in the window. The parts are in order of their size."""

    size: int  # tokens, as well as they are known
    window: int
    parts: tuple[Part, ...]
    heaviest: Part


def fill(view: tuple[Message, ...], loop: Loop) -> Fill:
    """Look at all of `view`."""
    tokens: Counter[str] = Counter({FIXED: loop.run.fixed_tokens})
    tools: dict[str, str] = {}
    for message in view:
        tools.update((call.id, call.name) for call in message.calls)
        for block in message.content:
            for name, count in _weighed(block, message, tools):
                tokens[name] += count
    size = tokens_of(view, fixed=loop.run.fixed_tokens)
    parts = (Part(name, count) for name, count in tokens.most_common() if count)
    weights = [estimate(one) for one in view]
    return Fill(
        size=size,
        window=loop.run.limits.context_window,
        parts=tuple(_scaled(part, size, tokens.total()) for part in parts),
        heaviest=heaviest(view, weights, fixed=loop.run.fixed_tokens, size=size),
    )


def heaviest(view: Sequence[Message], weights: Sequence[int], *, fixed: int, size: int) -> Part:
    """The largest single item of a window that holds `size` tokens.

    `weights` are the messages' own, estimated.
    """
    return _scaled(_heaviest(view, weights, fixed), size, fixed + sum(weights))


def _scaled(part: Part, size: int, estimated: int) -> Part:
    return Part(part.name, round(part.tokens * size / estimated) if estimated else part.tokens)


def _heaviest(view: Sequence[Message], weights: Sequence[int], fixed: int) -> Part:
    most = max(weights, default=0)
    if fixed >= most:
        return Part(FIXED, fixed)
    at = list(weights).index(most)
    message = view[at]
    results = [block for block in message.content if isinstance(block, ToolResult)]
    if not results:
        return Part(_named(message), most)
    largest = max(results, key=_tokens)
    return Part(
        f"result of {_tool_of(view, at, largest)} ({largest.tool_use_id})", _tokens(largest)
    )


def told(part: Part) -> str:
    """One line, for an error that has to name what is too large."""
    return f"{part.name}: {part.tokens:,} tokens"


def render(fill: Fill) -> str:
    """The parts as a table with bars, for a terminal."""
    width = max(len(part.name) for part in fill.parts) if fill.parts else 0
    lines = [f"{fill.size:,} of {fill.window:,} tokens ({_percent(fill.size, fill.window)})"]
    for part in fill.parts:
        bar = "#" * round(_BAR * min(1.0, part.tokens / fill.window))
        share = _percent(part.tokens, fill.window)
        lines.append(f"  {part.name:<{width}}  {part.tokens:>9,}  {share:>4}  {bar}".rstrip())
    lines.append(f"heaviest: {told(fill.heaviest)}")
    return "\n".join(lines)


def _weighed(block: Block, message: Message, tools: dict[str, str]) -> Iterator[tuple[str, int]]:
    match block:
        case ToolResult():
            pictures = sum(isinstance(part, Media) for part in block.content)
            yield "media", pictures * MEDIA_TOKENS
            tool = tools.get(block.tool_use_id, "an unknown tool")
            yield f"results of {tool}", _tokens(block) - pictures * MEDIA_TOKENS
        case Media():
            yield "media", MEDIA_TOKENS
        case Thinking() | RedactedThinking():
            yield "thinking", _tokens(block)
        case ToolUse():
            yield "calls of tools", _tokens(block)
        case _:
            yield _kind_of(message), _tokens(block)


def _kind_of(message: Message) -> str:
    if message.role == "assistant":
        return "replies"
    return _NOTES.get(message.kind, "the user's messages")


def _tokens(block: Block) -> int:
    pictures = [
        part
        for part in (block.content if isinstance(block, ToolResult) else (block,))
        if isinstance(part, Media)
    ]
    size = len(encoded(block.wire())) - sum(len(part.data) for part in pictures)
    return max(0, round(size / BYTES_PER_TOKEN)) + MEDIA_TOKENS * len(pictures)


def _named(message: Message) -> str:
    if message.role == "assistant":
        call = max(message.calls, key=_tokens, default=None)
        words = sum(_tokens(one) for one in message.content if isinstance(one, Text))
        if call is not None and _tokens(call) > words:
            return f"call of {call.name} ({call.id})"
        return f"reply {_quoted(message.text)}"
    if message.kind is Kind.SUMMARY:
        return "the summary"
    if message.kind is Kind.NOTE:
        return f"note {_quoted(message.text)}"
    return f"the user's message {_quoted(message.text)}"


def _tool_of(view: Sequence[Message], at: int, result: ToolResult) -> str:
    for message in reversed(view[:at]):
        for call in message.calls:
            if call.id == result.tool_use_id:
                return call.name
    return "an unknown tool"


def _quoted(text: str) -> str:
    words = " ".join(text[: 4 * _SHOWN].split())
    return f'"{words if len(words) <= _SHOWN else words[:_SHOWN] + "…"}"'


def _percent(part: int, whole: int) -> str:
    return f"{part / whole:.0%}" if whole else "?"
