"""What is put back beside a summary: things that the model would else have to look up again.

Plan, todo list and memory files have their sources elsewhere and speak this protocol; here are
the files that were read last. A keepsake is as things are now, not as they once were.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Protocol

import anyio
from attrs import frozen

from interlock.regular_files import read_regular
from phases.world.limits import Limits
from phases.world.messages import Message, Text, note
from phases.world.size import BYTES_PER_TOKEN

_INTRODUCTION = "[Put back after the summary, as it is now:]"
_LARGEST = 2_000_000  # bytes of a file that is worth opening
_LEAST = 200  # tokens; a shorter piece of a file tells nothing


@frozen
class Keepsake:
    """One thing, under a title."""

    title: str
    text: str


class Keepsakes(Protocol):
    """A source of keepsakes; asked once for each summary."""

    async def keepsakes(self, budget: int) -> Sequence[Keepsake]:
        """The most important first. What is over `budget` (tokens) will be left out."""
        ...


@frozen
class RecentFiles:
    """The files that were read or written last; `recent` gives their paths, the last one first."""

    recent: Callable[[], Sequence[Path]]
    limits: Limits
    hides: Callable[[Path], bool]  # they were read when they still might be

    async def keepsakes(self, budget: int) -> Sequence[Keepsake]:
        readable = [path for path in self.recent() if not self.hides(path)]
        paths = readable[: self.limits.keepsake_files]
        most = budget // max(1, len(paths))
        return [found for path in paths if (found := await _looked_at(path, most)) is not None]


async def _looked_at(path: Path, most: int) -> Keepsake | None:
    """The file, cut at `most` tokens; None where it is gone, or nothing for a reader of text."""
    try:
        data = await anyio.to_thread.run_sync(read_regular, path, _LARGEST + 1)
        if len(data) > _LARGEST:
            return None
        text = data.decode()
    except (OSError, UnicodeDecodeError):
        return None
    if "\0" in text or not text.strip():
        return None
    return Keepsake(f"File {path}", _cut(text, most))


def _cut(text: str, tokens: int) -> str:
    room = int(tokens * BYTES_PER_TOKEN)
    data = text.encode(errors="replace")
    if len(data) <= room:
        return text
    head = data[:room].decode(errors="ignore")
    return f"{head}\n[cut here; read the file for the rest]"


async def gathered(sources: Iterable[Keepsakes], budget: int, after: str) -> tuple[Message, ...]:
    """One note with the keepsakes that fit into `budget` tokens; none, where there are none."""
    blocks: list[Text] = []
    for source in sources:
        if budget < _LEAST:
            break
        for one in await source.keepsakes(budget):
            block = Text(f"{one.title}:\n{_cut(one.text, budget)}")
            cost = round(len(block.text.encode(errors="replace")) / BYTES_PER_TOKEN)
            if cost > budget + _LEAST:
                continue
            blocks.append(block)
            budget -= cost
    if not blocks:
        return ()
    first = note(after, "keepsakes", _INTRODUCTION)
    return (Message(id=first.id, role="user", kind=first.kind, content=(*first.content, *blocks)),)
