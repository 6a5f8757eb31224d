"""Rules that change while a session runs, and where each rule comes from."""

from __future__ import annotations

from pathlib import Path

import pytest

from interlock.options import PermissionMode
from interlock.permissions import (
    Answer,
    BadRule,
    BadUpdate,
    Decision,
    Destination,
    Gate,
    Judge,
    NobodyAsks,
    Question,
    Rules,
    Update,
    Verdict,
    suggested,
)
from tests.permissions.questions import about, bash, call

WORK = Path("/repo")
WHERE = "project settings, .claude/settings.json:12"


def gate(rules: Rules | None = None, mode: PermissionMode = PermissionMode.DEFAULT) -> Gate:
    return Gate(Judge.of(WORK, rules or Rules(), mode), NobodyAsks())


def rule_update(kind: str, behavior: str, rule: str, destination: str = "session") -> Update:
    tool, _, content = rule.partition("(")
    said = {"toolName": tool, **({"ruleContent": content[:-1]} if content else {})}
    return Update.of(
        {"type": kind, "behavior": behavior, "rules": [said], "destination": destination}
    )


# --- origins ---------------------------------------------------------------------------------


def test_a_decision_names_the_rule_and_where_it_stands() -> None:
    rules = Rules.parse(deny=[("Bash(rm:*)", WHERE)])

    decision = gate(rules).decide(bash("ls && rm x"))

    assert (decision.verdict, decision.rule, decision.origin) == ("deny", "Bash(rm:*)", WHERE)
    assert WHERE in decision.reason
    assert [(part.shown, part.verdict) for part in decision.parts][1] == ("rm x", "deny")


@pytest.mark.parametrize(
    ("text", "mend"),
    [
        ("Bash(rm", "like Bash(git status:*)"),
        ("WebFetch(example.com)", "WebFetch(domain:example.com)"),
        ("mcp__git__push(x)", "mcp__git__push"),
        ("Read(../x)", "leaves its folder"),
    ],
)
def test_a_bad_rule_is_refused_with_its_text_its_place_and_how_to_mend_it(
    text: str, mend: str
) -> None:
    with pytest.raises(BadRule) as refused:
        Rules.parse(deny=[(text, WHERE)])

    assert text in str(refused.value)
    assert WHERE in str(refused.value)
    assert mend in str(refused.value)


# --- updates ---------------------------------------------------------------------------------


def test_rules_can_be_added_and_removed_again() -> None:
    door = gate()

    door.apply(rule_update("addRules", "allow", "Bash(make:*)"))
    assert door.decide(bash("make all")).allowed
    door.apply(rule_update("addRules", "deny", "Bash(make:*)"))
    assert door.decide(bash("make all")).verdict is Verdict.DENY
    door.apply(rule_update("removeRules", "deny", "Bash(make:*)"))
    assert door.decide(bash("make all")).allowed
    door.apply(rule_update("replaceRules", "allow", "Edit"))
    assert door.decide(bash("make all")).verdict is Verdict.ASK


@pytest.mark.parametrize(
    "origin", ["managed settings, /etc/x.json:3", "the flag --disallowedTools"]
)
def test_no_update_reaches_the_rules_of_others(origin: str) -> None:
    door = gate(Rules.parse(deny=[("Bash(make:*)", origin)]))

    for destination in Destination:
        for kind in ("removeRules", "replaceRules"):
            door.apply(rule_update(kind, "deny", "Bash(make:*)", destination))
            assert door.decide(bash("make")).verdict is Verdict.DENY


def test_mode_and_folders_can_be_changed_and_the_working_folder_stays() -> None:
    door = gate()

    door.apply(Update.of({"type": "setMode", "mode": "acceptEdits"}))
    assert door.mode is PermissionMode.ACCEPT_EDITS
    door.apply(Update.of({"type": "addDirectories", "directories": ["/other"]}))
    assert door.decide(about("Edit", "/other/a", WORK)).allowed
    door.apply(Update.of({"type": "removeDirectories", "directories": ["/other", "/repo"]}))
    assert not door.decide(about("Edit", "/other/a", WORK)).allowed
    assert door.decide(about("Edit", "/repo/a", WORK)).allowed


def test_what_is_meant_for_settings_files_is_handed_on() -> None:
    kept: list[Update] = []
    door = Gate(Judge.of(WORK, Rules(), PermissionMode.DEFAULT), NobodyAsks(), keep=kept.append)

    door.apply(rule_update("addRules", "allow", "Bash(make:*)"))
    door.apply(rule_update("addRules", "allow", "Bash(npm test:*)", "localSettings"))

    assert [update.destination for update in kept] == [Destination.LOCAL]
    assert Update.of(kept[0].json()) == kept[0]


@pytest.mark.parametrize(
    "said",
    [
        {}, {"type": "x"}, {"type": "setMode"}, {"type": "setMode", "mode": "y"},
        {"type": "addRules", "rules": [{}]}, {"type": "addRules", "rules": "Bash"},
        {"type": "addRules", "rules": [{"toolName": "Read", "ruleContent": "../x"}]},
        {"type": "addDirectories", "directories": [3]}, {"type": "addRules", "behavior": "maybe"},
    ],
    ids=str,
)  # fmt: skip
def test_an_update_that_means_nothing_is_refused(said: dict[str, object]) -> None:
    with pytest.raises(BadUpdate):
        Update.of(said)


# --- always ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("npm test -- -x", "Bash(npm test:*)"),
        ("npm run build:all", "Bash(npm run build:all:*)"),
        ("git commit -m 'a b'", "Bash(git commit:*)"),
        ("pytest -x tests", "Bash(pytest:*)"),
        ("git push", "Bash(git push)"),
        ("python x.py", "Bash(python x.py)"),
        ("npm test && make", "Bash(npm test && make)"),
        ("npm test > a", "Bash(npm test > a)"),
        ("PATH=. npm test", "Bash(PATH=. npm test)"),
        ("sudo make x", "Bash(sudo make x)"),
        ("npm test $(x)", "Bash(npm test $(x))"),
    ],
)
def test_always_gives_a_beginning_only_where_that_is_safe(line: str, rule: str) -> None:
    assert str(suggested(bash(line))) == rule


def test_always_for_other_tools() -> None:
    fetch = call("WebFetch", effects=False, url="https://example.com/a?b")

    assert str(suggested(fetch)) == "WebFetch(domain:example.com)"
    assert str(suggested(call("mcp__git__log"))) == "mcp__git__log"


# --- hooks that hear a question ---------------------------------------------------------------


class Hooks:
    def __init__(self, answer: Answer | None) -> None:
        self.answer = answer
        self.heard: list[str | None] = []

    async def requested(self, question: Question, decision: Decision) -> Answer | None:
        self.heard.append(question.command)
        return self.answer


async def test_a_hook_answers_before_a_person_is_asked_and_where_there_is_none() -> None:
    update = rule_update("addRules", "allow", "Bash(make:*)")
    hooks = Hooks(Answer(allowed=True, reason="a hook", updates=(update,)))
    door = Gate(Judge.of(WORK, Rules(), PermissionMode.DEFAULT), NobodyAsks(), hooks)

    assert (await door.settle(bash("make"))).allowed
    assert (await door.settle(bash("make x"))).allowed
    assert hooks.heard == ["make"]  # the rule it gave spares the second question


async def test_a_hook_that_says_nothing_leaves_it_to_the_person() -> None:
    denied: list[str] = []
    door = Gate(
        Judge.of(WORK, Rules(), PermissionMode.DEFAULT),
        NobodyAsks(),
        Hooks(None),
        denied=lambda question, decision: denied.append(decision.reason),
    )

    assert not (await door.settle(bash("make"))).allowed
    assert "without anyone to ask" in denied[0]


@pytest.mark.parametrize(
    ("rules", "line", "verdict"),
    [
        (Rules(), "make", "allow"),
        (Rules.parse(deny=["Bash(make:*)"]), "make", "deny"),
        (Rules.parse(ask=["Bash(make:*)"]), "make", "ask"),
        (Rules.parse(deny=["Bash(rm:*)"]), "ls 'open", "ask"),
        (Rules.parse(deny=["Bash(rm:*)"]), "$X y", "ask"),
        (Rules.parse(deny=["Bash(git push:*)"]), "git $X", "ask"),
        (Rules(), "ls 'open", "allow"),
    ],
    ids=str,
)
def test_a_hook_that_allows_binds_no_rule_and_no_doubt_about_one(
    rules: Rules, line: str, verdict: str
) -> None:
    said = Decision(verdict=Verdict.ALLOW, reason="a hook")

    assert gate(rules).decide(bash(line), said).verdict == verdict


@pytest.mark.parametrize("word", [Verdict.DENY, Verdict.ASK])
def test_a_hook_that_denies_or_asks_holds_in_every_mode(word: Verdict) -> None:
    said = Decision(verdict=word, reason="a hook")

    assert gate(mode=PermissionMode.BYPASS_PERMISSIONS).decide(bash("ls"), said).verdict is word
