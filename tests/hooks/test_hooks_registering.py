"""What is refused at the start: with the place, what is wrong there, and a mend."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import frozen

from interlock.errors import SettingsError
from interlock.hooks import Event, HookMatcher, OnFailure, parse, registered
from interlock.hooks.hook import BadMatcher, Matcher

AT = ".claude/settings.json:3"


def entry(**keys: Any) -> dict[str, Any]:
    return {"type": "command", "command": "true", **keys}


def one(event: str = "PreToolUse", /, matcher: Any = "Bash", **keys: Any) -> dict[str, Any]:
    return {event: [{"matcher": matcher, "hooks": [entry(**keys)]}]}


def test_the_usual_form_is_read_in_its_order() -> None:
    hooks = parse(
        {
            "PreToolUse": [
                {"matcher": "Edit|Write", "hooks": [entry(command="a", timeout=5), entry()]},
                {"hooks": [entry(command="c", onFailure="continue")]},
            ],
            "Stop": [{"hooks": [entry(statusMessage="checks", once=True)]}],
        },
        AT,
    )

    assert [(hook.event, hook.matcher.text, hook.run, hook.timeout) for hook in hooks] == [
        (Event.PRE_TOOL_USE, "Edit|Write", "a", 5.0),
        (Event.PRE_TOOL_USE, "Edit|Write", "true", 600.0),
        (Event.PRE_TOOL_USE, "", "c", 600.0),
        (Event.STOP, "", "true", 600.0),
    ]
    assert [hook.on_failure for hook in hooks] == ["ask", "ask", "continue", "block"]
    assert hooks[1].origin == f"{AT}: hooks.PreToolUse[0].hooks[1]"


@frozen
class Bad:
    """Something that is wrong, and what the one line about it holds."""

    raw: Any
    words: tuple[str, ...]


BAD = {
    "no object": Bad([], ("hooks [] is no object",)),
    "an event with a slip": Bad(
        {"PreToolUsed": []}, ("'PreToolUsed'", "did you mean PreToolUse?")
    ),
    "an event of nobody": Bad({"Xyz": []}, ("'Xyz'", "there are PreToolUse, ")),
    "no list of groups": Bad({"Stop": {}}, ("hooks.Stop {} is no list",)),
    "no hooks in a group": Bad({"Stop": [{}]}, ("hooks.Stop[0] has no `hooks`",)),
    "a slip in a group": Bad({"Stop": [{"hook": []}]}, ("Stop[0].hook ", "did you mean hooks?")),
    "hooks are no list": Bad({"Stop": [{"hooks": "true"}]}, ("Stop[0].hooks 'true' is no list",)),
    "a hook is text": Bad({"Stop": [{"hooks": ["true"]}]}, ("hooks[0] 'true' is no object",)),
    "no type": Bad({"Stop": [{"hooks": [{"command": "x"}]}]}, ("hooks[0].type is missing",)),
    "another type": Bad(one(type="http", url="x"), ("type 'http' is not supported", '"command"')),
    "a type that is a list": Bad(one(type=["command"]), ("is not supported",)),
    "no command": Bad(one(command=None), ("hooks[0].command is missing",)),
    "a blank command": Bad(one(command="  "), ("command '  ' is no command line",)),
    "a NUL in a command": Bad(one(command="a\0b"), ("is no command line",)),
    "a pattern that is none": Bad(one(matcher="("), ("PreToolUse[0].matcher '('", "A|B")),
    "a matcher that is a number": Bad(one(matcher=3), ("[0].matcher 3 is no text",)),
    "no time": Bad(one(timeout=0), ("hooks[0].timeout 0 is no time limit", "above 0")),
    "time as text": Bad(one(timeout="5"), ("timeout '5' is no time limit",)),
    "true for a time": Bad(one(timeout=True), ("timeout True is no time limit",)),
    "time without end": Bad(one(timeout=float("inf")), ("timeout inf is no time limit",)),
    "a long farewell": Bad(one("SessionEnd", timeout=61), ("SessionEnd hook", "up to 60")),
    "a slip in a time": Bad(one(timout=5), ("hooks[0].timout", "did you mean timeout?")),
    "another failure": Bad(one(onFailure="no"), ("onFailure 'no'", "ask, block, continue")),
    "no such failure": Bad(one("Stop", onFailure="ask"), ("a Stop hook", "block, continue")),
    "a failure in a list": Bad(one(onFailure=["ask"]), ("onFailure ['ask']",)),
    "in the background": Bad(
        one("PreToolUse", "Bash", **{"async": True}), ("async is not supported", "&")
    ),
    "a condition": Bad(
        one("PreToolUse", "Bash", **{"if": "Bash(git *)"}), ("if is not supported", "matcher")
    ),
    "another shell": Bad(one(shell="powershell"), ("shell 'powershell'", "bash")),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_is_refused_in_one_line_that_names_its_place(case: str) -> None:
    with pytest.raises(SettingsError) as caught:
        parse(BAD[case].raw, AT)

    line = str(caught.value)
    assert line.startswith(f"{AT}: hooks")
    assert "\n" not in line
    assert [words for words in BAD[case].words if words not in line] == [], line


def test_what_others_may_have_put_there_is_passed_over() -> None:
    (hook,) = parse(one("Stop", "", **{"async": False, "note": "by the team", "if": None}), AT)

    assert hook.run == "true"


@pytest.mark.parametrize(
    ("matcher", "names", "others"),
    [
        ("", ["Bash", "anything"], []),
        ("*", ["Bash", "anything"], []),
        ("Write", ["Write"], ["NotebookWrite", "write", "Writes"]),
        ("Edit|Write", ["Edit", "Write"], ["MultiEdit"]),
        ("Edit, Write", ["Edit", "Write"], ["MultiEdit"]),
        ("mcp__memory__.*", ["mcp__memory__read"], ["mcp__github__read"]),
        ("^Notebook", ["NotebookEdit"], ["MyNotebook"]),
        ("Note.*", ["NotebookEdit"], ["Bash"]),
        ("|", [], ["Bash", ""]),
    ],
)
def test_a_matcher_is_a_name_some_names_or_a_pattern(
    matcher: str, names: list[str], others: list[str]
) -> None:
    assert [Matcher(matcher).holds(name) for name in names] == [True] * len(names)
    assert [Matcher(matcher).holds(name) for name in others] == [False] * len(others)
    assert Matcher(matcher).holds(None)


def test_a_bad_pattern_is_found_when_it_is_made() -> None:
    with pytest.raises(BadMatcher):
        Matcher("[")


def test_functions_are_registered_by_the_same_words() -> None:
    def look(told: Any) -> None: ...

    (hook,) = registered([HookMatcher(event="Stop", hooks=[look], timeout=3)])

    assert (hook.event, hook.timeout, hook.on_failure) == (Event.STOP, 3.0, OnFailure.BLOCK)
    with pytest.raises(SettingsError, match=r"hooks\[0\] name an event 'stop'.*Stop"):
        registered([HookMatcher(event="stop", hooks=[look])])
    with pytest.raises(SettingsError, match="no regular expression"):
        registered([HookMatcher(event=Event.STOP, hooks=[look], matcher="(")])
    with pytest.raises(SettingsError, match="is no function"):
        registered([HookMatcher(event=Event.STOP, hooks=["true"])])  # type: ignore[list-item]
