"""A history as the turns of the Messages API, built once and checked as it grows.

Neighbouring messages of one role become one API message; results stand first, in the order of
their calls; what says nothing is left out; each call has exactly one result. What breaks these
laws is a bug elsewhere and raises HistoryError: sent, it would be refused for ever. Knows nothing
of what stands around the history in a request.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import Factory, define

from interlock.model.layout import Place, answers_of, has_thought, ordered, runs
from phases.world.messages import Media, Message, Opaque, Text, ToolResult, encoded, is_blank

_MARK = b',"cache_control":{"type":"ephemeral"}'
_MARKED_TURNS = 2  # the newest user turn, and the one before: its mark was written last time


def marked(block: bytes) -> bytes:
    """A block, or a tool, at whose end the server keeps what it has read so far."""
    return block[:-1] + _MARK + b"}"


class HistoryError(Exception):
    """The history breaks a law of the API. The bug is with whoever made it."""

    def __init__(self, message_id: str, problem: str) -> None:
        self.message_id, self.problem = message_id, problem
        super().__init__(f"message {message_id}: {problem}")


@define
class _Turn:
    """Neighbouring messages of one role, built."""

    role: str
    start: int  # index of its first message in the history
    end: int  # of the first message after it
    offset: int  # of its first part
    tail: int  # the part that ends with its last block
    markable: bool
    members: tuple[Message, ...]
    calls: tuple[str, ...]
    # Of the tool trajectory it belongs to: whether it holds thinking; None outside of one.
    thought: bool | None
    loads: tuple[str, ...]  # tools that its results refer to


@define
class Turns:
    """The turns of one history, without cache marks. With another one it goes on where the two
    part, so the work grows with what is new, not with the history."""

    thinking: bool  # whether thinking is sent along
    ever: set[str]  # the tool ids of all histories that were ever sent
    messages: tuple[Message, ...] = ()
    turns: list[_Turn] = Factory(list)
    parts: list[bytes] = Factory(list)
    tool_ids: set[str] = Factory(set)

    def follow(self, messages: tuple[Message, ...]) -> None:
        """Go over to this history. After a HistoryError there is no going on."""
        at = self._rewind(messages)
        for start, end, members in runs(messages, at):
            self._add(start, end, members)
        self.messages = messages
        if not self.turns:
            raise HistoryError(messages[-1].id if messages else "none", "there is nothing to say")
        last = self.turns[-1]
        if last.role == "assistant" and last.calls:
            raise HistoryError(last.members[-1].id, f"no results for {', '.join(last.calls)}")
        if last.role == "assistant" and not _paused(last.members[-1]):
            raise HistoryError(last.members[-1].id, "nobody has spoken since the last reply")

    @property
    def loads(self) -> frozenset[str]:
        """The tools that results refer to."""
        return frozenset(name for turn in self.turns for name in turn.loads)

    @property
    def thoughtless(self) -> bool:
        """Whether the open tool trajectory has no thinking, as after a change of the model.

        The API refuses thinking there until the user has spoken again.
        """
        last = self.turns[-1] if self.turns[-1].role == "user" else self.turns[-2]
        return last.thought is False

    def marked(self) -> list[bytes]:
        """The parts of the messages with the cache marks of this request put in."""
        parts, turns = self.parts.copy(), self.turns
        users = [turn for turn in turns[-2 * _MARKED_TURNS :] if turn.role == "user"]
        for turn in users[-_MARKED_TURNS:]:
            if turn.markable:
                parts[turn.tail] = marked(parts[turn.tail])
        last = turns[-1]
        if last.role == "assistant":
            # A beginning for the model to go on from; it may not end in white space.
            places = ordered(last.members[-1:], (), thinking=self.thinking)
            ending = places[-1].block
            if isinstance(ending, Text) and ending.text != ending.text.rstrip():
                blocks = [place.block for place in places[:-1]]
                blocks.append(Text(ending.text.rstrip()))
                parts[last.tail] = b",".join([encoded(block.wire()) for block in blocks])
        return parts

    def _rewind(self, messages: tuple[Message, ...]) -> int:
        """Forget the turns that the new history does not share; where to go on in it."""
        old = self.messages
        same = len(old)
        if messages[:same] != old:  # identical messages are equal at the cost of a pointer
            same = min(same, len(messages))
            pairs = zip(old, messages, strict=False)
            same = next((at for at, (one, other) in enumerate(pairs) if one is not other), same)
        turns, cut = self.turns, None
        # A turn that ends where the common part does may grow, so it is built anew too.
        while turns and turns[-1].end >= same:
            cut = turns.pop()
            self.tool_ids.difference_update(cut.calls)
        if cut is not None:
            del self.parts[cut.offset :]
        return turns[-1].end if turns else 0

    def _add(self, start: int, end: int, members: tuple[Message, ...]) -> None:
        turns, parts = self.turns, self.parts
        before = turns[-1] if turns else None
        role = members[0].role
        thought: bool | None
        if before is None and role != "user":
            raise HistoryError(members[0].id, "the first message is not the user's")
        if role == "assistant":
            asked: tuple[str, ...] = ()
            calls = _new_calls(members, self.tool_ids)
            thought = (before.thought if before else None) or any(map(has_thought, members))
        else:
            asked, calls = (before.calls if before else ()), ()
            _check_answers(before, asked, members)
            thought = before.thought if before and asked else None
        places = ordered(members, asked, thinking=self.thinking)
        offset = len(parts)
        parts.append(b'%b{"role":"%b","content":[' % (b"," if turns else b"", role.encode()))
        for part in _rendered(places):
            parts += (part, b",")
        parts[-1] = b"]}"
        turns.append(
            _Turn(
                role=role,
                start=start,
                end=end,
                offset=offset,
                tail=len(parts) - 2,
                markable=not isinstance(places[-1].block, Opaque),
                members=members,
                calls=calls,
                thought=thought,
                loads=_loads(members),
            )
        )
        self.tool_ids.update(calls)
        self.ever.update(calls)


def _paused(message: Message) -> bool:
    """Whether the server paused this reply and wants it sent back, to go on from there."""
    return message.origin is not None and message.origin.stop_reason == "pause_turn"


def _loads(members: tuple[Message, ...]) -> tuple[str, ...]:
    return tuple(
        name
        for message in members
        for block in message.content
        if isinstance(block, ToolResult) and not block.is_error
        for name in block.loads
    )


def _new_calls(members: tuple[Message, ...], known: set[str]) -> tuple[str, ...]:
    calls: list[str] = []
    for message in members:
        for block in message.content:
            if isinstance(block, ToolResult | Media):
                raise HistoryError(message.id, f"{type(block).__name__} said by the assistant")
        for call in message.calls:
            if call.id in known or call.id in calls:
                raise HistoryError(message.id, f"a second call with the id {call.id}")
            calls.append(call.id)
    return tuple(calls)


def _check_answers(
    before: _Turn | None, asked: tuple[str, ...], members: tuple[Message, ...]
) -> None:
    answered: set[str] = set()
    for message in members:
        if message.calls:
            raise HistoryError(message.id, f"the user calls the tool {message.calls[0].name}")
        for id_ in answers_of(message):
            if id_ not in asked:
                raise HistoryError(message.id, f"a result for {id_}, which nothing just asked for")
            if id_ in answered:
                raise HistoryError(message.id, f"a second result for {id_}")
            answered.add(id_)
    missing = [id_ for id_ in asked if id_ not in answered]
    if missing and before is not None:
        raise HistoryError(before.members[-1].id, f"no results for {', '.join(missing)}")


def _rendered(places: Sequence[Place]) -> Iterator[bytes]:
    """The blocks as JSON; those of a whole message from the bytes that it keeps."""
    at = 0
    while at < len(places):
        message, end = places[at].message, at + 1
        while end < len(places) and places[end].message is message:
            end += 1
        whole = sum(not is_blank(block) for block in message.content)
        if end - at == whole and all(
            one.index < other.index
            for one, other in zip(places[at:end], places[at + 1 : end], strict=False)
        ):
            yield message.wire
        else:
            yield b",".join([encoded(place.block.wire()) for place in places[at:end]])
        at = end
