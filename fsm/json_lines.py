"""A line of a file whose lines are JSON objects. Knows nothing of what they hold."""

from __future__ import annotations

import json
import re
from typing import Any

import orjson

# Digits of a whole number that may be over 64 bits: orjson would make a float of it.
_LONG = re.compile(rb"[0-9]{19}")


def object_of(line: bytes) -> dict[str, Any]:
    """The object in a line. Raises ValueError with what it is instead, to stand behind a place."""
    try:
        value = json.loads(line) if _LONG.search(line) else orjson.loads(line)
    except ValueError:
        try:
            value = json.loads(line)  # half a surrogate pair is JSON too
        except ValueError as error:
            raise ValueError(f"is no JSON: {error}") from error
    if not isinstance(value, dict):
        raise ValueError("is no JSON object")
    return value
