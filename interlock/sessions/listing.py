"""Sessions that lie on disk, found by id, by name, or by a part of their title.

Of each file only the head and the tail are read, so that a folder of large transcripts is listed
at once. Titles are looked for where other programs write them too.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import orjson
from attrs import frozen

from interlock.errors import SessionNotFound
from interlock.home import project_key

_ENDS = 1 << 16  # bytes of a file that are read at each end
_TITLES = {"custom-title": "customTitle", "ai-title": "aiTitle", "summary": "summary"}
_MOST_LISTED = 5


@frozen(kw_only=True)
class Listed:
    """One session. `words` are all that it may be found by beside its id; the first is shown."""

    session_id: str
    path: Path
    changed: float  # seconds since the epoch
    words: tuple[str, ...]
    cwd: str | None

    @property
    def title(self) -> str:
        return " ".join(self.words[0].split())[:80] if self.words else "(no title)"

    def __str__(self) -> str:
        return f"{self.session_id} ({self.title})"


def sessions_in(home: Path, cwd: Path) -> Iterator[Listed]:
    """The sessions of the working folder, the newest first; each is read when it is its turn."""
    yield from _in_order((home / "projects" / project_key(cwd)).glob("*.jsonl"))


def newest_session(home: Path, cwd: Path) -> Listed:
    """The one of the working folder that was written last. Raises SessionNotFound."""
    found = next(sessions_in(home, cwd), None)
    if found is None:
        raise SessionNotFound("there is no session to continue in this folder; begin one")
    return found


def session_named(home: Path, cwd: Path, name: str) -> Listed:
    """The session that `name` means: an id, its beginning, a title, a part of one.

    Only those of the working folder: elsewhere the agent would work on other files than it
    remembers. Raises SessionNotFound where none fits, or several do.
    """
    wanted = name.strip().casefold()
    if not wanted:
        raise SessionNotFound(f"say which session to resume; {_newest(home, cwd)}")
    here = list(sessions_in(home, cwd))
    ways: Sequence[Callable[[Listed], bool]] = (
        lambda one: one.session_id == wanted,
        lambda one: one.session_id.startswith(wanted),
        lambda one: wanted in (words.casefold() for words in one.words[:1]),
        lambda one: any(wanted in words.casefold() for words in one.words),
    )
    for fits in ways:
        found = [one for one in here if fits(one)]
        if len(found) == 1:
            return found[0]
        if found:
            raise SessionNotFound(f"{name!r} fits {len(found)} sessions: {_told(found)}")
    elsewhere = next(_in_order((home / "projects").glob(f"*/{_quoted(wanted)}.jsonl")), None)
    if elsewhere is not None and elsewhere.cwd is not None:
        raise SessionNotFound(f"session {wanted} belongs to {elsewhere.cwd}: resume it there")
    raise SessionNotFound(f"no session here is {name!r}; {_newest(home, cwd)}")


def _newest(home: Path, cwd: Path) -> str:
    found = list(islice(sessions_in(home, cwd), _MOST_LISTED))
    return f"the newest are: {_told(found)}" if found else "there is none in this folder"


def _told(found: Sequence[Listed]) -> str:
    more = f" and {len(found) - _MOST_LISTED} more" if len(found) > _MOST_LISTED else ""
    return ", ".join(str(one) for one in found[:_MOST_LISTED]) + more


def _quoted(name: str) -> str:
    """As part of a pattern: an id holds nothing but these."""
    return "".join(letter for letter in name if letter.isalnum() or letter == "-") or "-"


def _in_order(paths: Iterator[Path]) -> Iterator[Listed]:
    found = []
    for path in paths:
        try:
            uuid.UUID(path.stem)
            found.append((path.stat().st_mtime_ns, path))
        except (ValueError, OSError):
            continue  # a file of something else, or gone since
    for changed, path in sorted(found, reverse=True):
        listed = _listed(path, changed / 1e9)
        if listed is not None:
            yield listed


def _listed(path: Path, changed: float) -> Listed | None:
    """None for a file in which nothing was said, or that a sub-agent wrote."""
    try:
        head, tail = _ends(path)
    except OSError:
        return None
    first = [entry for line in head if (entry := _entry(line)) is not None]
    if not first and not tail:
        return None
    if any(entry.get("isSidechain") is True for entry in first[:1]):
        return None
    titles: dict[str, str] = {}
    for entry in (*first, *(entry for line in tail if (entry := _entry(line)) is not None)):
        kind = str(entry.get("type"))
        words = entry.get(_TITLES.get(kind, ""))
        if isinstance(words, str) and words.strip():
            titles[kind] = words  # the last one counts
        elif kind == "last-prompt" and isinstance(entry.get("lastPrompt"), str):
            titles[kind] = entry["lastPrompt"]
    prompt = next((said for entry in first if (said := _prompt(entry)) is not None), None)
    order = (*(titles.get(kind) for kind in _TITLES), prompt, titles.get("last-prompt"))
    cwd = next((entry["cwd"] for entry in first if isinstance(entry.get("cwd"), str)), None)
    words_of = tuple(dict.fromkeys(words for words in order if words))
    if not words_of and not any(entry.get("type") in ("user", "assistant") for entry in first):
        return None
    return Listed(session_id=path.stem, path=path, changed=changed, words=words_of, cwd=cwd)


def _ends(path: Path) -> tuple[list[bytes], list[bytes]]:
    """Lines at the beginning and at the end of a file; none twice."""
    with path.open("rb") as file:
        head = file.read(_ENDS)
        size = os.fstat(file.fileno()).st_size
        if size <= _ENDS:
            return head.splitlines(), []
        file.seek(max(_ENDS, size - _ENDS))
        return head.splitlines(), file.read(_ENDS).splitlines()


def _entry(line: bytes) -> dict[str, Any] | None:
    try:
        entry = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None  # cut at the border of what was read, or damaged
    return entry if isinstance(entry, dict) else None


def _prompt(entry: dict[str, Any]) -> str | None:
    """What the user said, if this is it."""
    if entry.get("type") != "user" or entry.get("isMeta") or entry.get("isCompactSummary"):
        return None
    body = entry.get("message")
    content = body.get("content") if isinstance(body, dict) else None
    if isinstance(content, str):
        return content.strip() or None
    texts = [
        str(block.get("text"))
        for block in content or ()
        if isinstance(block, dict) and block.get("type") == "text"
    ]
    return " ".join(texts).strip() or None
