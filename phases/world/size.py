"""How large a view is, in tokens: what the server counted last, plus an estimate of the rest.

An estimate goes by bytes. Where the server has counted something, the count corrects the
estimate of what came since: code, prose and other scripts differ much in bytes per token.
"""

from __future__ import annotations

from phases.world.messages import Media, Message, ToolResult

BYTES_PER_TOKEN = 3.5  # English prose has about 4, code and JSON about 3
MEDIA_TOKENS = 1_600  # an image at the API's usual scale; base64 bytes say nothing about it

# A count far from the estimate says less about the text than about what was counted: a prefix
# that has been trimmed since, or a server that leaves its cache out.
_LEAST_FACTOR, _MOST_FACTOR = 0.7, 1.6
_WORTH = 1_000  # tokens; below, no factor makes a difference that matters


def tokens_of(view: tuple[Message, ...], *, fixed: int) -> int:
    """Estimate `view` and the `fixed` part (system prompt, tools) before it.

    Counts from the end, back to the last reply whose usage the server reported: that usage
    covers all before it. So the work follows what is new, not the length of the history. A
    reply that reports nothing (some servers say 0) is estimated like the rest.
    """
    since = 0
    for at in range(len(view) - 1, -1, -1):
        message = view[at]
        if message.origin is not None and message.origin.usage.prompt_tokens > 0:
            usage = message.origin.usage
            if since >= _WORTH:
                covered = fixed + sum(estimate(one) for one in view[:at])
                since = round(since * calibration(usage.prompt_tokens, covered))
            return usage.total_tokens + since
        since += estimate(message)
    return since + fixed


def summarised_size(
    view: tuple[Message, ...], *, of: tuple[Message, ...], size: int, fixed: int
) -> int:
    """How large a summary is, in the measure in which `of`, which it stands for, has `size`.

    No server has counted it yet, and a bare estimate beside a count may seem to have grown.
    """
    before, after = (fixed + sum(map(estimate, messages)) for messages in (of, view))
    return round(after * calibration(size, before))


def calibration(counted: int, estimated: int) -> float:
    """What to multiply an estimate with, where `counted` tokens were `estimated` before."""
    if counted <= 0 or estimated < _WORTH:
        return 1.0  # too little to learn from
    return min(max(counted / estimated, _LEAST_FACTOR), _MOST_FACTOR)


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
