"""What the two ends of a transcript tell of its session: all that a list of sessions needs.

Files are large and many, so nothing between is read. Titles and tags are looked for where other
programs write them too.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson
from attrs import frozen

from interlock.regular_files import open_regular

ENDS = 1 << 16  # bytes of a file that are read at each end; other readers look no further either
_TITLES = {"custom-title": "customTitle", "ai-title": "aiTitle", "summary": "summary"}
# How a note in place of a prompt begins: an interrupt was there.
INTERRUPTED = ("[Request interrupted by user", "[The user interrupted")
_TITLE = 80  # characters of a title that are shown


@frozen(kw_only=True)
class Listed:
    """One session. `words` are all that it may be found by beside its id; the first is shown."""

    session_id: str
    path: Path
    changed: float  # seconds since the epoch
    size: int
    words: tuple[str, ...]
    cwd: str | None
    name: str | None = None  # that somebody gave it
    first_prompt: str | None = None
    prompts: int | None = None  # None: the file is too large to tell
    began: str | None = None  # the first time stamp, as it stands there
    git_branch: str | None = None
    tag: str | None = None
    forked_from: str | None = None  # the session that it began as a copy of
    cost_state: Mapping[str, Any] | None = None  # what another program wrote of its cost

    @property
    def title(self) -> str:
        return one_line(self.words[0]) if self.words else "(no title)"

    def __str__(self) -> str:
        return f"{self.session_id} ({self.title})"


def listed(path: Path, changed: float) -> Listed | None:
    """None for a file in which nothing was said, that a sub-agent wrote, or that is gone."""
    try:
        head, tail, size = _ends(path)
    except OSError:
        return None
    first, last = list(_entries(head)), list(_entries(tail))
    if not first and not last:
        return None
    if any(entry.get("isSidechain") is True for entry in first[:1]):
        return None
    told: dict[str, Mapping[str, Any]] = {}
    for entry in (*first, *last):
        told[str(entry.get("type"))] = entry  # the last one of a kind counts
    prompt = next((said for entry in first if (said := prompt_of(entry)) is not None), None)
    titles = [_text(told.get(kind, {}), key) for kind, key in _TITLES.items()]
    order = (*titles, prompt, _text(told.get("last-prompt", {}), "lastPrompt"))
    words = tuple(dict.fromkeys(each for each in order if each))
    if not words and not {"user", "assistant"} & told.keys():
        return None
    origin = next((entry["forkedFrom"] for entry in first if "forkedFrom" in entry), None)
    forked_from = _text(origin, "sessionId") if isinstance(origin, dict) else None
    return Listed(
        session_id=path.stem,
        path=path,
        changed=changed,
        size=size,
        words=words,
        cwd=_first(first, "cwd"),
        name=titles[0],
        first_prompt=prompt,
        prompts=_prompts(path, first, forked_from, whole=not tail),
        began=_first((*first, *last), "timestamp"),
        git_branch=_first((*reversed(last), *reversed(first)), "gitBranch"),
        tag=_text(told.get("tag", {}), "tag"),
        forked_from=forked_from,
        cost_state=told.get("cost-state"),
    )


def prompt_of(entry: Mapping[str, Any]) -> str | None:
    """What the user said, if this is it."""
    if entry.get("type") != "user" or entry.get("isMeta") or entry.get("isCompactSummary"):
        return None
    if entry.get("kind", "prompt") != "prompt" or entry.get("isSidechain"):
        return None
    body = entry.get("message")
    content = body.get("content") if isinstance(body, dict) else None
    if not isinstance(content, str):
        blocks = [each for each in content or () if isinstance(each, dict)]
        if any(each.get("type") == "tool_result" for each in blocks):
            return None
        content = " ".join(str(each.get("text")) for each in blocks if each.get("type") == "text")
    said = content.strip()
    return None if said.startswith(INTERRUPTED) else said or None


def one_line(words: str, most: int = _TITLE) -> str:
    """Words as one line that does not fill the screen."""
    line = " ".join(words.split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def _prompts(
    path: Path, first: Iterable[Mapping[str, Any]], forked_from: str | None, *, whole: bool
) -> int | None:
    if whole:
        return sum(prompt_of(entry) is not None for entry in first)
    # Each prompt leaves the trace of its run beside the transcript; a copy has not those of what
    # it was copied from.
    runs = sum(1 for _ in path.with_suffix("").glob("runs/*.trace.jsonl"))
    return None if forked_from is not None or not runs else runs


def _ends(path: Path) -> tuple[list[bytes], list[bytes], int]:
    """Lines at the beginning and at the end of a file, none twice; and its size."""
    with open_regular(path) as file:
        head = file.read(ENDS)
        size = os.fstat(file.fileno()).st_size
        if size <= ENDS:
            return head.splitlines(), [], size
        file.seek(max(ENDS, size - ENDS))
        return head.splitlines(), file.read(ENDS).splitlines(), size


def _entries(lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    for line in lines:
        try:
            entry = orjson.loads(line)
        except orjson.JSONDecodeError:
            continue  # cut at the border of what was read, or damaged
        if isinstance(entry, dict):
            yield entry


def _first(entries: Iterable[Mapping[str, Any]], key: str) -> str | None:
    return next((said for entry in entries if (said := _text(entry, key)) is not None), None)


def _text(entry: Mapping[str, Any], key: str) -> str | None:
    words = entry.get(key)
    return words if isinstance(words, str) and words.strip() else None
