"""What is written to the transcripts of a session, told to the host as it is written.

Read back from the files, from where it left off: so all that is written is told, whoever wrote it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
from attrs import define, field

from interlock.home import SessionPaths


@define(eq=False, kw_only=True)
class Mirror:
    """`emit` is given one frame for each file that has grown."""

    paths: SessionPaths
    emit: Callable[[dict[str, Any]], None]
    _told: dict[Path, int] = field(factory=dict)  # bytes of each file

    def skip(self) -> None:
        """The host knows already what is there."""
        for path in self._files():
            self._told[path] = path.stat().st_size

    def flush(self) -> None:
        """Tell what is new; whole lines only."""
        for path in self._files():
            start = self._told.get(path, 0)
            with path.open("rb") as file:
                file.seek(start)
                whole, end, _ = file.read().rpartition(b"\n")
            self._told[path] = start + len(whole) + len(end)
            entries = list(_entries(whole))
            if entries:
                frame = {"type": "transcript_mirror", "filePath": str(path), "entries": entries}
                self.emit(frame)

    def _files(self) -> Iterator[Path]:
        if self.paths.transcript.exists():
            yield self.paths.transcript
        if self.paths.agents.is_dir():
            yield from sorted(self.paths.agents.glob("*.jsonl"))


def _entries(data: bytes) -> Iterator[Any]:
    for line in data.splitlines():
        try:
            yield orjson.loads(line)
        except orjson.JSONDecodeError:
            continue  # torn by a crash of an earlier process: it tells nobody anything
