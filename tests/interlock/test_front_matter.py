"""Front matter: YAML where it is YAML, lines where people wrote something near it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.front_matter import fronted


@pytest.mark.parametrize(
    ("text", "fields", "body"),
    [
        ("just text", {}, "just text"),
        ("---\nname: a\n---\nbody", {"name": "a"}, "body"),
        ("\ufeff---\r\nname: a\r\n---\r\nbody", {"name": "a"}, "body"),
        ("---\n---\nbody", {}, "body"),
        ("---\nname: a\n---", {"name": "a"}, ""),
        ("---\npaths:\n  - a\n  - b\n---\n", {"paths": ["a", "b"]}, ""),
        ("a\n---\nname: a\n---\n", {}, "a\n---\nname: a\n---\n"),
        ("---\nA line of its own\n\nand text", {}, "---\nA line of its own\n\nand text"),
    ],
)
def test_fields_and_body(text: str, fields: dict[str, object], body: str) -> None:
    front = fronted(text)

    assert (dict(front.fields), front.body, front.problem) == (fields, body, None)


def test_a_colon_too_many_costs_nothing() -> None:
    front = fronted("---\ndescription: Use it for: tests\npaths:\n  - '*.py'\n---\nbody")

    assert front.fields == {"description": "Use it for: tests", "paths": ["*.py"]}
    assert front.problem == "its front matter is no YAML in line 2"
    assert front.body == "body"


def test_what_is_never_closed_is_told() -> None:
    assert fronted("---\nname: a\nbody").problem == "its front matter has no closing ---"


@given(st.text(alphabet="-\n :a[]{}'\"&*!|>%@`#,\t", max_size=60))
def test_whatever_stands_there_nothing_breaks_and_no_text_is_lost(text: str) -> None:
    front = fronted(f"---\n{text}\n---\nthe body")

    assert front.body.endswith("the body")
