"""The prompt cache, simulated: which beginning of a request was written by an earlier one.

A request is a row of blocks (tools, system, messages). A block with cache_control is a
breakpoint: the prefix up to it is written, and the longest prefix written before is read, if it
ends at most 20 blocks before some breakpoint. Entries never age. Tokens are bytes / 4.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import attrs
import orjson

LOOKBACK = 20  # blocks; the real API looks no further back from a breakpoint
_IMAGE_TOKENS = 1600  # what a picture of the largest useful size costs, whatever its bytes
_BYTES_PER_TOKEN = 4


@attrs.frozen(kw_only=True)
class Prompt:
    """A request as the cache sees it."""

    marks: tuple[int, ...]  # for each block, a hash of everything up to its end
    sizes: tuple[int, ...]  # for each block, the tokens up to its end
    breakpoints: tuple[int, ...]  # positions of blocks with cache_control

    @property
    def tokens(self) -> int:
        return self.sizes[-1] if self.sizes else 0


@attrs.frozen(kw_only=True)
class Reading:
    """How the input tokens of one request divide."""

    read: int  # found in the cache
    written: int  # put into the cache now
    fresh: int  # after the last breakpoint: input_tokens

    @property
    def share(self) -> float:
        """The part that was read, 0 to 1."""
        return self.read / total if (total := self.read + self.written + self.fresh) else 0.0

    def usage(self, output_tokens: int) -> dict[str, int]:
        """The usage of the Messages API."""
        return {
            "input_tokens": self.fresh,
            "cache_creation_input_tokens": self.written,
            "cache_read_input_tokens": self.read,
            "output_tokens": output_tokens,
        }


class PromptCache:
    """What earlier requests wrote; one per server."""

    def __init__(self, minimum: int = 0) -> None:
        self._minimum = minimum  # tokens below which nothing is cached
        self._written: set[int] = set()

    def settle(self, prompt: Prompt) -> Reading:
        """Look the request up, then write its breakpoints."""
        stops = [at for at in prompt.breakpoints if prompt.sizes[at] >= self._minimum]
        if not stops:
            return Reading(read=0, written=0, fresh=prompt.tokens)
        found = self._longest(prompt, stops)
        self._written.update(prompt.marks[at] for at in stops)
        read = prompt.sizes[found] if found >= 0 else 0
        end = max(prompt.sizes[stops[-1]], read)
        return Reading(read=read, written=end - read, fresh=prompt.tokens - end)

    def _longest(self, prompt: Prompt, stops: list[int]) -> int:
        for stop in reversed(stops):
            for at in range(stop, max(stop - LOOKBACK, 0) - 1, -1):
                if prompt.marks[at] in self._written:
                    return at
        return -1


def render(body: Mapping[str, Any]) -> Prompt:
    """A request's blocks as hashes, sizes and breakpoints, in one pass."""
    marks: list[int] = []
    sizes: list[int] = []
    breakpoints: list[int] = []
    mark, total = hash(body.get("model")), 0
    # Changing these leaves tools and system in the cache, but not the messages.
    bent = orjson.dumps([body.get("thinking"), body.get("tool_choice")])
    for section, block in _row(body):
        if section == "messages":
            mark = hash((mark, bent))
            continue
        bare, stop = _bare(block)
        data = orjson.dumps(bare)
        mark = hash((mark, section, data))
        total += _weight(bare, len(data))
        if stop:
            breakpoints.append(len(marks))
        marks.append(mark)
        sizes.append(total // _BYTES_PER_TOKEN)
    if body.get("cache_control") and marks and (len(marks) - 1) not in breakpoints:
        breakpoints.append(len(marks) - 1)
    return Prompt(marks=tuple(marks), sizes=tuple(sizes), breakpoints=tuple(breakpoints))


def _row(body: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for tool in _objects(body.get("tools")):
        if not tool.get("defer_loading"):  # in no prompt until a result refers to it
            yield "tools", tool
    for block in _blocks(body.get("system") or ()):
        yield "system", block
    yield "messages", None
    for message in _objects(body.get("messages")):
        for block in _blocks(message.get("content") or ()):
            yield message.get("role", ""), block


def _blocks(content: Any) -> list[dict[str, Any]]:
    # A string is short for one text block, so both forms hit the same entry.
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return _objects(content)


def _objects(found: Any) -> list[dict[str, Any]]:
    # Without the rules of validate.py anything may come.
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _bare(block: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """The block without its cache_control, and whether it had one, inside included."""
    stop = False
    if block.get("cache_control"):
        block = {key: block[key] for key in block if key != "cache_control"}
        stop = True
    inner = block.get("content")
    if isinstance(inner, list) and any("cache_control" in one for one in _objects(inner)):
        stripped = [
            {key: one[key] for key in one if key != "cache_control"} for one in _objects(inner)
        ]
        return {**block, "content": stripped}, True
    return block, stop


def _weight(block: dict[str, Any], size: int) -> int:
    for one in (block, *_inner(block)):
        if one.get("type") in ("image", "document") and isinstance(one.get("source"), dict):
            size += _IMAGE_TOKENS * _BYTES_PER_TOKEN - len(one["source"].get("data") or "")
    return max(size, 0)


def _inner(block: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    inner = block.get("content")
    return tuple(_objects(inner)) if block.get("type") == "tool_result" else ()
