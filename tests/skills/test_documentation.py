"""docs/skills.md and docs/commands.md say what the code does; their examples are run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from interlock.front_matter import fronted
from interlock.skilled import LARGEST
from interlock.skills import Kind, Sort, load, pieces
from interlock.skills.skill import KNOWN
from phases.world.limits import Limits

DOCS = Path(__file__).parents[2] / "docs"
SKILLS, COMMANDS = ((DOCS / name).read_text() for name in ("skills.md", "commands.md"))


def test_every_key_is_in_the_table_and_no_other() -> None:
    table = SKILLS.split("## Front matter")[1].split("\n## ")[0]
    rows = [line.split("|")[1:3] for line in table.splitlines() if line.startswith("| `")]

    keys = {key for row in rows for key in re.findall(r"`([\w-]+)`", row[0])}
    assert keys == KNOWN


@pytest.mark.parametrize(
    ("told", "kind", "commands"),
    [
        (SKILLS, Kind.SKILL, ["make invoices-open"]),
        (COMMANDS, Kind.COMMAND, ["gh issue view $1"]),
    ],
    ids=["skills", "commands"],
)
def test_the_example_can_be_used_as_it_stands(
    tmp_path: Path, told: str, kind: Kind, commands: list[str]
) -> None:
    example = told.split("```markdown\n")[1].split("```\n")[0]
    (tmp_path / "x.md").write_text(example)

    found = load(tmp_path / "x.md", name="x", kind=kind, origin="user")

    body = fronted(example).body
    assert (found.problems, found.listed) == ((), True)
    assert [one.text for one in pieces(body) if one.sort is Sort.COMMAND] == commands


def test_the_numbers_are_those_of_the_code() -> None:
    assert f"at most {LARGEST:,} tokens of\n  each" in SKILLS
    assert hasattr(Limits(), "skill_listing_budget")
