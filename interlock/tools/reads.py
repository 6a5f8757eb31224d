"""What the model has seen of files in this session, by content.

A file may be changed only as long as it holds what the model saw. Times of change are not
enough: tools set them back. A digest is kept per real path.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from attrs import define, field


class NotAsRead(Exception):
    """The file was not read, or is not as it was read; the text is for the model."""


def digest(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


@define
class FileReads:
    _seen: dict[Path, bytes] = field(factory=dict)

    def remember(self, path: Path, content: bytes) -> None:
        """`content` is the digest of the whole file, as it was shown or written."""
        self._seen.pop(path, None)  # so that the newest stands last
        self._seen[path] = content

    def recent(self) -> list[Path]:
        """All files the model has read or written, the newest first."""
        return list(reversed(self._seen))

    def seen(self, path: Path) -> bool:
        """Whether the model has read or written this file, whatever it holds by now."""
        return path in self._seen

    def require(self, path: Path, data: bytes) -> None:
        """Raise unless the model has seen exactly these bytes."""
        seen = self._seen.get(path)
        if seen is None:
            raise NotAsRead(f"{path} has not been read in this session. Read it first.")
        if seen != digest(data):
            raise NotAsRead(
                f"{path} has changed since it was read: the user, a command or another program"
                " wrote to it. Nothing was written. Read it again, then decide anew."
            )
