"""What files held, by digest: each content once, for its owner's eyes only, bounded.

A content is on the disk, whole and under its name, before `put` returns: a crash leaves it or
nothing. Knows neither paths nor sessions; who held what and when is `log.py`'s.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from attrs import define, field

from interlock.sessions.transcript import private_folder

MAX_FILE = 16 << 20  # bytes: sources are far below, data sets above are not edited by hand
MAX_ALL = 512 << 20  # bytes of one session: a month of edits, and no full disk
_NAME = 64  # letters of a digest


class TooLarge(Exception):
    """There is no room for the content; the text says which bound it is over."""


class Gone(Exception):
    """The content is not (any more) what its name says."""


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@define
class Contents:
    """One folder of contents, named by their digests."""

    folder: Path
    max_file: int = MAX_FILE
    max_all: int = MAX_ALL
    _size: int | None = field(default=None, init=False)

    def put(self, data: bytes) -> str:
        """Keep it, if it is not kept already; its digest. Raises TooLarge, OSError."""
        name = digest(data)
        path = self.folder / name
        if path.exists():
            return name
        if len(data) > self.max_file:
            raise TooLarge(f"it is larger than {_told(self.max_file)}")
        size = self._taken()
        if size + len(data) > self.max_all:
            raise TooLarge(f"the checkpoints of this session have reached {_told(self.max_all)}")
        self._write(path, data)
        self._size = size + len(data)
        return name

    def get(self, name: str) -> bytes:
        """Raises Gone."""
        try:
            data = (self.folder / name).read_bytes()
        except OSError as error:
            why = error.strerror or str(error)
            raise Gone(f"its earlier content cannot be read ({why})") from error
        if digest(data) != name:
            raise Gone("its earlier content is damaged")
        return data

    def _write(self, path: Path, data: bytes) -> None:
        private_folder(self.folder)
        part = path.with_name(f"{path.name}.{os.getpid()}.part")
        file = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(file, "wb") as out:
                out.write(data)
                out.flush()
                os.fsync(out.fileno())
            part.rename(path)
        except OSError:
            part.unlink(missing_ok=True)
            raise

    def _taken(self) -> int:
        """Bytes of contents in the folder; looked at once, then counted along."""
        if self._size is None:
            try:
                with os.scandir(self.folder) as entries:
                    named = (entry for entry in entries if len(entry.name) == _NAME)
                    self._size = sum(entry.stat().st_size for entry in named)
            except FileNotFoundError:
                self._size = 0
        return self._size


def _told(size: int) -> str:
    return f"{size >> 20} MiB" if size >= 1 << 20 else f"{size} bytes"
