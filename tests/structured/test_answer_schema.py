"""Which schemas can be asked for, how they are offered, and what fits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.errors import UsageError
from interlock.structured import AnswerSchema, schema_in

CITY = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "people": {"type": "integer", "minimum": 0}},
    "required": ["name", "people"],
    "additionalProperties": False,
}
CITIES = {"type": "array", "items": {"$ref": "#/$defs/city"}, "$defs": {"city": CITY}}


@pytest.mark.parametrize(
    ("schema", "line"),
    [
        ({"type": "objekt"}, "--json-schema is no JSON Schema: $.type: 'objekt' is not valid"),
        ({"type": "object", "required": "name"}, "no JSON Schema: $.required: 'name' is not of"),
        (
            {"properties": {"a": {"pattern": "("}}},
            "$.properties.a.pattern: '(' is not a 'regex'",
        ),
        (
            {"properties": {"a": {"$ref": "#/$defs/nowhere"}}},
            "$.properties.a: nothing is found at $ref '#/$defs/nowhere'",
        ),
        (
            {"properties": {"a": {"$ref": "http://localhost:1/city.json"}}},
            "nothing is found at $ref 'http://localhost:1/city.json'",
        ),
    ],
)
def test_a_schema_that_no_answer_could_be_held_against_is_refused(
    schema: dict[str, Any], line: str
) -> None:
    with pytest.raises(UsageError) as refused:
        AnswerSchema(schema)

    assert line in str(refused.value)
    assert len(str(refused.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("{", "--json-schema is no JSON: "),
        ("[]", '--json-schema is no object; write {"type": "object", ...}'),
        ("@nowhere.json", "--json-schema: nowhere.json cannot be read: No such file or directory"),
        ("@/", "--json-schema: / cannot be read: Is a directory"),
        ("@\0", "--json-schema: \0 cannot be read: embedded null byte"),
        (f"@{__file__}", f"--json-schema: {__file__} is no JSON: "),
    ],
)
def test_a_flag_that_holds_none_is_refused(text: str, line: str) -> None:
    with pytest.raises(UsageError) as refused:
        schema_in(text)

    assert str(refused.value).startswith(line)
    assert "Errno" not in str(refused.value)


def test_a_schema_can_lie_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "city.json"
    file.write_text('\ufeff{"type": "object"}')

    assert schema_in(f"@{file}") == {"type": "object"}


def test_a_plain_object_is_offered_as_it_is() -> None:
    schema = AnswerSchema(CITY)

    assert schema.input_schema == CITY
    assert schema.read({"name": "Ulm", "people": 126_000}) == (
        {"name": "Ulm", "people": 126_000},
        (),
    )


@pytest.mark.parametrize(
    ("schema", "answer"),
    [
        (CITIES, [{"name": "Ulm", "people": 126_000}]),
        ({"type": "string", "enum": ["yes", "no"]}, "yes"),
        ({"anyOf": [{"type": "null"}, CITY]}, None),
        ({"type": ["integer", "null"]}, 3),
        ({}, "abc"),
        ({"description": "anything"}, [1, None]),
    ],
)
def test_what_is_no_plain_object_is_asked_for_as_a_property(
    schema: dict[str, Any], answer: Any
) -> None:
    made = AnswerSchema(schema)

    assert made.input_schema["type"] == "object"
    assert made.input_schema["required"] == ["answer"]
    assert made.read({"answer": answer}) == (answer, ())
    assert made.read({"value": answer}) == (
        None,
        ("give one property, `answer`, that holds it all",),
    )


def test_references_are_found_from_the_new_root() -> None:
    asked = AnswerSchema(CITIES).input_schema

    assert asked["$defs"] == {"city": CITY}
    assert "$defs" not in asked["properties"]["answer"]


def test_a_refusal_names_every_place() -> None:
    _, problems = AnswerSchema(CITIES).read({"answer": [{"name": 7, "people": -1}, {"x": 1}]})

    assert problems == (
        "$[0].name: 7 is not of type 'string'",
        "$[0].people: -1 is less than the minimum of 0",
        "$[1]: 'name' is a required property",
        "$[1]: 'people' is a required property",
        "$[1]: Additional properties are not allowed ('x' was unexpected)",
    )


def test_a_refusal_is_bounded() -> None:
    _, problems = AnswerSchema(CITIES).read({"answer": [{}] * 100})

    assert (len(problems), problems[-1]) == (11, "and 190 more")


@pytest.mark.parametrize(
    ("given", "value"),
    [
        ({"name": "Ulm", "people": "126000"}, {"name": "Ulm", "people": 126_000}),
        ({"name": "Ulm", "people": 126_000.0}, {"name": "Ulm", "people": 126_000}),
    ],
)
def test_where_only_the_kind_is_wrong_it_is_put_right(given: Any, value: Any) -> None:
    assert AnswerSchema(CITY).read(given) == (value, ())


def test_json_in_a_string_is_read() -> None:
    given = {"answer": '[{"name": "Ulm", "people": 1}]'}

    assert AnswerSchema(CITIES).read(given) == ([{"name": "Ulm", "people": 1}], ())


def test_a_format_is_held_to() -> None:
    schema = AnswerSchema({"properties": {"day": {"type": "string", "format": "date"}}})

    assert schema.read({"day": "2026-02-30"}) == (None, ("$.day: '2026-02-30' is not a 'date'",))


_JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["name", "people", "answer", "x"]), _JSON))
def test_what_is_taken_fits(given: dict[str, Any]) -> None:
    value, problems = AnswerSchema(CITY).read(given)

    assert (value is None) == bool(problems)
    if not problems:
        assert isinstance(value["name"], str)
        assert isinstance(value["people"], int)
        assert value["people"] >= 0
        assert set(value) == {"name", "people"}
