"""Pictures as a part of a prompt."""

from __future__ import annotations

import base64
from os import PathLike
from pathlib import Path

from interlock.errors import UsageError
from interlock.fitting import checked_arguments
from phases.world.messages import Media

# What a file of each kind that the API takes begins with.
_BEGINNINGS = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF8": "image/gif",
    b"RIFF": "image/webp",
}


@checked_arguments
def image(source: str | PathLike[str] | bytes) -> Media:
    """A picture, from a file or from its bytes: `client.query([image("plan.png"), Text("…")])`.

    Raises UsageError for what is no PNG, JPEG, GIF or WebP, or cannot be read.
    """
    data = source if isinstance(source, bytes) else _read(Path(source))
    kind = next((kind for begin, kind in _BEGINNINGS.items() if data.startswith(begin)), None)
    if kind is None or (kind == "image/webp" and data[8:12] != b"WEBP"):
        named = "these bytes are" if isinstance(source, bytes) else f"{source} is"
        raise UsageError(f"{named} no picture the API takes: PNG, JPEG, GIF or WebP")
    return Media("image", kind, base64.b64encode(data).decode())


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise UsageError(f"the picture {path} cannot be read: {why}") from None
