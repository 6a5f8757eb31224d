"""The text of a skill: arguments in their places, and where commands and files are put."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.skills import Given, Sort, filled, pieces, takes_arguments


@pytest.mark.parametrize(
    ("template", "typed", "text"),
    [
        ("Fix $ARGUMENTS.", "issue 12", "Fix issue 12."),
        ("Fix $1 with $2, not $3.", "a 'b c'", "Fix a with b c, not ."),
        ("$ARGUMENTS[1] before $ARGUMENTS[0]", "a b", "b before a"),
        ("Compare $old and $new in $HOME.", "x y", "Compare x and y in $HOME."),
        ("It costs $10, $5.50 or $0.", "", "It costs $10, .50 or $0."),
        ("Open 'quote $1", "it's", "Open 'quote it's"),
        ("In ${CLAUDE_SKILL_DIR}/run.sh", "", "In /skills/x/run.sh"),
        ("$ARGUMENTSX", "a", "$ARGUMENTSX"),
    ],
)
def test_arguments_stand_where_they_are_wanted(template: str, typed: str, text: str) -> None:
    given = Given(text=typed, names=("old", "new"), variables={"CLAUDE_SKILL_DIR": "/skills/x"})

    assert filled(template, given) == text


def test_a_text_without_a_place_for_them_says_so() -> None:
    assert not takes_arguments("In $HOME for $20")
    assert takes_arguments("for $2")
    assert takes_arguments("for $issue", ["issue"])


@pytest.mark.parametrize(
    ("template", "commands", "files"),
    [
        ("Status: !`git status`\nLog: !`git log -5`", ["git status", "git log -5"], []),
        ("Not x!`date`, and no `!date`.", [], []),
        ("In code: ``!`date` ``.", [], []),
        ("```\n!`date` and @a.txt\n```\n!`id`", ["id"], []),
        ("```!\nid\ndate\n```\n", ["id\ndate"], []),
        ("See @docs/a.md, (@b.md) and `@c.md`.", [], ["docs/a.md", "b.md"]),
        ("Mail ada@example.org", [], []),
        ("@$1 and !`cat $1`", ["cat $1"], ["$1"]),
    ],
)
def test_places_for_commands_and_files(
    template: str, commands: list[str], files: list[str]
) -> None:
    found = list(pieces(template))

    assert [one.text for one in found if one.sort is Sort.COMMAND] == commands
    assert [one.text for one in found if one.sort is Sort.FILE] == files


@given(st.text(alphabet="`!@$1a \n.~(", max_size=80))
def test_put_together_the_pieces_are_the_text(template: str) -> None:
    assert "".join(one.source for one in pieces(template)) == template
