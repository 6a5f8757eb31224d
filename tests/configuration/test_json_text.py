"""JSON with places: what it reads, what it refuses, and where it says things stand."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.configuration.json_text import (
    Array,
    Malformed,
    Node,
    Object,
    deepest,
    parse,
    plain,
)
from phases.world.messages import Json

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


def below(node: Node) -> list[Node]:
    match node:
        case Object():
            inner = [each for one in node.members for each in (one.key, *below(one.value))]
        case Array():
            inner = [each for item in node.items for each in below(item)]
        case _:
            inner = []
    return [node, *inner]


@given(VALUES, st.sampled_from([None, 0, 2]), st.booleans())
def test_it_reads_what_the_standard_library_writes(
    value: Json, indent: int | None, ascii_only: bool
) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)

    node = parse(text)

    assert node is not None
    assert plain(node) == value


@given(VALUES)
def test_every_value_stands_where_it_says(value: Json) -> None:
    text = json.dumps(value, indent=2)
    node = parse(text)

    assert node is not None
    for each in below(node):
        assert json.loads(text[each.start : each.end]) == plain(each)


@given(st.text(alphabet='{}[]",:0123456789.eE+-truefalsn\\ \n/x', max_size=40))
def test_what_it_accepts_the_standard_library_accepts_too(text: str) -> None:
    try:
        node = parse(text)
    except Malformed:
        node = None

    if node is not None:
        assert json.loads(text) == plain(node)


@pytest.mark.parametrize("text", ["", " \n\t\r\n"])
def test_nothing_is_nothing(text: str) -> None:
    assert parse(text) is None


@pytest.mark.parametrize(
    ("text", "at", "words"),
    [
        ('{"a": 1,}', 7, "a comma before }; take the comma out"),
        ('["a",\n]', 4, "a comma before ]; take the comma out"),
        ('{"a": 1 "b": 2}', 8, "no comma between two items of an object; put a comma before it"),
        ("[1 2]", 3, "no comma between two items of a list; put a comma before it"),
        ('{"a": 1', 7, "the file ends inside an object; close it with }"),
        ("[", 1, "the file ends inside a list; close it with ]"),
        ("{'a': 1}", 1, 'a name should stand here; write "name": value'),
        ("['a']", 1, 'a string in single quotes; put it in double quotes: "…"'),
        ("{a: 1}", 1, 'a name should stand here; write "name": value'),
        ('{"a" 1}', 5, 'no colon behind "a"; write "a": value'),
        ("{} // why", 3, "a comment is no JSON; take it out"),
        ("/* why */ {}", 0, "a comment is no JSON; take it out"),
        ("{} {}", 3, "something stands behind the end; take it out"),
        ("[True]", 1, "'True' is no value of JSON; write \"True\""),
        ("[NaN]", 1, "'NaN' is no value of JSON; write \"NaN\""),
        ("[01]", 1, "a number that cannot be read; write a plain number"),
        ("[1e999]", 1, "a number that cannot be read; write a plain number"),
        ("[" + "9" * 5000 + "]", 1, "a number that cannot be read; write a plain number"),
        ("[-]", 1, "not a number; write digits behind the minus"),
        ('["\\ud800"]', 1, "half a character (a lone surrogate); write it whole"),
        ("[" * 200, 65, "more than 64 brackets deep; make it flatter"),
    ],
)
def test_what_is_no_json_is_named_with_its_place_and_mend(text: str, at: int, words: str) -> None:
    with pytest.raises(Malformed) as caught:
        parse(text)

    assert (caught.value.at, str(caught.value)) == (at, words)


def test_a_string_that_is_not_closed_is_named() -> None:
    with pytest.raises(Malformed, match="a string that is not well formed; close it"):
        parse('{"a": "b}\n')


def test_a_name_that_stands_twice_would_lose_a_rule_and_is_refused() -> None:
    with pytest.raises(Malformed) as caught:
        parse('{"deny": ["Read"],\n "deny": []}')

    assert caught.value.at == 20
    assert str(caught.value).startswith('"deny" stands twice in one object (first on line 1)')


def test_the_place_of_what_is_not_there_is_that_of_the_last_thing_on_the_way() -> None:
    node = parse('{"a": [{"b": 1}]}')

    assert node is not None
    assert plain(deepest(node, ("a", 0, "b"))) == 1
    assert plain(deepest(node, ("a", 0, "c"))) == {"b": 1}
    assert plain(deepest(node, ("a", 7))) == [{"b": 1}]
