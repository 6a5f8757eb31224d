"""From the events of one stream to one reply. Pure: no sockets, no clock.

Nothing counts before `message_stop`. Blocks are kept by their index and may interleave; what this
code does not know is skipped (events), passed back whole (blocks) or, where it would come back
incomplete, left out whole. The JSON of a call is parsed once, strictly, from its whole text:
the SDK's own stream helper turns a cut call into one that looks finished.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Set
from itertools import groupby
from typing import Any, TypeVar

from attrs import evolve, frozen

from interlock.model.blocks import Json, OpenBlock, parsed_json, whole_unicode
from interlock.model.sse import SseEvent
from phases.world.loop import Reply
from phases.world.messages import Block, Kind, Message, Origin, ToolUse
from phases.world.ports import CallFinished, ModelEvent, RawEvent, TextDelta, ThinkingDelta
from phases.world.usage import Usage

T = TypeVar("T")
_WINDOW = "model_context_window_exceeded"
_TOOL_ID = re.compile(r"[a-zA-Z0-9_-]{1,128}\Z")
_COUNTED = (
    "input_tokens",
    "output_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
)


class ReplyError(ValueError):
    """The stream is not one of the Messages API; the text says where it leaves the protocol."""


@frozen
class StreamError:
    """An `event: error`, in the API's own words."""

    type: str | None
    message: str


class ReplyAssembler:
    """Takes the events of one stream and makes the reply they tell."""

    def __init__(
        self,
        *,
        model: str,
        new_id: Callable[[], str],
        taken: Set[str] = frozenset(),
        raw_events: bool = False,
    ) -> None:
        """`new_id` gives fresh UUIDs; `taken` holds the tool ids of the session."""
        self.started = False
        self.stopped = False
        self.error: StreamError | None = None
        self.usage = Usage()
        self.progress = 0  # grows with each event that carries content
        self._model, self._api_id = model, ""
        self._new_id, self._taken, self._raw_events = new_id, taken, raw_events
        self._blocks: dict[int, OpenBlock] = {}
        self._own_ids: set[str] = set()
        self._stop_reason: str | None = None
        self._known: dict[str, Callable[[Json], ModelEvent | None]] = {
            "content_block_delta": self._block_delta,
            "content_block_start": self._block_start,
            "content_block_stop": self._block_stop,
            "message_start": self._message_start,
            "message_delta": self._message_delta,
            "message_stop": self._message_stop,
            "error": self._failed,
        }

    def feed(self, events: Iterable[SseEvent]) -> list[ModelEvent]:
        """What the events tell, neighbouring deltas joined. Raises ReplyError.

        What follows `message_stop` or an error is not looked at.
        """
        told: list[ModelEvent] = []
        for name, data in events:
            if self.stopped or self.error is not None:
                break
            if name == "ping":
                continue
            event, odd = parsed_json(data)
            known = self._known.get(name or _type_of(event))
            if not isinstance(event, dict):
                if known is not None:
                    raise ReplyError(f"a {name} event whose data is no JSON object")
                continue
            if known is None:
                self.progress += bool(event.keys() - {"type"})
            if self._raw_events and known != self._failed:
                told.append(RawEvent(event))
            if known is not None:
                if odd:
                    self._expect_odd_text()
                said = known(event)
                if said is not None:
                    told.append(said)
        return told if self._raw_events else _joined(told)

    def reply(self, request_id: str | None = None) -> Reply:
        """The reply; only to be asked for after `message_stop`."""
        content: list[Block] = []
        calls: list[str] = []
        cut_calls: list[str] = []
        last = max(self._blocks, default=-1)
        for index in sorted(self._blocks):
            opened = self._blocks[index]
            cut = self._is_cut(opened, last=index == last)
            block = opened.finished(cut=cut)
            if block is None:
                continue
            if isinstance(block, ToolUse):
                (cut_calls if cut else calls).append(block.id)
            content.append(block)
        origin = Origin(
            api_id=self._api_id,
            model=self._model,
            stop_reason=self._stop_reason,
            usage=self.usage,
            request_id=request_id,
        )
        message = Message(
            id=self._new_id(),
            role="assistant",
            kind=Kind.REPLY,
            content=tuple(content),
            origin=origin,
        )
        return Reply(
            message=message,
            stop_reason=self._stop_reason,
            calls=tuple(calls),
            cut_calls=tuple(cut_calls),
        )

    @property
    def model(self) -> str:
        """The model that answers, in the server's words where it said."""
        return self._model

    def _is_cut(self, block: OpenBlock, *, last: bool) -> bool:
        if not block.stopped:
            return True
        if not last:
            return False
        if self._stop_reason == _WINDOW:
            # Whole or not: there is no room for its result, so it is answered by a compaction.
            return True
        return self._stop_reason == "max_tokens" and not block.whole

    def _message_start(self, event: Json) -> None:
        if self.started:
            raise ReplyError("a second message_start")
        message = _field(event, "message_start", "message", dict)
        self.started = True
        self.progress += 1
        self._api_id = str(message.get("id") or "")
        model = message.get("model")
        if isinstance(model, str) and model:
            self._model = whole_unicode(model)
        self._stop_reason = _text_or_none(message.get("stop_reason"))
        self._count(message.get("usage"))

    def _block_start(self, event: Json) -> None:
        index = self._index(event, "content_block_start")
        if index in self._blocks:
            raise ReplyError(f"a second content block {index}")
        start = _field(event, "content_block_start", "content_block", dict)
        kind = _field(start, "content_block_start", "type", str)
        self.progress += 1
        tool_id = self._fresh(start.get("id")) if kind == "tool_use" else ""
        self._blocks[index] = OpenBlock(kind=kind, start=start, tool_id=tool_id)

    def _block_delta(self, event: Json) -> ModelEvent | None:
        block = self._block(event, "content_block_delta")
        delta = _field(event, "content_block_delta", "delta", dict)
        kind = delta.get("type")
        if kind == "text_delta" and block.kind == "text":
            text = _field(delta, "text_delta", "text", str)
            self.progress += bool(text)
            shown = block.add(text)
            return TextDelta(shown) if shown else None
        if kind == "thinking_delta" and block.kind == "thinking":
            text = _field(delta, "thinking_delta", "thinking", str)
            self.progress += bool(text)
            shown = block.add(text)
            return ThinkingDelta(shown) if shown else None
        if kind == "signature_delta" and block.kind == "thinking":
            block.signature.append(_field(delta, "signature_delta", "signature", str))
            self.progress += 1
        elif kind == "citations_delta" and block.kind == "text":
            block.citations.append(_field(delta, "citations_delta", "citation", dict))
            self.progress += 1
        elif kind == "input_json_delta" and block.takes_input:
            piece = _field(delta, "input_json_delta", "partial_json", str)
            self.progress += bool(piece)
            block.json.append(piece)
        else:
            block.strange = True
            self.progress += bool(delta.keys() - {"type"})
        return None

    def _block_stop(self, event: Json) -> CallFinished | None:
        block = self._block(event, "content_block_stop")
        self.progress += 1
        block.stopped = True
        if block.kind == "tool_use" and block.whole:
            call = block.finished(cut=False)
            return CallFinished(call) if isinstance(call, ToolUse) else None
        return None

    def _message_delta(self, event: Json) -> None:
        self._begun("message_delta")
        self.progress += 1
        delta = event.get("delta")
        if isinstance(delta, dict):
            self._stop_reason = _text_or_none(delta.get("stop_reason")) or self._stop_reason
        self._count(event.get("usage"))

    def _message_stop(self, event: Json) -> None:
        self._begun("message_stop")
        self.stopped = True

    def _failed(self, event: Json) -> None:
        error = event.get("error")
        if isinstance(error, dict):
            self.error = StreamError(
                _text_or_none(error.get("type")), whole_unicode(str(error.get("message") or ""))
            )
        else:
            self.error = StreamError(None, whole_unicode(str(error or event)))

    def _count(self, usage: Any) -> None:
        """Running totals: what a later event says replaces, what it leaves out stays."""
        if not isinstance(usage, dict):
            return
        told = {
            name: usage[name]
            for name in _COUNTED
            if isinstance(usage.get(name), int) and usage[name] >= 0
        }
        self.usage = evolve(self.usage, **told)

    def _block(self, event: Json, name: str) -> OpenBlock:
        index = self._index(event, name)
        block = self._blocks.get(index)
        if block is None or block.stopped:
            raise ReplyError(f"a {name} for block {index}, which is not open")
        return block

    def _index(self, event: Json, name: str) -> int:
        self._begun(name)
        return _field(event, name, "index", int)

    def _begun(self, name: str) -> None:
        if not self.started:
            raise ReplyError(f"a {name} without message_start")

    def _fresh(self, told: Any) -> str:
        """The id of a call, or a new one where that is used already or would be refused."""
        id_ = told if isinstance(told, str) and _TOOL_ID.match(told) else None
        while id_ is None or id_ in self._own_ids or id_ in self._taken:
            id_ = f"toolu_{self._new_id().replace('-', '')[:24]}"
        self._own_ids.add(id_)
        return id_

    def _expect_odd_text(self) -> None:
        """Lone surrogates may come: half a character in each of two deltas, or a broken one."""
        for block in self._blocks.values():
            block.odd = True


def _joined(told: list[ModelEvent]) -> list[ModelEvent]:
    """Neighbouring deltas as one: what came in one piece is shown in one piece."""
    if len(told) < 2:
        return told
    joined: list[ModelEvent] = []
    for kind, run in groupby(told, type):
        if kind is TextDelta or kind is ThinkingDelta:
            joined.append(kind("".join([delta.text for delta in run])))  # type: ignore[union-attr]
        else:
            joined += run
    return joined


def _type_of(event: Json) -> str:
    """Some gateways leave the `event:` line out; the data says it too."""
    kind = event.get("type") if isinstance(event, dict) else None
    return kind if isinstance(kind, str) else ""


def _text_or_none(value: Any) -> str | None:
    return whole_unicode(value) if isinstance(value, str) and value else None


def _field(event: Mapping[str, Any], name: str, key: str, kind: type[T]) -> T:
    value = event.get(key)
    if not isinstance(value, kind):
        raise ReplyError(f"a {name} event without a proper {key!r}")
    return value
