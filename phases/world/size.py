"""How large a view is, in tokens: what the server counted last, plus an estimate of the rest."""

from __future__ import annotations

from phases.world.messages import Media, Message, ToolResult

BYTES_PER_TOKEN = 3.5  # English prose has about 4, code and JSON about 3
MEDIA_TOKENS = 1_600  # an image at the API's usual scale; base64 bytes say nothing about it


def tokens_of(view: tuple[Message, ...], *, fixed: int) -> int:
    """Estimate `view` and the `fixed` part (system prompt, tools) before it.

    Counts from the end, back to the last reply whose usage the server reported: that usage
    covers all before it. So the work follows what is new, not the length of the history. A
    reply that reports nothing (some servers say 0) is estimated like the rest.
    """
    size = 0
    for message in reversed(view):
        if message.origin is not None and message.origin.usage.prompt_tokens > 0:
            return size + message.origin.usage.total_tokens
        size += estimate(message)
    return size + fixed


def estimate(message: Message) -> int:
    """A message's size by its bytes; media by a flat rate."""
    media = [
        part
        for block in message.content
        for part in (block.content if isinstance(block, ToolResult) else (block,))
        if isinstance(part, Media)
    ]
    text = len(message.wire) - sum(len(part.data) for part in media)
    return round(text / BYTES_PER_TOKEN) + MEDIA_TOKENS * len(media)
