"""The places in a session that one can go back to: its prompts, and the rewinds themselves.

All of the file is read, for a prompt may stand before a compaction. A rewind is an entry like the
others, a marker that hangs on an earlier one: so whoever follows the links, a resume for one,
goes on from there, and what was left is still in the file.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import IO, Any

from attrs import frozen

from interlock.errors import TranscriptError
from interlock.sessions.blocks import message_of
from interlock.sessions.entries import Entry
from interlock.sessions.rows import Damage, Row, Rows, all_rows, entry_at
from phases.world.messages import Kind

REWOUND = "conversation_rewound"


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


def points_of(path: Path) -> Points:
    """The points of the session at `path`; none where nothing was said. Raises TranscriptError."""
    damage: list[Damage] = []
    try:
        with path.open("rb") as file:
            rows = all_rows(file, damage)
            if not rows:
                return Points()
            tip = next(reversed(list(rows)))
            found = [
                point
                for row in reversed(list(_upwards(file, rows, rows[tip])))
                if (point := _point(file, rows, row)) is not None
            ]
    except FileNotFoundError:
        return Points()
    except OSError as error:
        raise TranscriptError(str(path), f"cannot be read: {error.strerror or error}") from error
    return Points(points=tuple(found), tip=tip)


def marker_of(id_: str, *, to: str | None, point: Point, tip: str | None) -> Entry:
    """The entry of a rewind to `point`: the conversation hangs on `to` from here on."""
    return {
        "type": "system",
        "subtype": REWOUND,
        "uuid": id_,
        "parentUuid": to,
        "isMeta": False,
        "level": "info",
        "content": f"Rewound to before: {point.line[:200]}",
        "rewind": {"to": point.id, "from": tip},
    }


def _upwards(file: IO[bytes], rows: Rows, row: Row) -> Iterator[Row]:
    """From the tip to the very first, through compactions."""
    seen: set[str] = set()
    at: Row | None = row
    while at is not None and at.uuid not in seen:
        seen.add(at.uuid)
        yield at
        above = at.parent
        if above is None and at.type == "system":
            above = entry_at(file, at).get("logicalParentUuid")
        at = rows.get(above) if isinstance(above, str) else None


def _point(file: IO[bytes], rows: Rows, row: Row) -> Point | None:
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
    tip = _before(file, rows, row)
    return Point(id=row.uuid, tip=tip, text=message.text or "(no words)", at=_time(entry))


def _before(file: IO[bytes], rows: Rows, row: Row) -> str | None:
    """What the conversation ended with: notes that were put in front of a prompt go with it."""
    at = row.parent
    while at is not None and at in rows and rows[at].type == "user" and not rows[at].answers:
        if not entry_at(file, rows[at]).get("isMeta"):
            break
        at = rows[at].parent
    return at


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
