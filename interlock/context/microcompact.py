"""Level 3 of 5: forget what old tools said, keep that they were called.

Only of tools that can be run again, and never of the last turns. Goes by the ids of calls and by
nothing that results hold, so level 1 may have cut them before. In its cached form the history
stays as it is and the server is asked to forget: `context_edits` is what the request then says.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set

from attrs import evolve, frozen

from interlock.context.gauge import held
from interlock.context.level import Room, Trimmed
from interlock.context.trajectories import recent, same_until
from phases.world.limits import Limits
from phases.world.messages import Block, Json, Message, Text, ToolResult, ToolUse
from phases.world.ports import Clock
from phases.world.size import estimate

RERUNNABLE = frozenset({"Read", "Grep", "Glob", "LS", "Bash", "WebFetch", "WebSearch"})
CLEARED = "[cleared:"  # how the marker begins

# What a call is known by, the most telling argument first.
_ARGUMENTS = ("file_path", "command", "pattern", "url", "query", "path", "description", "prompt")
_SHOWN = 80  # characters of an argument
_NEAR_THE_END = 2  # there half the usual growth is enough for the next clearing


@frozen(kw_only=True)
class Cleared:
    """What was done already, and when it was looked at."""

    left: tuple[Message, ...] = ()  # the history as it was left
    done: int = 0  # how many of these are settled; at a reply, or 0
    floor: int | None = None  # tokens that the last clearing left
    asked_at: float | None = None


class Microcompact:
    """`cached` leaves the clearing to the server; `clock` lets it see that the cache is cold."""

    name = "microcompact"

    def __init__(
        self,
        *,
        tools: Set[str] = RERUNNABLE,
        clock: Clock | None = None,
        cached: bool = False,
    ) -> None:
        self._tools = tools
        self._clock = clock
        self._cached = cached
        self.recall(Cleared())

    @property
    def memory(self) -> Cleared:
        """What it goes by beside the loop."""
        return Cleared(
            left=self._last, done=self._done, floor=self._floor, asked_at=self._asked_at
        )

    def recall(self, memory: Cleared) -> None:
        self._last, self._done = memory.left, memory.done
        self._floor, self._asked_at = memory.floor, memory.asked_at

    async def apply(self, messages: tuple[Message, ...], room: Room) -> Trimmed:
        cold = self._cache_is_cold(room.loop.run.limits)
        if self._cached or not (cold or self._is_due(room)):
            return Trimmed(messages=messages)
        limits = room.loop.run.limits
        end = recent(messages, limits.microcompact_keep_turns)
        start = self._done if same_until(self._last, messages) >= self._done else 0
        # What is kept must be written to the cache anew, which costs more than ten times what
        # reading it does: to clear little again and again is dearer than a summary now and then.
        if not cold and _turns(messages, start, end) < limits.microcompact_least_turns:
            return Trimmed(messages=messages)
        changed = cleared(messages, start, end, self._tools)
        self._done = max(start, end)
        left = messages
        freed = 0
        if changed:
            freed = sum(estimate(messages[at]) - estimate(one) for at, one in changed.items())
            left = tuple(changed.get(at, one) for at, one in enumerate(messages))
            self._floor = max(0, held(room) - freed)
        self._last = left
        return Trimmed(messages=left, freed=freed)

    def _is_due(self, room: Room) -> bool:
        """Whether the window is full enough, and fuller than after the last time.

        Each clearing costs the cached prefix from there on: so it waits for a good many tokens.
        """
        limits, size = room.loop.run.limits, held(room)
        if self._floor is not None and size < self._floor:
            self._floor = size  # something heavier has made room since
        if size < limits.microcompact_share * limits.context_window:
            return False
        least = limits.microcompact_growth * limits.context_window
        if size >= limits.collapse_commit_share * limits.context_window:
            least /= _NEAR_THE_END  # else the next level takes more than this one would
        return self._floor is None or size >= self._floor + least

    def _cache_is_cold(self, limits: Limits) -> bool:
        """Whether the last request is so long ago that there is no cached prefix to lose."""
        if self._clock is None:
            return False
        before, self._asked_at = self._asked_at, self._clock.time()
        return before is not None and self._asked_at - before > limits.cache_lifetime_s


def _turns(messages: Sequence[Message], start: int, end: int) -> int:
    return sum(messages[at].role == "assistant" for at in range(start, end))


def cleared(
    messages: Sequence[Message], start: int, end: int, tools: Set[str] = RERUNNABLE
) -> dict[int, Message]:
    """Those between `start` and `end` that change where old outputs of `tools` are forgotten."""
    calls: dict[str, ToolUse] = {}
    changed: dict[int, Message] = {}
    for at in range(start, end):
        message = messages[at]
        calls.update((call.id, call) for call in message.calls if call.name in tools)
        if message.role == "user" and any(_answer(block, calls) for block in message.content):
            content = tuple(_forgotten(block, calls) for block in message.content)
            if content != message.content:
                changed[at] = evolve(message, content=content)
    return changed


def context_edits(limits: Limits, offered: Iterable[str]) -> Mapping[str, Json]:
    """The same, as the request's `context_management`: the server forgets, the history stays.

    `offered` are the names of all tools: those that cannot be run again are left alone.
    """
    edit: dict[str, Json] = {
        "type": "clear_tool_uses_20250919",
        "trigger": {
            "type": "input_tokens",
            "value": round(limits.microcompact_share * limits.context_window),
        },
        "keep": {"type": "tool_uses", "value": limits.microcompact_keep_turns},
        "clear_at_least": {
            "type": "input_tokens",
            "value": round(limits.microcompact_growth * limits.context_window),
        },
    }
    kept = sorted(set(offered) - RERUNNABLE)
    if kept:
        edit["exclude_tools"] = kept
    return {"edits": [edit]}


def named(call: ToolUse) -> str:
    """A call in a few words: its tool and its main argument."""
    texts: Iterator[str] = (
        value
        for key in _ARGUMENTS
        if isinstance(value := call.input.get(key), str) and value.strip()
    )
    words = " ".join(next(texts, "").split())
    return f"{call.name}({words if len(words) <= _SHOWN else words[: _SHOWN - 1] + '…'})"


def _answer(block: Block, calls: Mapping[str, ToolUse]) -> bool:
    return isinstance(block, ToolResult) and block.tool_use_id in calls


def _forgotten(block: Block, calls: Mapping[str, ToolUse]) -> Block:
    if not isinstance(block, ToolResult) or block.tool_use_id not in calls:
        return block
    what = named(calls[block.tool_use_id])
    marker = Text(f"{CLEARED} old output of {what}; run it again if you need it]")
    only_text = all(isinstance(part, Text) for part in block.content)
    if only_text and len(block.text) <= len(marker.text):
        return block  # a word is not worth a longer one in its place
    return evolve(block, content=(marker,))
