"""A branch of a session: a transcript of its own that begins with the history of another.

What counts of the other file is copied line by line, as it stands there, with the new session's
id; each line says where it comes from (`origins`). The other file is only read.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import suppress
from errno import EEXIST
from pathlib import Path
from typing import IO, Any

import orjson
from attrs import frozen

from interlock.errors import TranscriptError
from interlock.regular_files import open_regular
from interlock.sessions.reading import branches_beside, chain_of, earlier_of, insist_on
from interlock.sessions.rows import Damage, entry_at, groups_of, last_rows, numbered
from interlock.sessions.transcript import private_folder
from phases.world.messages import encoded


@frozen(kw_only=True)
class Forked:
    """What the copy does not tell: what the first file was like."""

    damage: tuple[str, ...]
    others: int


def fork(source: Path, to: Path, session_id: str, at: str | None = None) -> Forked:
    """Write the history that `source` goes on with to the new file `to`, whole or not at all; up
    to the message `at`, if one is named.

    Raises TranscriptError.
    """
    part = to.with_name(f"{to.name}.{os.getpid()}.part")
    try:
        private_folder(to.parent)
        _sweep(to.parent)
        with open_regular(source) as file:
            descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            fcntl.flock(descriptor, fcntl.LOCK_EX)  # by this a sweep knows that it is written
            try:
                with os.fdopen(descriptor, "wb") as out:
                    forked = _copied(file, out, source, session_id, at)
                    out.flush()
                    os.fsync(out.fileno())
                if to.exists():
                    raise FileExistsError(EEXIST, "there is such a session", str(to))
                part.rename(to)
            finally:
                part.unlink(missing_ok=True)
    except OSError as error:
        where = str(error.filename or source)
        raise TranscriptError(where, f"cannot be branched: {error.strerror or error}") from error
    return forked


def origins(transcript: Path) -> Iterator[Path]:
    """The transcripts that this one was branched from, the nearest first."""
    seen = {transcript}
    while True:
        try:
            with open_regular(transcript) as file:
                entry = orjson.loads(file.readline())
            transcript = transcript.with_name(f"{entry['forkedFrom']['sessionId']}.jsonl")
        except (OSError, ValueError, KeyError, TypeError):
            return  # begun by itself, or by a session that is gone
        if transcript in seen:
            return
        seen.add(transcript)
        yield transcript


def _sweep(folder: Path) -> None:
    """Take away copies that a crash left half done: nobody holds their locks."""
    for part in folder.glob("*.jsonl.*.part"):
        with suppress(OSError), open_regular(part) as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            part.unlink()


def _copied(
    file: IO[bytes], out: IO[bytes], source: Path, session_id: str, at: str | None
) -> Forked:
    damage: list[Damage] = []
    rows = last_rows(file, damage, at)
    insist_on(at, rows, source)
    chain = chain_of(rows, damage, at) if rows else []
    groups = groups_of(rows)
    before = None
    for row in (*(earlier_of(rows, chain, groups) if chain else ()), *chain):
        entry = entry_at(file, row)
        came_from = {"sessionId": entry.get("sessionId"), "messageUuid": row.uuid}
        kept: dict[str, Any] = entry | {"sessionId": session_id, "forkedFrom": came_from}
        # Another program's copy says here what the entries were called in its own source.
        if row.view is not None:
            kept["compactMetadata"] = entry["compactMetadata"] | {"view": list(row.view)}
        if row.replaces is not None:
            kept["replaces"] = row.replaces
        if before is not None and row.parent is not None and row.parent not in rows:
            kept["parentUuid"] = before  # that line was damaged: here nothing tells it was there
        out.write(encoded(kept) + b"\n")
        before = row.uuid
    return Forked(
        damage=numbered(file, damage, source.name),
        others=branches_beside(rows, chain) if chain else 0,
    )
