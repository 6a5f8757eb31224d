"""Whether a history is fit to leave: the questions the mender asks, in the same order.

What was found sound is remembered, so a request asks about what is new and not about the whole
history. Mends nothing: that is `mending.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from attrs import Factory, define, frozen

from interlock.model.layout import answers_of, runs
from interlock.model.looks import Looks, media_in
from phases.world.messages import (
    Block,
    Media,
    Message,
    Opaque,
    RedactedThinking,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    is_blank,
)

MOST_PICTURES = 100  # in one request; the Messages API's limit
MANY_PICTURES = 20  # with more than these, each must be smaller
MANY_SIDE = 2000  # pixels; what "smaller" is
# Characters of base64. A request may have 32 MB; text that fills a window has no more than 5.
MOST_MEDIA = 26 * 1024 * 1024

TOOL_ID = re.compile(r"[a-zA-Z0-9_-]{1,128}\Z")
TOOL_NAME = TOOL_ID
THOUGHT = (Thinking, RedactedThinking)
_USERS = ("container_upload", "document", "image", "search_result")
_ASSISTANTS = ("server_tool_use",)
# Of these the reader of transcripts makes blocks of their own, unless something is amiss.
_AMISS = ("redacted_thinking", "thinking", "tool_result", "tool_use")

Foreign = Callable[[Message], bool]


def fits(block: Block, role: str) -> bool:
    """Whether the API takes such a block from this role at all."""
    match block:
        case ToolUse():
            return role == "assistant" and bool(TOOL_NAME.match(block.name))
        case Thinking() | RedactedThinking():
            return role == "assistant"
        case ToolResult() | Media():
            return role == "user"
        case Opaque(raw):
            return "cache_control" not in raw and opaque_fits(raw.get("type"), raw, role)
        case Text():
            return True


def opaque_fits(kind: object, raw: object, role: str) -> bool:
    if kind == "text" and isinstance(raw, dict):
        return bool(str(raw.get("text") or "").strip())
    if kind in _USERS:
        return role == "user"
    theirs = kind in _ASSISTANTS or str(kind).endswith("_tool_result")
    return kind not in _AMISS and (role == "assistant" or not theirs)


def names_of(message: Message) -> tuple[str, ...]:
    """The ids under which the message may not come again: a mended one has two."""
    return (message.id,) if message.replaces is None else (message.id, message.replaces)


def unsigned(block: Block) -> bool:
    """Thinking that nobody could verify; its words may be blank, its signature not."""
    if isinstance(block, Thinking):
        return not block.signature
    return isinstance(block, RedactedThinking) and not block.data


def said_blocks(content: Iterable[Block]) -> list[Block]:
    return [block for block in content if not is_blank(block)]


def opens_badly(blocks: Sequence[Block]) -> bool:
    """Whether an assistant turn calls tools and thinks, but not first of all."""
    return (
        any(isinstance(block, ToolUse) for block in blocks)
        and any(isinstance(block, THOUGHT) for block in blocks)
        and not isinstance(blocks[0], THOUGHT)
    )


@frozen(kw_only=True)
class _Turn:
    """A turn that was found sound; numbers are of all turns up to it."""

    role: str
    end: int  # index of the first message after it
    ids: tuple[str, ...]
    calls: tuple[str, ...]
    pictures: int
    widest: int
    size: int


_NONE = _Turn(role="", end=0, ids=(), calls=(), pictures=0, widest=0, size=0)


@define
class Sound:
    """How much of a history is known to be sound."""

    looks: Looks
    messages: tuple[Message, ...] = ()
    _turns: list[_Turn] = Factory(list)
    _ids: set[str] = Factory(set)
    _tool_ids: set[str] = Factory(set)

    def shared(self, messages: tuple[Message, ...]) -> int:
        """How many messages the history begins with that were looked at before."""
        old = self.messages
        if messages[: len(old)] == old:  # the very same messages cost a pointer each
            return len(old)
        pairs = zip(old, messages, strict=False)
        most = min(len(old), len(messages))
        return next((at for at, (one, two) in enumerate(pairs) if one is not two), most)

    def covers(self, messages: tuple[Message, ...], foreign: Foreign) -> bool:
        """Whether all of it is sound; what is, is remembered either way."""
        at = self._rewind(self.shared(messages))
        self.messages = messages
        for start, end, members in runs(messages, at):
            if not self._add(messages[start:end], members, end, foreign):
                self.messages = messages[:start]
                return False
        last = self._turns[-1] if self._turns else _NONE
        # An empty prompt behind a reply: the reply would be taken for a beginning to go on from.
        unheard = last.role == "assistant" and messages[-1].role == "user"
        return bool(self._turns) and not last.calls and not unheard

    def _rewind(self, same: int) -> int:
        # A turn that ends where the common part does may grow, so it is looked at again.
        while self._turns and self._turns[-1].end >= same:
            turn = self._turns.pop()
            self._ids.difference_update(turn.ids)
            self._tool_ids.difference_update(turn.calls)
        return self._turns[-1].end if self._turns else 0

    def _add(
        self,
        every: tuple[Message, ...],
        members: tuple[Message, ...],
        end: int,
        foreign: Foreign,
    ) -> bool:
        before = self._turns[-1] if self._turns else _NONE
        role = members[0].role
        ids = tuple(name for message in every for name in names_of(message))
        calls = tuple(call.id for message in members for call in message.calls)
        shown = [one for message in members for one in media_in(message.content)]
        looks = [self.looks.of(one) for one in shown]
        turn = _Turn(
            role=role,
            end=end,
            ids=ids,
            calls=calls,
            pictures=before.pictures + sum(look.is_picture for look in looks),
            widest=max([before.widest, *(look.widest for look in looks)]),
            size=before.size + sum(look.size for look in looks),
        )
        whole = len(set(ids)) == len(ids) and self._ids.isdisjoint(ids)
        if not (
            whole
            and (role == "user" or before is not _NONE)
            and all(fits(block, role) for message in every for block in message.content)
            and self._paired(before, calls, members)
            and _thinks_well(members, foreign)
            and all(self.looks.of(one).sent is one for one in shown)
            and _media_fit(turn)
        ):
            return False
        self._turns.append(turn)
        self._ids.update(ids)
        self._tool_ids.update(calls)
        return True

    def _paired(self, before: _Turn, calls: tuple[str, ...], members: tuple[Message, ...]) -> bool:
        if members[0].role == "user":
            answers = [id_ for message in members for id_ in answers_of(message)]
            return sorted(answers) == sorted(before.calls)
        fresh = len(set(calls)) == len(calls) and self._tool_ids.isdisjoint(calls)
        return fresh and all(TOOL_ID.match(call) for call in calls)


def _thinks_well(members: tuple[Message, ...], foreign: Foreign) -> bool:
    if members[0].role == "user":
        return True
    for message in members:
        thought = [block for block in message.content if isinstance(block, THOUGHT)]
        if not thought:
            continue
        if any(map(unsigned, thought)) or foreign(message) or ends_thinking(message.content):
            return False
    return not opens_badly(said_blocks(b for message in members for b in message.content))


def ends_thinking(content: Iterable[Block]) -> bool:
    said = said_blocks(content)
    return bool(said) and isinstance(said[-1], THOUGHT)


def _media_fit(turn: _Turn) -> bool:
    if turn.pictures > MANY_PICTURES and turn.widest > MANY_SIDE:
        return False
    return turn.pictures <= MOST_PICTURES and turn.size <= MOST_MEDIA
