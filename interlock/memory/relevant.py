"""Which files of the memory folder may help with a prompt: chosen by words, or by a small model.

Asked for beside the first request and read when it is there (`interlock/inbox/prefetch.py`), so
nobody waits for it. Knows files and words; who the small model is comes from outside.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path

import anyio
from attrs import frozen

from interlock.front_matter import fronted
from interlock.likeness import Likened, likest
from interlock.memory.auto import AutoMemory
from interlock.regular_files import read_regular

MOST_FILES = 100  # looked at; the newest ones
MOST_FOUND = 3
LARGEST = 4_000  # bytes told of each: the model can read the rest
Choose = Callable[[str, Sequence["Topic"]], Awaitable[Sequence[str] | None]]


@frozen(kw_only=True)
class Topic:
    """One file of the memory folder."""

    path: Path
    name: str  # below the folder
    about: str  # one line: what its front matter says of it, or its first line
    text: str
    size: int


async def relevant(memory: AutoMemory, prompt: str, choose: Choose | None) -> tuple[Topic, ...]:
    """The topics that may help, the best first; none where nothing fits.

    `choose` gives the names a small model chose, or None where it could not say.
    """
    topics = await anyio.to_thread.run_sync(topics_of, memory)
    if not topics or not prompt.strip():
        return ()
    names = await choose(prompt, topics) if choose is not None else None
    if names is None:
        return by_words(prompt, topics)
    by_name = {topic.name: topic for topic in topics}
    return tuple(by_name[name] for name in dict.fromkeys(names) if name in by_name)[:MOST_FOUND]


def topics_of(memory: AutoMemory) -> tuple[Topic, ...]:
    """Every topic file that can be read."""
    found = []
    for path in memory.topics()[:MOST_FILES]:
        try:
            data = read_regular(path)
        except OSError:
            continue
        if b"\0" not in data:
            found.append(_topic(path, str(path.relative_to(memory.folder)), data))
    return tuple(found)


def _topic(path: Path, name: str, data: bytes) -> Topic:
    front = fronted(data.decode("utf-8-sig", "replace"))
    lines = (line.lstrip("#").strip() for line in front.body.splitlines())
    about = front.text("description") or next((line for line in lines if line), "")
    text = front.body.strip().encode()[:LARGEST].decode(errors="ignore")
    if len(front.body.strip().encode()) > LARGEST:
        text += f"\n(the first {LARGEST:,} of {len(data):,} bytes; Read the file for the rest)"
    return Topic(path=path.resolve(), name=name, about=about[:200], text=text, size=len(data))


def by_words(prompt: str, topics: Sequence[Topic]) -> tuple[Topic, ...]:
    """Those that share words with the prompt which few topics have."""
    texts = [Likened(head=f"{topic.name} {topic.about}", body=topic.text) for topic in topics]
    return tuple(topics[at] for at in likest(prompt, texts, most=MOST_FOUND))


def manifest(topics: Iterable[Topic]) -> str:
    """The topics as a list for whoever chooses, a line each."""
    return "\n".join(f"- {topic.name}: {topic.about}" for topic in topics)
