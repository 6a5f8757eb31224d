"""Messages and their content blocks, as values.

A message keeps each block as the API sent it: thinking with its signature, blocks this code has
never heard of. Several messages of one role may follow each other here (one per tool result,
notes beside them); they are merged when a request is built, see `interlock/model/turns.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from functools import cached_property
from typing import Any, Literal
from uuid import NAMESPACE_OID, UUID, uuid5

import orjson
from attrs import field, frozen

from phases.world.usage import Usage

Json = Any  # what JSON can hold; parsed into types at the door, see interlock/model


@frozen
class Text:
    """`citations` say where the model has it from; they go back as they came."""

    text: str
    citations: tuple[Json, ...] = ()

    def wire(self) -> dict[str, Json]:
        said: dict[str, Json] = {"type": "text", "text": self.text}
        return {**said, "citations": list(self.citations)} if self.citations else said


@frozen
class Thinking:
    """Sent back unmodified while its tool trajectory lasts (law 6); blank `thinking` is legal."""

    thinking: str
    signature: str

    def wire(self) -> dict[str, Json]:
        return {"type": "thinking", "thinking": self.thinking, "signature": self.signature}


@frozen
class RedactedThinking:
    data: str

    def wire(self) -> dict[str, Json]:
        return {"type": "redacted_thinking", "data": self.data}


@frozen
class ToolUse:
    """A call. `problem` says why it cannot run although it is finished (broken JSON)."""

    id: str
    name: str
    input: Mapping[str, Json]
    problem: str | None = None

    def wire(self) -> dict[str, Json]:
        return {"type": "tool_use", "id": self.id, "name": self.name, "input": dict(self.input)}


@frozen
class Media:
    """An image or a document, base64 as the API wants it."""

    kind: Literal["image", "document"]
    media_type: str
    data: str = field(repr=lambda data: f"<{len(data)} base64 characters>")

    def wire(self) -> dict[str, Json]:
        source = {"type": "base64", "media_type": self.media_type, "data": self.data}
        return {"type": self.kind, "source": source}


@frozen
class ToolResult:
    """The answer to one call; `content` is empty where the tool had nothing to say.

    `loads` names tools that the API takes into the prompt from here on: then that is all it says.
    """

    tool_use_id: str
    content: tuple[Text | Media, ...]
    is_error: bool = False
    loads: tuple[str, ...] = ()

    def wire(self) -> dict[str, Json]:
        block: dict[str, Json] = {"type": "tool_result", "tool_use_id": self.tool_use_id}
        # Beside an error the API takes text only: one picture would be refused for ever.
        shown = [part for part in self.content if not (self.is_error and isinstance(part, Media))]
        said = [part.wire() for part in shown if not is_blank(part)]
        if self.loads and not self.is_error:
            said = [{"type": "tool_reference", "tool_name": name} for name in self.loads]
        if said:
            block["content"] = said
        if self.is_error:
            block["is_error"] = True
            block.setdefault("content", [Text("(the tool failed without a word)").wire()])
        return block

    @property
    def text(self) -> str:
        return "\n".join(part.text for part in self.content if isinstance(part, Text))


@frozen
class Opaque:
    """A block this code does not know, passed back as it came."""

    raw: Mapping[str, Json]

    def wire(self) -> dict[str, Json]:
        return dict(self.raw)


Block = Text | Thinking | RedactedThinking | ToolUse | ToolResult | Media | Opaque


class Kind(StrEnum):
    """What a message is to the people and programs that look at a transcript."""

    PROMPT = "prompt"
    REPLY = "reply"
    RESULT = "result"
    NOTE = "note"  # put in by the harness, for the model only: isMeta in the transcript
    SUMMARY = "summary"  # stands for all that came before it
    INTERRUPTION = "interruption"


@frozen(kw_only=True)
class Origin:
    """Where a reply came from: the facts of its HTTP answer."""

    api_id: str
    model: str
    stop_reason: str | None
    usage: Usage
    request_id: str | None = None


@frozen(kw_only=True)
class Message:
    """One entry of the history. `id` is a UUID; equal ids mean the same message."""

    id: str
    role: Literal["user", "assistant"]
    kind: Kind
    content: tuple[Block, ...]
    source: str | None = None  # of a tool result: the id of the reply that asked
    origin: Origin | None = None  # of a reply
    replaces: str | None = None  # of a mended message: the id of the one it stands for

    @property
    def meta(self) -> bool:
        return self.kind is Kind.NOTE

    @property
    def text(self) -> str:
        return "".join(block.text for block in self.content if isinstance(block, Text))

    @property
    def calls(self) -> tuple[ToolUse, ...]:
        return tuple(block for block in self.content if isinstance(block, ToolUse))

    @cached_property
    def wire(self) -> bytes:
        """The content blocks as JSON, comma-separated, blank text left out; made once."""
        blocks = (block.wire() for block in self.content if not is_blank(block))
        return b",".join(encoded(block) for block in blocks)


def is_blank(block: object) -> bool:
    """Whether a block is a text the API would refuse: nothing but white space."""
    return isinstance(block, Text) and not block.text.strip()


def encoded(value: Json) -> bytes:
    """JSON bytes, valid Unicode whatever comes in: a lone surrogate becomes U+FFFD."""
    try:
        return orjson.dumps(value)
    except TypeError:
        # A lone surrogate, or an integer beyond 64 bits: rare, so the slow way is good enough.
        import json

        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def derived_id(base: str, tag: str) -> str:
    """An id that a pure function can give: the same for the same `base` id and `tag`.

    Also where a foreign transcript has ids that are no UUIDs.
    """
    try:
        return str(uuid5(UUID(base), tag))
    except ValueError:
        return str(uuid5(NAMESPACE_OID, f"{base} {tag}"))


def note(after: str, tag: str, text: str) -> Message:
    """A message from the harness to the model, with an id derived from the one it follows."""
    return Message(id=derived_id(after, tag), role="user", kind=Kind.NOTE, content=(Text(text),))
