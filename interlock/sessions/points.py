"""The places in a session that one can go back to: its prompts, and the rewinds themselves.

All of the file is read, line by line, for a prompt may stand before a compaction. A rewind is an
entry like the others, a marker that hangs on an earlier one: so whoever follows the links, as a
resume does, goes on from there, and what was left is still in the file.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import IO, Any

from attrs import frozen

from interlock.errors import TranscriptError
from interlock.regular_files import open_regular
from interlock.sessions.blocks import message_of
from interlock.sessions.entries import Entry
from interlock.sessions.reading import above_of
from interlock.sessions.rows import Damage, Row, Rows, all_rows, entry_at, numbered
from phases.world.messages import Kind

REWOUND = "conversation_rewound"
_TEXT = 2_000  # characters of a prompt that are kept: there may be thousands
_BACK = "Rewound to before: "
_UNDONE = "Undid the rewind to before: "
_AGAIN = "Rewound again to before: "
_UNDOING = {_BACK: _UNDONE, _UNDONE: _AGAIN, _AGAIN: _UNDONE}


@frozen(kw_only=True)
class Point:
    """Just before a prompt, or just before a rewind: then `rewind` is true, and going there
    undoes it. `tip` is the entry that the conversation then ended with; None: nothing was said.
    """

    id: str
    tip: str | None
    text: str
    rewind: bool = False
    at: float | None = None  # seconds since the epoch

    @property
    def line(self) -> str:
        return " ".join(self.text.split())


@frozen(kw_only=True)
class Points:
    """Those of the conversation as it stands, in order, and its last entry."""

    points: tuple[Point, ...] = ()
    tip: str | None = None
    damage: tuple[str, ...] = ()  # what could not be read, in words


def points_of(path: Path) -> Points:
    """The points of the session at `path`; none where nothing was said. Raises TranscriptError."""
    damage: list[Damage] = []
    try:
        with open_regular(path) as file:
            rows = all_rows(file, damage)
            tip = next(reversed(list(rows)), None)
            line = () if tip is None else _upwards(rows, rows[tip], damage)
            found = [
                point
                for row in reversed(list(line))
                if (point := _point(file, rows, row, damage)) is not None
            ]
            told = numbered(file, damage, path.name)
    except FileNotFoundError:
        return Points()
    except OSError as error:
        raise TranscriptError(str(path), f"cannot be read: {error.strerror or error}") from error
    return Points(points=tuple(found), tip=tip, damage=told)


def marker_of(id_: str, *, to: str | None, point: Point, tip: str | None) -> Entry:
    """The entry of a rewind to `point`: the conversation hangs on `to` from here on."""
    return {
        "type": "system",
        "subtype": REWOUND,
        "uuid": id_,
        "parentUuid": to,
        "isMeta": False,
        "level": "info",
        "content": _words(point)[:200],
        "rewind": {"to": point.id, "from": tip},
    }


def _words(point: Point) -> str:
    """What a rewind to `point` is called: one of a rewind undoes that, and says so once."""
    line = point.line
    for said, now in _UNDOING.items() if point.rewind else ():
        if line.startswith(said):
            return f"{now}{line.removeprefix(said)}"
    return f"{_BACK}{line}"


def _upwards(rows: Rows, row: Row, damage: Sequence[Damage]) -> Iterator[Row]:
    """From the tip to the very first, through compactions, as a resume goes around damage."""
    seen: set[str] = set()
    at: Row | None = row
    while at is not None and at.uuid not in seen:
        seen.add(at.uuid)
        yield at
        at = above_of(at, rows, damage, beyond=True)


def _point(file: IO[bytes], rows: Rows, row: Row, damage: Sequence[Damage]) -> Point | None:
    if row.type == "system" and row.leaves is not None:
        entry = entry_at(file, row)
        text = str(entry.get("content"))
        return Point(id=row.uuid, tip=row.leaves, text=text, rewind=True, at=_time(entry))
    if row.type != "user" or row.answers or row.summary:
        return None
    entry = entry_at(file, row)
    try:
        message = message_of([entry], {})
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
    if message.kind is not Kind.PROMPT:
        return None
    tip = _before(file, rows, row, damage)
    text = message.text[:_TEXT] or "(no words)"
    return Point(id=row.uuid, tip=tip, text=text, at=_time(entry))


def _before(file: IO[bytes], rows: Rows, row: Row, damage: Sequence[Damage]) -> str | None:
    """What the conversation ended with: notes that were put in front of a prompt go with it."""
    at = above_of(row, rows, damage)
    while at is not None and at.type == "user" and not at.answers:
        if not entry_at(file, at).get("isMeta"):
            break
        at = above_of(at, rows, damage)
    return None if at is None else at.uuid


def _time(entry: dict[str, Any]) -> float | None:
    stamp = entry.get("timestamp")
    try:
        return datetime.fromisoformat(stamp).timestamp() if isinstance(stamp, str) else None
    except ValueError:
        return None


def when(point: Point) -> str:
    """The time of day, or the day, in local time."""
    if point.at is None:
        return ""
    moment = time.localtime(point.at)
    today = time.localtime()[:3] == moment[:3]
    return time.strftime("%H:%M" if today else "%Y-%m-%d", moment)
