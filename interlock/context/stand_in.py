"""The messages that stand for a history: the user's own words, a summary, what goes on as it is.

The user's requests are blocks of their own in the summary message, so that the next compaction
can take them over word for word: what was asked for must not depend on how often, or how well,
it was retold. Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from attrs import evolve, frozen

from interlock.context.smaller import Messages, shortened, weight, without_media
from interlock.context.trajectories import gaps, holds_results, typed
from phases.world.messages import Kind, Message, Text, derived_id
from phases.world.size import BYTES_PER_TOKEN
from phases.world.usage import Usage

PREFACE = (
    "This session goes on from an earlier conversation that no longer fits the context window. "
    "What the user said in that time, oldest first:"
)
HEAD = "Summary of what happened since:"
CLOSING = "Go on with the task where the summary ends. Do not mention the summary."
_USER = "[user] "  # how each of the user's requests begins
_OLDER = "[older messages of the user are left out]"
# Shares of the room that a compaction may fill; they need not all be filled at once.
_REQUESTS, _OPEN, _KEEPSAKES, _NEWEST, _EARLIER = 0.2, 0.7, 0.15, 0.3, 0.2


@frozen(kw_only=True)
class Shares:
    """How much each part may take, in tokens."""

    requests: int
    open: int
    keepsakes: int
    newest: int
    earlier: int

    @classmethod
    def of(cls, room: int, keepsakes: int = 0) -> Shares:
        """The shares of `room` tokens; keepsakes take no more than so many."""
        return cls(
            requests=int(room * _REQUESTS),
            open=int(room * _OPEN),
            keepsakes=min(keepsakes, int(room * _KEEPSAKES)),
            newest=int(room * _NEWEST),
            earlier=int(room * _EARLIER),
        )


@frozen
class Parted:
    """A history in two: what a summary stands for, and an open prompt that stays as it is."""

    past: Messages
    open: Messages


def parted(view: Messages) -> Parted:
    """Keep what the user said last and nobody answered: nothing may be cut out of that."""
    at = len(view)
    while at and _is_words(view[at - 1]):
        at -= 1
    if not at or view[at - 1].role == "user":  # behind results or a summary, the prompt alone
        at = next((n for n in range(at, len(view)) if view[n].kind is Kind.PROMPT), len(view))
    return Parted(view[:at], view[at:])


def narrowed(parts: Parted) -> Parted:
    """Only the last prompt stays open.

    One before it that was too large was refused, and the user told so; left open it would take
    every later prompt down with it.
    """
    prompts = [n for n, one in enumerate(parts.open) if one.kind is Kind.PROMPT]
    at = prompts[-1] if prompts else 0
    return Parted((*parts.past, *parts.open[:at]), parts.open[at:])


def _is_words(message: Message) -> bool:
    return (
        message.role == "user"
        and not holds_results(message)
        and message.kind in (Kind.PROMPT, Kind.NOTE)
    )


def summary_message(id_: str, past: Messages, summary: str, shares: Shares) -> Message:
    """The message that takes the place of `past`."""
    requests = _newest_that_fit(requests_of(past), shares.requests)
    words = f"{HEAD}\n\n{summary}\n\n{CLOSING}"
    blocks = (Text(PREFACE), *map(Text, requests or ["(nothing)"]), Text(words))
    return Message(id=id_, role="user", kind=Kind.SUMMARY, content=blocks)


def requests_of(past: Messages) -> list[str]:
    """What the user said, oldest first, also what an earlier summary holds of it."""
    found: list[str] = []
    for message in past:
        if message.kind is Kind.SUMMARY:
            found += _texts(message)[0]
            continue
        said = typed(message) if holds_results(message) else message
        if said is not None and said.kind is Kind.PROMPT and said.text.strip():
            found.append(_USER + said.text.strip())
    return found


def earlier_summary(past: Messages) -> str:
    """What the newest summary in `past` says, without the user's words."""
    summaries = [message for message in past if message.kind is Kind.SUMMARY]
    return _texts(summaries[-1])[1] if summaries else ""


def _texts(summary: Message) -> tuple[list[str], str]:
    """The requests in a summary message, and its own text; one that is not ours has only text."""
    texts = [block.text for block in summary.content if isinstance(block, Text)]
    if not texts or texts[0] != PREFACE:
        return [], "\n".join(texts)
    at = next((n for n, text in enumerate(texts) if text.startswith(HEAD)), len(texts))
    kept = [text for text in texts[1:at] if text.startswith((_USER, _OLDER))]
    words = "\n".join(texts[at:]).removeprefix(HEAD).replace(CLOSING, "")
    return kept, words.strip()


def _newest_that_fit(requests: Sequence[str], tokens: int) -> list[str]:
    """The newest of them in `tokens`, with a word about those before; one of them at least."""
    room, kept = int(tokens * BYTES_PER_TOKEN), list[str]()
    for words in reversed(requests):
        size = len(words.encode(errors="replace"))
        if words == _OLDER or (kept and size > room):
            return [_OLDER, *reversed(kept)]
        kept.append(cut(words, max(room, 200)))
        room -= size
    return kept[::-1]


def cut(text: str, size: int) -> str:
    """The head and the tail of a text that is longer than `size` bytes."""
    data = text.encode(errors="replace")
    if len(data) <= size:
        return text
    half = max(0, size // 2 - 20)
    head, tail = data[:half].decode(errors="ignore"), data[len(data) - half :]
    return f"{head}\n[... cut ...]\n{tail.decode(errors='ignore')}"


# --- without a model -------------------------------------------------------------------------


@frozen
class LocalCut:
    """What is left out, in words, and the newest rounds that stay."""

    words: str
    left_out: Messages
    newest: Messages


def local_cut(past: Messages, why: str, shares: Shares, *, media: bool) -> LocalCut:
    """Keep the newest whole rounds that fit; say what was there before them."""
    small = shortened(past)
    small = small if media else without_media(small)
    total = weight(small)
    # At most half, whatever it weighs: it was too much by the server's count, if not by ours.
    most = min(shares.newest, total // 2)
    at, done = len(small), 0
    for gap in gaps(small):
        total -= weight(small[done:gap])
        done = gap
        if total <= most:
            at = gap
            break
    newest = tuple(map(_uncounted, small[at:]))
    calls = Counter(call.name for message in past[:at] for call in message.calls)
    told = ", ".join(f"{name} ({count})" for name, count in calls.most_common())
    words = (
        f"[No summary could be written: {why}. {at:,} messages are left out here"
        f"{f', with calls of {told}' if told else ''}. Look again at what you need.]"
    )
    earlier = earlier_summary(past[:at])
    if earlier:
        words += "\n\n" + cut(earlier, int(shares.earlier * BYTES_PER_TOKEN))
    return LocalCut(words, past[:at], newest)


def _uncounted(message: Message) -> Message:
    """A reply without its usage: that counted what is no longer in front of it."""
    if message.origin is None:
        return message
    return evolve(message, origin=evolve(message.origin, usage=Usage()))


def plain(messages: Messages) -> Messages:
    """Without media for good: under new ids, so that the transcript holds the change too."""
    return tuple(
        one if one is other else evolve(one, id=derived_id(one.id, "without media"))
        for one, other in zip(without_media(messages), messages, strict=True)
    )
