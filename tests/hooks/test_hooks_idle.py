"""A matcher that can match nothing is told at the start: its hook is a guard in name only."""

from __future__ import annotations

from pathlib import Path

import pytest

from interlock.hooks import idle
from interlock.tools import names
from tests.configuration.places import made


def told(matcher: str | None, event: str = "PreToolUse") -> list[str]:
    group = {"matcher": matcher, "hooks": [{"type": "command", "command": "true"}]}
    return [words for _, words in idle({event: [group]}, names())]


@pytest.mark.parametrize(
    ("matcher", "mend"),
    [
        ("bash", "did you mean Bash?"),
        ("Edit|write", "did you mean Write?"),
        ("Edit, MultEdit", "did you mean MultiEdit?"),
        ("Xyzzy", "there is none of that name"),
        ("^bash$", "capitals count: Bash"),
        ("Bash(rm:*)", "look at tool_input in the hook"),
        ("Edit(src/*.py)", "look at tool_input in the hook"),
        ("WebFetch(domain:example.com)", "look at tool_input in the hook"),
    ],
)
def test_a_matcher_that_matches_no_tool_is_told_with_a_mend(matcher: str, mend: str) -> None:
    (words,) = told(matcher)

    assert words.endswith(mend)
    assert words.startswith("the matcher ")


@pytest.mark.parametrize(
    "matcher",
    [
        *(None, "", "*", "|", "Bash", "Edit|Write", "mcp__memory__write", "mcp__memory|Bash"),
        *(
            "mcp__.*",
            ".*",
            "bash.*",
            "^mcp__x",
            "^[Bb]ash",
            "Notebook.*",
            "(Bash|Edit)",
            "^m?bash",
        ),
        *("^bash|mcp__shell", "(?i)bash", "Task", "Agent|WebSearch", "Bash(Output)?", ".*write.*"),
    ],
)
def test_one_that_matches_or_could_is_not(matcher: str | None) -> None:
    assert told(matcher) == []


@pytest.mark.parametrize(
    ("event", "matcher", "said"),
    [
        ("SessionStart", "startup|Resume", ["did you mean resume?"]),
        ("PreCompact", "Manual", ["did you mean manual?"]),
        ("PreCompact", "auto", []),
        ("Notification", "auth_success", []),
        ("SubagentStop", "reviewer", []),
        ("Stop", "Bash", []),
    ],
)
def test_of_other_events_what_comes_near_is_told(
    event: str, matcher: str, said: list[str]
) -> None:
    assert [words.partition("; ")[2] for words in told(matcher, event)] == said


def test_it_is_told_at_the_start_with_file_and_line(tmp_path: Path) -> None:
    place = made(tmp_path)
    path = place.write(
        place.home / "settings.json",
        '{"hooks": {"PreToolUse": [\n'
        ' {"matcher": "Bash", "hooks": []},\n'
        ' {"matcher": "bash", "hooks": [{"type": "command", "command": "exit 2"}]}]}}',
    )

    assert path.exists()
    assert place.configured().configuration.warnings == (
        (
            "~/.interlock/settings.json:3:14: the matcher 'bash' names no tool, the hook does "
            "not run for it; did you mean Bash?"
        ),
    )
