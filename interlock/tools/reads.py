"""What the model has seen of files in this session, by content.

A file may be changed only as long as it holds what the model saw. Times of change are not
enough: tools set them back. A digest is kept per real path.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from attrs import define, field


class NotAsRead(Exception):
    """The file was not read, or is not as it was read; the text is for the model."""


def digest(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


@define
class FileReads:
    _seen: dict[Path, bytes] = field(factory=dict)
    # By call: what stood in the file when a person was shown the change.
    _shown: dict[str, bytes | None] = field(factory=dict)

    def remember(self, path: Path, content: bytes) -> None:
        """`content` is the digest of the whole file, as it was shown or written."""
        self._seen.pop(path, None)  # so that the newest stands last
        self._seen[path] = content

    def forget(self) -> None:
        """The model knows nothing of what it has seen."""
        self._seen.clear()

    def recent(self) -> list[Path]:
        """All files the model has read or written, the newest first."""
        return list(reversed(self._seen))

    def seen(self, path: Path) -> bool:
        """Whether the model has read or written this file, whatever it holds by now."""
        return path in self._seen

    def as_data(self) -> dict[str, str]:
        """As JSON can hold it, the newest last; a path that is no text is left out."""
        seen = ((str(path), content.hex()) for path, content in self._seen.items())
        return {path: content for path, content in seen if path.isprintable()}

    def take_up(self, data: Mapping[str, str]) -> None:
        """What was seen before. By content: what has changed since must be read again."""
        for path, content in data.items():
            self.remember(Path(path), bytes.fromhex(content))

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

    def show(self, call: str, data: bytes | None) -> None:
        """A person is asked about a change of these bytes; None: of no file."""
        self._shown[call] = data if data is None else digest(data)

    def require_shown(self, path: Path, call: str, data: bytes | None) -> None:
        """Raise if a person approved a change of other bytes than these."""
        now = data if data is None else digest(data)
        if self._shown.pop(call, now) != now:
            raise NotAsRead(
                f"{path} was changed by someone else while this call waited for approval. Nothing"
                " was written. Read it again, then decide anew."
            )
