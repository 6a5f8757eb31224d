"""Whether the input schema of a foreign tool can be sent: one that cannot costs the whole request.

The API wants an object at the top, without `oneOf`, `allOf` or `anyOf` beside it, and references
that lead somewhere. A missing type is mended, since nothing else can have been meant.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from phases.world.messages import Json, encoded

LARGEST = 100_000  # bytes; the largest schemas known to us have 20,000
DEEPEST = 64
_NOT_ON_TOP = ("oneOf", "allOf", "anyOf")


class BadSchema(ValueError):
    """It cannot be sent; the text says why."""


def sendable(schema: Json) -> dict[str, Json]:
    """The schema as it can be sent. Raises BadSchema."""
    if not isinstance(schema, Mapping):
        raise BadSchema("is no object")
    kind = schema.get("type", "object")
    if kind != "object":
        raise BadSchema(f"has the type {kind!r}, not 'object'")
    for word in _NOT_ON_TOP:
        if word in schema:
            raise BadSchema(f"has {word} at its top")
    properties = schema.get("properties")
    if properties is not None and not isinstance(properties, Mapping):
        raise BadSchema("has properties that are no object")
    required = schema.get("required")
    if required is not None and not _names(required):
        raise BadSchema("has a required that is no list of names")
    for reference in _references(schema, 0):
        if not _leads(schema, reference):
            raise BadSchema(f"refers to {reference!r}, which is not in it")
    whole = {**schema, "type": "object"}
    if properties is None:
        whole["properties"] = {}
    if len(encoded(whole)) > LARGEST:
        raise BadSchema(f"is larger than {LARGEST:,} bytes")
    return whole


def _names(value: Json) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _references(node: Any, depth: int) -> Iterator[str]:
    if depth > DEEPEST:
        raise BadSchema(f"is deeper than {DEEPEST} levels")
    if isinstance(node, Mapping):
        reference = node.get("$ref")
        if isinstance(reference, str):
            yield reference
        for value in node.values():
            yield from _references(value, depth + 1)
    elif isinstance(node, list):
        for value in node:
            yield from _references(value, depth + 1)


def _leads(schema: Mapping[str, Json], reference: str) -> bool:
    if not reference.startswith("#"):
        return False  # somewhere on the network, where nobody will look
    node: Any = schema
    for step in reference[1:].split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(node, list) and name.isdigit() and int(name) < len(node):
            node = node[int(name)]
        elif isinstance(node, Mapping) and name in node:
            node = node[name]
        else:
            return False
    return True
