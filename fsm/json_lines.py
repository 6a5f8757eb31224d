"""A line of a file whose lines are JSON objects. Knows nothing of what they hold."""

from __future__ import annotations

import json
from typing import Any

import orjson


def object_of(line: bytes) -> dict[str, Any]:
    """The object in a line. Raises ValueError with what it is instead, to stand behind a place."""
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError:
        try:
            value = json.loads(line)  # numbers and text that orjson has no room for
        except ValueError as error:
            raise ValueError(f"is no JSON: {error}") from error
    if not isinstance(value, dict):
        raise ValueError("is no JSON object")
    return value
