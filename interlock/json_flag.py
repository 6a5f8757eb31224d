"""What a flag is given that takes JSON: the text itself, or `@FILE` that holds it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson

from interlock.errors import UsageError


def object_in(given: str, flag: str, example: str) -> dict[str, Any]:
    """The object. Raises UsageError, which names the flag, and the file if there is one."""
    where, text = flag, given
    if given.startswith("@"):
        where = f"{flag}: {given[1:]}"
        text = text_of(given[1:], flag)
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise UsageError(
            f"{where} is no JSON: {error}; give it like {example}, or @FILE"
        ) from None
    if not isinstance(found, dict):
        raise UsageError(f"{where} is no object; write {example}")
    return found


def text_of(path: str, flag: str) -> str:
    """The text of a file that a flag names. Raises UsageError."""
    try:
        return Path(path).expanduser().read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        why = f"it is no UTF-8 text (byte {error.start})"
    except OSError as error:
        why = error.strerror or str(error)
    except (ValueError, RuntimeError) as error:  # a NUL in its name; `~nobody`
        why = str(error)
    raise UsageError(f"{flag}: {path} cannot be read: {why}")
