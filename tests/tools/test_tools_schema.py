"""The check of a call's input, and the words for what is wrong with it."""

from __future__ import annotations

from typing import Any

import pytest

from interlock.tools import UnknownTool, built_in, chosen
from interlock.tools.schema import BadInput, checked

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "count": {"type": "integer", "minimum": 1},
        "share": {"type": "number"},
        "sure": {"type": "boolean"},
        "mode": {"type": "string", "enum": ["a", "b"]},
        "list": {"type": "array", "items": {"type": "integer"}},
    },
    "required": ["name"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("given", "understood"),
    [
        ({"name": "x", "count": "10"}, {"name": "x", "count": 10}),
        ({"name": "x", "count": 10.0}, {"name": "x", "count": 10}),
        ({"name": "x", "share": "0.5"}, {"name": "x", "share": 0.5}),
        ({"name": "x", "sure": "True"}, {"name": "x", "sure": True}),
        ({"name": "10"}, {"name": "10"}),
        ({"name": "x", "count": None}, {"name": "x"}),
        ({"name": "x", "list": ["1", 2]}, {"name": "x", "list": [1, 2]}),
    ],
)
def test_what_is_meant_beyond_doubt_is_accepted(
    given: dict[str, Any], understood: dict[str, Any]
) -> None:
    assert checked(given, SCHEMA) == understood


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({}, "`name` is missing"),
        ({"name": None}, "`name` must be string, not None"),
        ({"name": 3}, "`name` must be string, not 3"),
        ({"name": "x", "count": "many"}, "`count` must be integer, not 'many'"),
        ({"name": "x", "count": True}, "`count` must be integer, not True"),
        ({"name": "x", "count": 0}, "`count` must be at least 1, not 0"),
        ({"name": "x", "mode": "c"}, "`mode` must be one of 'a', 'b', not 'c'"),
        ({"name": "x", "nmae": 1}, "`nmae` is not known; there are `name`, `count`"),
        ({"name": "x", "list": ["y"]}, "`list[0]` must be integer, not 'y'"),
    ],
)
def test_what_is_wrong_is_named(given: dict[str, Any], problem: str) -> None:
    with pytest.raises(BadInput) as caught:
        checked(given, SCHEMA)

    assert problem in str(caught.value)


def test_the_built_in_tools_fit_the_api() -> None:
    tools = built_in()

    assert {"Read", "Write", "Edit", "Bash", "Glob", "Grep", "WebFetch"} <= set(tools)
    for tool in tools.values():
        wire = tool.wire()
        assert set(wire) == {"name", "description", "input_schema"}
        assert wire["input_schema"]["type"] == "object"
        assert set(wire["input_schema"].get("required", ())) <= set(
            wire["input_schema"]["properties"]
        )


def test_a_name_on_offer_that_does_not_exist_is_refused() -> None:
    tools = built_in()

    assert list(chosen(tools, ["Grep", "Read"])) == ["Read", "Grep"]
    assert chosen(tools, None) == tools
    with pytest.raises(UnknownTool, match="no such tool: Nothing"):
        chosen(tools, ["Nothing"])


@pytest.mark.parametrize(
    ("given", "found"), [('["a"]', ["a"]), ([" a"], [" a"]), (' [ "a" ] ', ["a"])]
)
def test_a_list_that_comes_as_its_json_is_a_list(given: object, found: list[str]) -> None:
    schema = {"properties": {"names": {"type": "array", "items": {"type": "string"}}}}

    assert checked({"names": given}, schema) == {"names": found}


def test_half_a_list_is_no_list() -> None:
    with pytest.raises(BadInput, match="`names` must be array"):
        checked({"names": '["a"'}, {"properties": {"names": {"type": "array"}}})
