"""Level 1 of 5: no result, and no turn's results together, may take more than their share.

What is over goes whole into a file that the model can page through; its beginning and end stay.
Runs first: level 3 goes by the ids of calls, and these do not change (see pipeline.py).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from attrs import evolve

from interlock.context.level import Room, Trimmed
from interlock.context.surroundings import Disk, Shelf
from interlock.context.trajectories import same_until
from phases.world.limits import Limits
from phases.world.messages import Media, Message, Text, ToolResult
from phases.world.size import BYTES_PER_TOKEN, estimate

# However small the window is set, so much of it may be one turn's results.
_WINDOW_SHARE = 0.5
# Characters of a cut result beside the folder's name: its note, and a little of what it said. No
# cap is lower, else what was cut would be over it once more.
_LEAST = 500


class ResultBudget:
    """`folder` is where the full texts go; it is made when it is needed."""

    name = "result_budget"

    def __init__(self, folder: Path, shelf: Shelf | None = None) -> None:
        self._folder = folder
        self._shelf = shelf or Disk()
        self.left: tuple[Message, ...] = ()  # as it was left: in it there is nothing to do

    async def apply(self, messages: tuple[Message, ...], room: Room) -> Trimmed:
        limits = room.loop.run.limits
        start = same_until(self.left, messages)
        while 0 < start < len(messages) and messages[start - 1].role == "user":
            start -= 1  # results of one turn are counted together
        changed: dict[int, Message] = {}
        for turn in _turns(messages, start):
            changed |= self._trimmed(messages, turn, limits)
        freed = 0
        left = messages
        if changed:
            freed = sum(estimate(messages[at]) - estimate(one) for at, one in changed.items())
            left = tuple(changed.get(at, one) for at, one in enumerate(messages))
        self.left = left
        return Trimmed(messages=left, freed=freed)

    def _trimmed(
        self, messages: Sequence[Message], turn: Sequence[int], limits: Limits
    ) -> dict[int, Message]:
        """Those messages of a turn that have to change."""
        sizes = [
            len(block.text)
            for at in turn
            for block in messages[at].content
            if isinstance(block, ToolResult)
        ]
        cap = _cap(sizes, limits, least=_LEAST + len(str(self._folder)))
        if cap is None:
            return {}
        return {
            at: self._cut(messages[at], cap)
            for at in turn
            if any(_too_long(block, cap) for block in messages[at].content)
        }

    def _cut(self, message: Message, cap: int) -> Message:
        content = tuple(
            self._shortened(block, cap)
            if isinstance(block, ToolResult) and _too_long(block, cap)
            else block
            for block in message.content
        )
        return evolve(message, content=content)

    def _shortened(self, result: ToolResult, cap: int) -> ToolResult:
        text = result.text
        where = self._kept(result, text)
        room = cap - len(where) - 60  # the words around it
        head, tail = text[: room - room // 2], text[len(text) - room // 2 :]
        left_out = len(text) - len(head) - len(tail)
        note = f"[... {left_out:,} characters left out here; {where} ...]"
        pictures = [part for part in result.content if isinstance(part, Media)]
        return evolve(result, content=(Text(f"{head}\n\n{note}\n\n{tail}"), *pictures))

    def _kept(self, result: ToolResult, text: str) -> str:
        """Where the whole is, in words."""
        path = self._saved_before(text)
        if path is None:
            path = self._folder / _file_name(result.tool_use_id)
            problem = self._shelf.put(path, text)
            if problem is not None:
                return f"the whole could not be saved: {problem[:200]}"
        return f"the whole is in {path}: page through it with Read (offset and limit)"

    def _saved_before(self, text: str) -> Path | None:
        """The file that an earlier cut of the same text names, if it is there."""
        named = re.search(re.escape(str(self._folder)) + r"/[\w-]+\.txt", text)
        if named is None:
            return None
        path = Path(named[0])
        return path if self._shelf.has(path) else None


def _turns(messages: Sequence[Message], start: int) -> Iterator[list[int]]:
    """The user's turns: indexes of neighbouring messages, those before `start` left out."""
    turn: list[int] = []
    for at in range(start, len(messages)):
        if messages[at].role == "user":
            turn.append(at)
        elif turn:
            yield turn
            turn = []
    if turn:
        yield turn


def _cap(sizes: Sequence[int], limits: Limits, *, least: int) -> int | None:
    """How long each result may be, in characters; None where all are short enough.

    Short results keep what they have; the long ones share what is left evenly.
    """
    in_all = min(
        limits.turn_output_cap, round(limits.context_window * _WINDOW_SHARE * BYTES_PER_TOKEN)
    )
    cap = min(limits.tool_output_cap, in_all)
    if sum(min(size, cap) for size in sizes) > in_all:
        left = in_all
        for place, size in enumerate(sorted(sizes)):
            fair = left // (len(sizes) - place)
            if size > fair:
                cap = min(cap, fair)
                break
            left -= size
    cap = max(cap, least)
    return cap if any(size > cap for size in sizes) else None


def _too_long(block: object, cap: int) -> bool:
    return isinstance(block, ToolResult) and len(block.text) > cap


def _file_name(call_id: str) -> str:
    safe = re.sub(r"[^\w-]", "_", call_id, flags=re.ASCII)[:80]
    if safe != call_id:  # two ids must not share a file
        safe += "-" + hashlib.sha256(call_id.encode(errors="replace")).hexdigest()[:8]
    return f"{safe}-whole.txt"
