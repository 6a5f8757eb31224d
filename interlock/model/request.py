"""The one gate to the model: here a request becomes bytes.

Its history is `turns`' affair, which checks it too, and builds it once: the next request of the
same purpose goes on where this one ended.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson
from attrs import field, frozen

from interlock.model.thinks import Thinks
from interlock.model.turns import Turns, marked
from phases.world.messages import Kind, Message, Text, encoded
from phases.world.ports import Request

CONTEXT_ID = "00000000-0000-4000-8000-0000c047e871"  # of the user context: in no transcript
DEFERRAL_ID = "00000000-0000-4000-8000-00000defe001"  # of the deferring of tools, likewise


# The tools on offer for the next request. The very same sequence as before says that nothing has
# changed; what is new stands at the end, so that what is cached stays its beginning.
# Told which tools the results in the request refer to.
ToolSource = Callable[[frozenset[str]], Sequence[Mapping[str, Any]]]


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
        self._built: dict[str, Turns] = {}
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
        built = self._built.pop(request.purpose, None) or Turns(thinking=thinks, ever=self._ever)
        built.follow(messages)
        thinking = thinks and (adaptive or not built.thoughtless)
        if built.thinking is not thinking:
            built = Turns(thinking=thinking, ever=self._ever)
            built.follow(messages)
        body = self._body(request, built, most_output, counting=counting, adaptive=adaptive)
        self._built[request.purpose] = built
        return Outgoing(
            body=body,
            thinking=thinking,
            tool_ids=self._ever,
            messages=messages,
            context_name=self._context_name,
            defers=any(map(_late, self._offered or ())) or bool(built.loads),
            doubts=self._doubts,
        )

    def leave_out_context(self) -> None:
        """Send the user context no more: the server refused it."""
        self._context = ()

    def _body(
        self,
        request: Request,
        built: Turns,
        most_output: int | None,
        *,
        counting: bool,
        adaptive: bool,
    ) -> bytes:
        offered = self._tools(built.loads)
        if offered is not self._offered:
            self._offered, self._fixed = offered, _fixed(self._system, offered)
        cap = min(request.max_tokens, most_output or request.max_tokens)
        asked = self.thinking.asked(cap, most_output, adaptive=adaptive, budgeted=built.thinking)
        answered = b"" if counting else b',"max_tokens":%d,"stream":true' % asked.cap
        head = b'{"model":%b%b%b%b,"messages":[' % (
            orjson.dumps(request.model),
            answered,
            asked.words,
            self._fixed,
        )
        parts = built.marked()
        if self._context:
            # A mark of its own: after a compaction this is what the prefix still shares.
            parts[1] = marked(parts[1])
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
    last = texts or offered
    at = next((n for n in range(-1, -len(last) - 1, -1) if texts or not _late(tools[n])), None)
    if at is not None:
        last[at] = marked(last[at])
    fixed = b""
    if texts:
        fixed += b',"system":[%b]' % b",".join(texts)
    if offered:
        fixed += b',"tools":[%b]' % b",".join(offered)
    return fixed
