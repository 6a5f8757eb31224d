"""A light check of a call's input against its tool's schema, with words a model can act on.

Knows types, required, enum, minimum and items: what schemas of tools use. Kind to numbers and
booleans that come as strings; unknown names are errors, since a misspelt option that is dropped
in silence does something else than was meant.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

Json = Any


class BadInput(Exception):
    """The input does not fit the schema; the text names every place."""


def checked(given: Mapping[str, Json], schema: Mapping[str, Json]) -> dict[str, Json]:
    """The input with its strings made numbers where those are wanted."""
    problems: list[str] = []
    value = _object(given, schema, "", problems)
    if problems:
        raise BadInput("; ".join(problems))
    return value


def _object(
    given: Mapping[str, Json], schema: Mapping[str, Json], place: str, problems: list[str]
) -> dict[str, Json]:
    properties: Mapping[str, Json] = schema.get("properties", {})
    required = schema.get("required", ())
    for name in required:
        if name not in given:
            problems.append(f"`{place}{name}` is missing")
    found: dict[str, Json] = {}
    for name, value in given.items():
        if name in properties:
            if value is None and name not in required:
                continue  # an option that is null was not chosen
            found[name] = _value(value, properties[name], f"{place}{name}", problems)
        elif schema.get("additionalProperties", True) is False:
            known = ", ".join(f"`{one}`" for one in properties)
            problems.append(f"`{place}{name}` is not known; there are {known}")
        else:
            found[name] = value
    return found


def _value(value: Json, schema: Mapping[str, Json], place: str, problems: list[str]) -> Json:
    if not isinstance(schema, Mapping):
        return value  # true: anything will do, says JSON Schema
    kinds = schema.get("type")
    wanted = [kinds] if isinstance(kinds, str) else list(kinds or ())
    value = _kindly(value, wanted)
    if wanted and not any(_is(value, kind) for kind in wanted):
        problems.append(f"`{place}` must be {' or '.join(wanted)}, not {_told(value)}")
        return value
    if "enum" in schema and value not in schema["enum"]:
        choices = ", ".join(repr(one) for one in schema["enum"])
        problems.append(f"`{place}` must be one of {choices}, not {_told(value)}")
    if "minimum" in schema and _is(value, "number") and value < schema["minimum"]:
        problems.append(f"`{place}` must be at least {schema['minimum']}, not {value}")
    if isinstance(value, Mapping) and "properties" in schema:
        return _object(value, schema, f"{place}.", problems)
    if isinstance(value, list) and isinstance(schema.get("items"), Mapping):
        return [
            _value(one, schema["items"], f"{place}[{at}]", problems)
            for at, one in enumerate(value)
        ]
    return value


def _kindly(value: Json, wanted: list[str]) -> Json:
    """ "10" for 10, "true" for True, "[1]" for [1]: what was meant is beyond doubt."""
    if isinstance(value, float) and "integer" in wanted and value.is_integer():
        return int(value)
    if not isinstance(value, str) or "string" in wanted:
        return value
    text = value.strip()
    if "boolean" in wanted and text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        if "integer" in wanted:
            return int(text)
        if "number" in wanted:
            return float(text)
        if text[:1] in ("[", "{") and {"array", "object"} & set(wanted):
            return orjson.loads(text)
    except ValueError:
        pass
    return value


def _is(value: Json, kind: str) -> bool:
    match kind:
        case "string":
            return isinstance(value, str)
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "boolean":
            return isinstance(value, bool)
        case "array":
            return isinstance(value, list)
        case "object":
            return isinstance(value, Mapping)
        case "null":
            return value is None
    return True


def _told(value: Json) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
