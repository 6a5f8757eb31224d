"""What this server has said with a signature: thinking blocks, and the calls that followed them.

The real API recognises its own signatures by cryptography; this one remembers them. One book may
be shared by several servers, as when a session is resumed against a new one.
"""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from interlock.scripted.replies import Block

KINDS = ("thinking", "redacted_thinking")


@attrs.frozen(kw_only=True)
class Issued:
    """The thinking that came with a tool call."""

    model: str
    thinking: tuple[Block, ...]


class SignatureBook:
    """Signatures issued so far."""

    def __init__(self) -> None:
        self._thinking: set[tuple[str, str, str]] = set()
        self._redacted: set[tuple[str, str]] = set()
        self._calls: dict[str, Issued] = {}

    def issue(self, model: str, blocks: Iterable[Block]) -> None:
        """Remember what an answer to `model` contained."""
        blocks = tuple(blocks)
        thought = tuple(block for block in blocks if block.get("type") in KINDS)
        for block in thought:
            if block["type"] == "thinking":
                said = (model, str(block.get("signature")), str(block.get("thinking")))
                self._thinking.add(said)
            else:
                self._redacted.add((model, str(block.get("data"))))
        for block in blocks:
            if block.get("type") == "tool_use" and "id" in block:
                self._calls[str(block["id"])] = Issued(model=model, thinking=thought)

    def knows(self, model: str, block: Block) -> bool:
        """Whether the block came from this model with exactly these words."""
        if block["type"] == "thinking":
            return (model, block.get("signature"), block.get("thinking")) in self._thinking
        return (model, block.get("data")) in self._redacted

    def call(self, call_id: str) -> Issued | None:
        """The thinking that came with a call; None for a call from elsewhere."""
        return self._calls.get(call_id)
