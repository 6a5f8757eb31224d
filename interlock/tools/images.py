"""Pictures that a tool may show: `phases/world/media.py`, where the gate to the model reads too.

Each is checked before it enters the history: size, sides, and that the file is whole.
"""

from phases.world.media import (
    MAX_BASE64,
    MAX_RAW,
    MAX_SIDE,
    BrokenPicture,
    Picture,
    media_type,
    picture,
)

__all__ = [
    "MAX_BASE64",
    "MAX_RAW",
    "MAX_SIDE",
    "BrokenPicture",
    "Picture",
    "media_type",
    "picture",
]
