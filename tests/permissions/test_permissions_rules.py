"""How rules are read from flags, and refused."""

from __future__ import annotations

import pytest

from interlock.permissions import BadRule, Rule, Rules
from interlock.permissions.rules import parsed
from interlock.tools import names


def test_a_flag_may_hold_several_rules() -> None:
    assert parsed("Bash(git log:*), Edit Read(a b/**)") == (
        Rule("Bash", "git log:*"),
        Rule("Edit"),
        Rule("Read", "a b/**"),
    )


def test_rules_come_back_as_they_were_written() -> None:
    rules = Rules.parse(allow=["Edit(src/**)"], deny=["Bash"])

    assert [str(rule) for rule in (*rules.allow, *rules.deny)] == ["Edit(src/**)", "Bash"]


@pytest.mark.parametrize(
    "text",
    ["Bash(git", "(x)", "Edit)", "Read(../**)", "Read({a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b})"],
)
def test_a_rule_that_cannot_be_read_is_refused_at_the_start(text: str) -> None:
    with pytest.raises(BadRule):
        Rules.parse(allow=[text])


def test_words_that_name_no_tool_are_found_each_once() -> None:
    rules = Rules.parse(
        allow=["Read", "then run Bash please", "mcp__git__log", "Sleep"],
        deny=["Bash(rm:*)", "Fetch(domain:x)", "please"],
    )

    assert rules.strangers(names()) == ("then", "run", "please", "Fetch")
