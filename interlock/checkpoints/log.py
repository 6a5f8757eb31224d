"""The log of a session's file changes: what each file held before, and what the agent left.

Append-only JSON lines beside the contents. A line is on the disk before the change it tells of is
made, so after a crash the file holds either its `before` or its `after`. A line that cannot be
read is passed over and told: then its change looks like somebody else's, and is left alone.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson
from attrs import field, frozen

from interlock.sessions.transcript import private_folder
from phases.world.messages import Json, encoded

_MOST_NAMED = 5  # lines, where more are damaged
_MEANS = "a rewind knows nothing of the changes that were told there"


@frozen(kw_only=True)
class Kept:
    """One change of one file. `before` and `after` are digests; None: there is no file."""

    point: str
    path: Path  # a real one
    before: str | None
    after: str | None
    mode: int | None = None  # of the file before
    lost: str | None = None  # why the content before is not kept
    folders: tuple[Path, ...] = ()  # that the change made, the outermost first


@frozen(kw_only=True)
class Log:
    """All changes in order, and where among them each point stands: how many came before it."""

    changes: tuple[Kept, ...] = ()
    points: Mapping[str, int] = field(factory=dict)
    damage: str | None = None  # what cannot be read of it, and what that means

    def since(self, point: str) -> tuple[Kept, ...] | None:
        """The changes from a point on; None if it is not known here."""
        at = self.points.get(point)
        return None if at is None else self.changes[at:]


def read_log(path: Path) -> Log:
    """The log at `path`, an empty one if there is none. Raises OSError."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return Log()
    changes: list[Kept] = []
    points: dict[str, int] = {}
    bad: list[int] = []
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        entry = _entry(line)
        point = entry.get("point")
        change = _change(entry) if "path" in entry else None
        if not isinstance(point, str) or ("path" in entry and change is None):
            bad.append(number)
        if isinstance(point, str):
            points.setdefault(point, len(changes))
            changes += [change] if change is not None else []
    return Log(changes=tuple(changes), points=points, damage=_told(path, bad))


def damage_of(path: Path) -> str | None:
    """What of the log at `path` cannot be read, in one line. Never raises."""
    try:
        return read_log(path).damage
    except OSError as error:
        return f"{path} cannot be read ({error.strerror or error}): {_MEANS}"


def append(path: Path, entry: Mapping[str, Json]) -> None:
    """Write a line, and see to it that it is on the disk. Raises OSError."""
    private_folder(path.parent)
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
    file = os.open(path, flags, 0o600)
    try:
        size = os.fstat(file).st_size
        # A crash may have cut the last line: ours must not be glued to it.
        torn = bool(size) and os.pread(file, 1, size - 1) != b"\n"
        left = memoryview((b"\n" if torn else b"") + encoded(entry) + b"\n")
        while left:
            left = left[os.write(file, left) :]
        os.fsync(file)
    finally:
        os.close(file)


def point_entry(point: str) -> dict[str, Json]:
    return {"point": point}


def change_entry(change: Kept) -> dict[str, Json]:
    entry: dict[str, Json] = {
        "point": change.point,
        "path": _path_json(change.path),
        "before": change.before,
        "after": change.after,
        "mode": change.mode,
    }
    if change.lost is not None:
        entry["lost"] = change.lost
    if change.folders:
        entry["folders"] = [_path_json(folder) for folder in change.folders]
    return entry


def _entry(line: bytes) -> Mapping[str, Any]:
    """What a line says; nothing where it was cut by a crash, or is no line of ours."""
    try:
        entry = orjson.loads(line)
    except orjson.JSONDecodeError:
        return {}
    return entry if isinstance(entry, dict) else {}


def _told(path: Path, bad: Sequence[int]) -> str | None:
    if not bad:
        return None
    named = ", ".join(map(str, bad[:_MOST_NAMED])) + (" …" if len(bad) > _MOST_NAMED else "")
    lines = f"line {named} is" if len(bad) == 1 else f"{len(bad)} lines ({named}) are"
    return f"{path}: {lines} no checkpoint, left out: {_MEANS}"


def _change(entry: Mapping[str, Any]) -> Kept | None:
    try:
        return Kept(
            point=entry["point"],
            path=_path_from(entry["path"]),
            before=_digest(entry["before"]),
            after=_digest(entry["after"]),
            mode=entry["mode"] if isinstance(entry["mode"], int) else None,
            lost=str(entry["lost"]) if "lost" in entry else None,
            folders=tuple(_path_from(each) for each in entry.get("folders", ())),
        )
    except (KeyError, TypeError, ValueError):
        return None


def _digest(value: object) -> str | None:
    if value is None or (isinstance(value, str) and len(value) == 64 and value.isalnum()):
        return value
    raise ValueError("no digest")


def _path_json(path: Path) -> Json:
    """As text, or as bytes in hex where the name of the file is none."""
    raw = os.fsencode(path)
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return {"hex": raw.hex()}


def _path_from(value: object) -> Path:
    if isinstance(value, dict):
        value = os.fsdecode(bytes.fromhex(value["hex"]))
    path = Path(value) if isinstance(value, str) else None
    if path is None or not path.is_absolute():
        raise ValueError("no path")
    return path
