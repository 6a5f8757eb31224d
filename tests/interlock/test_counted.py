"""A number and its word agree."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import interlock
from interlock.counted import counted


@pytest.mark.parametrize(
    ("number", "told"),
    [(0, "0 turns"), (1, "1 turn"), (2, "2 turns"), (1200, "1,200 turns")],
)
def test_one_is_singular_and_all_else_is_not(number: int, told: str) -> None:
    assert counted(number, "turn") == told


def test_a_plural_of_its_own_is_said() -> None:
    assert counted(1, "line is", "lines are") == "1 line is"
    assert counted(2, "line is", "lines are") == "2 lines are"


def test_nobody_makes_plurals_by_hand() -> None:
    by_hand = re.compile(r"""if \S+ == 1 else ['"]s['"]|['"]1 \w+['"] if """)
    sources = Path(interlock.__file__).parent.rglob("*.py")

    assert [path.name for path in sources if by_hand.search(path.read_text())] == []
