"""What this server has said with a signature: thinking blocks, and the calls that followed them.

The real API recognises its own signatures by cryptography; this one remembers them. One book may
be shared by several servers, as when a session is resumed against a new one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import attrs
import orjson

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
        self._calls: defaultdict[str, list[Issued]] = defaultdict(list)
        self._paused: set[bytes] = set()  # the last blocks of replies that ended in pause_turn

    def issue(self, model: str, blocks: Iterable[Block]) -> None:
        """Remember what an answer to `model` contained."""
        blocks = tuple(blocks)
        thought = tuple(block for block in blocks if block.get("type") in KINDS and _signed(block))
        for block in thought:
            if block["type"] == "thinking":
                said = (model, str(block.get("signature")), str(block.get("thinking")))
                self._thinking.add(said)
            else:
                self._redacted.add((model, str(block.get("data"))))
        for block in blocks:
            if block.get("type") == "tool_use" and "id" in block:
                self._calls[str(block["id"])].append(Issued(model=model, thinking=thought))

    def pause(self, blocks: Iterable[Block]) -> None:
        """Remember an answer that wants to be sent back, to be gone on from."""
        self._paused.update(_bytes(block) for block in tuple(blocks)[-1:])

    def paused(self, block: Block) -> bool:
        """Whether an answer that was paused ended with this block."""
        kind = str(block.get("type"))
        theirs = kind == "server_tool_use" or kind.endswith("_tool_result")
        return theirs or _bytes(block) in self._paused

    def knows(self, model: str, block: Block) -> bool:
        """Whether the block came from this model with exactly these words."""
        if block["type"] == "thinking":
            return (model, block.get("signature"), block.get("thinking")) in self._thinking
        return (model, block.get("data")) in self._redacted

    def calls(self, call_id: str) -> tuple[Issued, ...]:
        """The thinking that came with the calls of this id; nothing for a call from elsewhere.

        Some models give an id twice: which of the calls is sent, only its thinking can tell.
        """
        return tuple(self._calls.get(call_id, ()))


def _signed(block: Block) -> bool:
    """Whether the block can be verified; what cannot, nobody has to send back."""
    return bool(block.get("signature") or block.get("data"))


def _bytes(block: Block) -> bytes:
    """A block without its cache mark and without white space at its end, as it may come back."""
    said = {key: value for key, value in block.items() if key != "cache_control"}
    if isinstance(said.get("text"), str):
        said["text"] = said["text"].rstrip()
    return orjson.dumps(said, option=orjson.OPT_SORT_KEYS)
