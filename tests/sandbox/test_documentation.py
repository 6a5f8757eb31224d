"""docs/sandbox.md has every key, and says of each what a repository may do with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from interlock.sandbox import settings, tightening

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "sandbox.md").read_text()


def rows() -> dict[tuple[str, ...], list[str]]:
    """The cells behind each key of the table of settings."""
    table = PAGE.split("## Settings")[1].split("## ")[0]
    cells = [
        line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| `")
    ]
    return {tuple(key.strip("`").split(".")): rest for key, *rest in cells}


def holding(place: tuple[str, ...], value: Any) -> dict[str, Any]:
    for key in reversed(place):
        value = {key: value}
    assert isinstance(value, dict)
    return value


def test_every_key_is_there_and_no_other() -> None:
    assert set(rows()) == {*settings._LISTS, *settings._FLAGS}


@pytest.mark.parametrize("place", [*settings._LISTS, *settings._FLAGS])
def test_what_a_repository_may_say_is_what_is_heard_of_it(place: tuple[str, ...]) -> None:
    holds, _, repository, _ = rows()[place]
    values: list[Any] = [["x"]] if holds.startswith("list") else [True, False]
    heard = [value for value in values if tightening(holding(place, value))[0]]

    assert {"yes": values, "no": [], "`true` only": [True], "`false` only": [False]}[
        repository
    ] == heard


@pytest.mark.parametrize("other", ["../README.md", "settings.md"])
def test_the_page_is_linked(other: str) -> None:
    assert "sandbox.md)" in (DOCS / other).read_text()
