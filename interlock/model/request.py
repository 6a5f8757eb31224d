"""The one gate to the model: here a request becomes bytes, and here it is checked.

Neighbouring messages of one role become one API message; results stand first, in the order of
their calls; what says nothing is left out; each call has exactly one result. What breaks these
laws is a bug elsewhere and raises HistoryError: sent, it would be refused for ever.

A history is built once. The next request of the same purpose goes on where this one ended, so
the work grows with what is new, not with the history.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import orjson
from attrs import Factory, define, field, frozen

from interlock.model.layout import Place, answers_of, has_thought, ordered, runs
from interlock.model.thinks import Thinks
from phases.world.messages import (
    Kind,
    Media,
    Message,
    Opaque,
    Text,
    ToolResult,
    encoded,
    is_blank,
)
from phases.world.ports import Request

_MARK = b',"cache_control":{"type":"ephemeral"}'
_MARKED_TURNS = 2  # the newest user turn, and the one before: its mark was written last time
_LEAST_BUDGET = 1024  # tokens; the API refuses less
CONTEXT_ID = "00000000-0000-4000-8000-0000c047e871"  # of the user context: in no transcript
DEFERRAL_ID = "00000000-0000-4000-8000-00000defe001"  # of the deferring of tools, likewise


# The tools on offer for the next request. The very same sequence as before says that nothing has
# changed; what is new stands at the end, so that what is cached stays its beginning.
# Told which tools the results in the request refer to.
ToolSource = Callable[[frozenset[str]], Sequence[Mapping[str, Any]]]


class HistoryError(Exception):
    """The history breaks a law of the API. The bug is with whoever made it."""

    def __init__(self, message_id: str, problem: str) -> None:
        self.message_id, self.problem = message_id, problem
        super().__init__(f"message {message_id}: {problem}")


@frozen(kw_only=True)
class Outgoing:
    """A request as it leaves, and what it was made of (see refusals.py for the way back)."""

    body: bytes
    thinking: bool
    # Of every call so far, also of those no longer in the request.
    tool_ids: set[str] = field(eq=False)
    messages: tuple[Message, ...]
    context_name: str  # the user context, in words for a person
    defers: bool  # it holds tools that are loaded by references, or references to such
    # Messages of requests that were refused for no named reason; none since a reply came.
    doubts: set[str] = field(eq=False)


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
class _Built:
    """What the last request of one purpose looked like, without its cache marks."""

    thinking: bool
    ever: set[str]  # the tool ids of all requests of the adapter
    messages: tuple[Message, ...] = ()
    turns: list[_Turn] = Factory(list)
    parts: list[bytes] = Factory(list)
    tool_ids: set[str] = Factory(set)


class Gate:
    """Builds the requests of one adapter. `thinking` may be replaced between two prompts."""

    def __init__(
        self,
        *,
        system: Sequence[str] = (),
        tools: Sequence[Mapping[str, Any]] | ToolSource = (),
        thinking_budget: int | None = None,
        thinking: Thinks | None = None,
        user_context: str | None = None,
        context_name: str = "the user context",
    ) -> None:
        """`tools` that may change are asked for with each request: see `ToolSource`.

        `thinking_budget` alone is short for `thinking`.

        `user_context` is the first thing the user says in every request, and never changes.

        `context_name` says in words what it is, for a person to whom it matters if it is refused.
        """
        self._context_name = context_name
        self.thinking = thinking or Thinks(budget=thinking_budget)
        self._context: tuple[Message, ...] = ()
        if user_context is not None and user_context.strip():
            words = (Text(user_context),)
            self._context = (Message(id=CONTEXT_ID, role="user", kind=Kind.NOTE, content=words),)
        self._system = tuple(system)
        self._tools: ToolSource = tools if callable(tools) else _never_changing(tools)
        self._offered: Sequence[Mapping[str, Any]] | None = None
        self._fixed = b""
        self._built: dict[str, _Built] = {}
        # A call that a compaction took out of the requests still stands in the transcript.
        self._ever: set[str] = set()
        self._doubts: set[str] = set()

    def build(
        self,
        request: Request,
        *,
        most_output: int | None = None,
        counting: bool = False,
        adaptive: bool = False,
    ) -> Outgoing:
        """The bytes of a request. Raises HistoryError.

        `most_output` is what the model can write at most, where that is known. `counting` makes
        it a question for the number of its tokens. An `adaptive` model thinks whether it is
        asked to or not, and takes no budget for it.
        """
        messages = (*self._context, *request.messages) if self._context else request.messages
        # Taken out while it is worked on: after an error, or beside another request of the same
        # purpose, a half-built one must not be found.
        adaptive = adaptive and not self.thinking.off
        thinks = adaptive or self.thinking.most is not None
        built = self._built.pop(request.purpose, None) or _Built(thinking=thinks, ever=self._ever)
        _extend(built, messages)
        thinking = thinks and (adaptive or not _thoughtless(built.turns))
        if built.thinking is not thinking:
            built = _Built(thinking=thinking, ever=self._ever)
            _extend(built, messages)
        body = self._body(request, built, most_output, counting=counting, adaptive=adaptive)
        self._built[request.purpose] = built
        return Outgoing(
            body=body,
            thinking=thinking,
            tool_ids=self._ever,
            messages=messages,
            context_name=self._context_name,
            defers=any(map(_late, self._offered or ())) or any(turn.loads for turn in built.turns),
            doubts=self._doubts,
        )

    def leave_out_context(self) -> None:
        """Send the user context no more: the server refused it."""
        self._context = ()

    def _body(
        self,
        request: Request,
        built: _Built,
        most_output: int | None,
        *,
        counting: bool,
        adaptive: bool,
    ) -> bytes:
        referred = frozenset(name for turn in built.turns for name in turn.loads)
        offered = self._tools(referred)
        if offered is not self._offered:
            self._offered, self._fixed = offered, _fixed(self._system, offered)
        cap, thinking = min(request.max_tokens, most_output or request.max_tokens), b""
        if adaptive:
            thinking = b',"thinking":{"type":"adaptive"%b}' % self.thinking.shown
        elif self.thinking.off:
            thinking = b',"thinking":{"type":"disabled"}'
        elif built.thinking and (budget := self.thinking.most) is not None:
            if cap <= budget:
                cap += budget
            if most_output is not None and cap > most_output:
                cap = most_output
                budget = max(_LEAST_BUDGET, min(budget, cap - 1))
            thinking = b',"thinking":{"type":"enabled","budget_tokens":%d%b}' % (
                budget,
                self.thinking.shown,
            )
        answered = b"" if counting else b',"max_tokens":%d,"stream":true' % cap
        head = b'{"model":%b%b%b%b,"messages":[' % (
            orjson.dumps(request.model),
            answered,
            thinking,
            self._fixed,
        )
        parts = _marked(built)
        if self._context:
            # A mark of its own: after a compaction this is what the prefix still shares.
            parts[1] = parts[1][:-1] + _MARK + b"}"
        return b"".join((head, *parts, b"]}"))


def _never_changing(tools: Sequence[Mapping[str, Any]]) -> ToolSource:
    return lambda referred: tools


def _late(tool: Mapping[str, Any]) -> bool:
    return bool(tool.get("defer_loading"))


def _fixed(system: Sequence[str], tools: Sequence[Mapping[str, Any]]) -> bytes:
    """System prompt and tools: the same bytes while they stay, with one mark at their end."""
    texts = [encoded(Text(text).wire()) for text in system if text.strip()]
    offered = [encoded(dict(tool)) for tool in tools]
    # Tools stand before the system prompt in the cached prefix, so its mark covers them.
    # What is deferred is in no prefix and takes no mark; it may stand anywhere among the others.
    marked = texts or offered
    at = next((n for n in range(-1, -len(marked) - 1, -1) if texts or not _late(tools[n])), None)
    if at is not None:
        marked[at] = marked[at][:-1] + _MARK + b"}"
    fixed = b""
    if texts:
        fixed += b',"system":[%b]' % b",".join(texts)
    if offered:
        fixed += b',"tools":[%b]' % b",".join(offered)
    return fixed


def _extend(built: _Built, messages: tuple[Message, ...]) -> None:
    """Bring `built` from its own history to this one, keeping what they share."""
    at = _rewind(built, messages)
    for start, end, members in runs(messages, at):
        _add(built, start, end, members)
    built.messages = messages
    if not built.turns:
        raise HistoryError(messages[-1].id if messages else "none", "there is nothing to say")
    last = built.turns[-1]
    if last.role == "assistant" and last.calls:
        raise HistoryError(last.members[-1].id, f"no results for {', '.join(last.calls)}")
    if last.role == "assistant" and not _paused(last.members[-1]):
        raise HistoryError(last.members[-1].id, "nobody has spoken since the last reply")


def _paused(message: Message) -> bool:
    """Whether the server paused this reply and wants it sent back, to go on from there."""
    return message.origin is not None and message.origin.stop_reason == "pause_turn"


def _rewind(built: _Built, messages: tuple[Message, ...]) -> int:
    """Forget the turns that the new history does not share; where to go on in it."""
    old = built.messages
    same = len(old)
    if messages[:same] != old:  # identical messages are equal at the cost of a pointer
        same = min(same, len(messages))
        pairs = zip(old, messages, strict=False)
        same = next((at for at, (one, other) in enumerate(pairs) if one is not other), same)
    turns, cut = built.turns, None
    # A turn that ends where the common part does may grow, so it is built anew too.
    while turns and turns[-1].end >= same:
        cut = turns.pop()
        built.tool_ids.difference_update(cut.calls)
    if cut is not None:
        del built.parts[cut.offset :]
    return turns[-1].end if turns else 0


def _add(built: _Built, start: int, end: int, members: tuple[Message, ...]) -> None:
    turns, parts = built.turns, built.parts
    before = turns[-1] if turns else None
    role = members[0].role
    thought: bool | None
    if before is None and role != "user":
        raise HistoryError(members[0].id, "the first message is not the user's")
    if role == "assistant":
        asked: tuple[str, ...] = ()
        calls = _new_calls(members, built.tool_ids)
        thought = (before.thought if before else None) or any(map(has_thought, members))
    else:
        asked, calls = (before.calls if before else ()), ()
        _check_answers(before, asked, members)
        thought = before.thought if before and asked else None
    places = ordered(members, asked, thinking=built.thinking)
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
    built.tool_ids.update(calls)
    built.ever.update(calls)


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


def _thoughtless(turns: list[_Turn]) -> bool:
    """Whether the open tool trajectory has no thinking, as after a change of the model.

    The API refuses thinking there until the user has spoken again.
    """
    last = turns[-1] if turns[-1].role == "user" else turns[-2]
    return last.thought is False


def _marked(built: _Built) -> list[bytes]:
    """The parts of the messages with the cache marks of this request put in."""
    parts, turns = built.parts.copy(), built.turns
    users = [turn for turn in turns[-2 * _MARKED_TURNS :] if turn.role == "user"]
    for turn in users[-_MARKED_TURNS:]:
        if turn.markable:
            parts[turn.tail] = parts[turn.tail][:-1] + _MARK + b"}"
    last = turns[-1]
    if last.role == "assistant":
        # A beginning for the model to go on from; it may not end in white space.
        places = ordered(last.members[-1:], (), thinking=built.thinking)
        ending = places[-1].block
        if isinstance(ending, Text) and ending.text != ending.text.rstrip():
            blocks = [place.block for place in places[:-1]]
            blocks.append(Text(ending.text.rstrip()))
            parts[last.tail] = b",".join([encoded(block.wire()) for block in blocks])
    return parts
