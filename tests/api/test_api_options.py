"""Options are checked where they are written, and one error tells all that is wrong."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import interlock
from interlock import AgentOptions, Ending, OptionsError, Resume
from interlock.api.opening import Opening
from interlock.options import PermissionMode


async def _asked_elsewhere(progress: object) -> bool:
    return False


async_rule: Any = _asked_elsewhere  # what no type checker would let pass


@pytest.mark.parametrize(
    ("field", "value", "line"),
    [
        ("max_turns", 0, "max_turns: 0 is no whole number from 1 up"),
        ("max_turns", True, "max_turns: True is no whole number from 1 up"),
        ("token_budget", 1.5, "token_budget: 1.5 is no whole number from 1 up"),
        ("max_budget_usd", -1, "max_budget_usd: -1 is no amount above 0"),
        ("cwd", "/no/such/folder", "cwd: no such folder: /no/such/folder"),
        ("plugins", "/no/such/folder", "plugins: no such folder: /no/such/folder"),
        ("permission_mode", "acceptEdit", "did you mean 'acceptEdits'?"),
        ("sandbox", "on", "sandbox: no 'on'; there are required, auto, off"),
        ("setting_sources", ["projects"], "did you mean 'project'?"),
        ("allowed_tools", ["Bash(git"], "allowed_tools: "),
        ("disallowed_tools", "Bash(rm:*", "disallowed_tools: "),
        ("settings", 3, "settings: 3 is neither a mapping nor a path"),
        ("env", {"A": 1}, "env: 'A' is set to 1; names and values are text"),
        ("can_use_tool", "yes", "can_use_tool: 'yes' is no function"),
        ("hooks", [print], "is no hook; decorate it: @hook('PreToolUse')"),
        ("hooks", [interlock.hook("PreTool")(print)], "did you mean PreToolUse?"),
        ("hooks", [interlock.hook("Stop", timeout=-1)(print)], "no time limit of a Stop hook"),
        ("agents", ["reviewer"], "agents: 'reviewer' is no AgentDefinition"),
        ("endings", [bool], "is no Ending(name, when)"),
        ("endings", [Ending("a", async_rule)], "endings: the rule of 'a' is async"),
        ("endings", [Ending("completed", bool)], "'completed' is the table's own name"),
        ("endings", [Ending("a", bool), Ending("a", bool)], "endings: two are called 'a'"),
        ("session_id", "x", "session_id: 'x' is no UUID"),
        ("answer", {"type": 3}, "answer is no JSON Schema: $.type"),
        ("answer", print, "makes no JSON Schema"),
        ("resume", 3, "resume: 3 is no session"),
    ],
)
def test_what_cannot_be_is_told_with_its_field_and_a_mend(
    field: str, value: Any, line: str
) -> None:
    with pytest.raises(OptionsError) as refused:
        AgentOptions(**{field: value})

    (problem,) = refused.value.problems
    assert line in problem
    assert problem.startswith(field)


def test_all_that_is_wrong_is_told_at_once() -> None:
    with pytest.raises(OptionsError) as refused:
        AgentOptions(max_turns=0, permission_mode="yolo", sandbox="maybe")

    assert [one.partition(":")[0] for one in refused.value.problems] == [
        "max_turns",
        "permission_mode",
        "sandbox",
    ]


def test_a_function_that_cannot_be_a_tool_is_told_where_it_is_given() -> None:
    def untyped(city):  # type: ignore[no-untyped-def]
        """Tells the weather."""

    with pytest.raises(interlock.BadTool, match="needs a type hint"):
        AgentOptions(tools=[untyped])


def test_lists_and_single_words_are_taken_as_they_come(tmp_path: Path) -> None:
    options = AgentOptions(
        cwd=str(tmp_path), allowed_tools="Read", disallowed_tools=["Bash"], permission_mode="plan"
    )

    assert options.cwd == tmp_path
    assert (options.allowed_tools, options.disallowed_tools) == (("Read",), ("Bash",))
    assert options.permission_mode is PermissionMode.PLAN


# What the command line can say, and what says it here; None: it is about a terminal or a file.
FLAGS = {
    "cwd": "cwd",
    "model": "model",
    "fallback_models": "fallback_models",
    "max_turns": "max_turns",
    "max_budget_usd": "max_budget_usd",
    "token_budget": "token_budget",
    "system_prompt": "system_prompt",
    "append_system_prompt": "append_system_prompt",
    "asking": "asking",
    "skills": "skills",
    "json_schema": "answer",
    "answer_check": "answer",
    "tools": "built_in_tools",
    "allowed_tools": "allowed_tools",
    "disallowed_tools": "disallowed_tools",
    "directories": "directories",
    "environment": "env",
    "permission_mode": "permission_mode",
    "session_id": "session_id",
    "resume": "resume",
    "include_partial_messages": "raw_events",
    "record": "record",
    "agents": "agents",
    "sandbox_mode": "sandbox",
    "plugins": "plugins",
}
FROM_FILES = {
    "lent_hooks",
    "rules",
    "notes_excluded",
    "auto_memory",
    "lent_tools",
    "skill_shell",
    "memory_folder",
    "hooks",
    "remotes",
    "sandbox",
    "mcp",
    "shipped",
}


def test_everything_that_an_agent_can_be_asked_is_reachable() -> None:
    import attrs

    from interlock.options import Options

    theirs = {one.name for one in attrs.fields(Options)}
    ours = {one.name for one in attrs.fields(AgentOptions)}

    assert theirs - FROM_FILES == set(FLAGS), "a new option needs its name here"
    assert set(FLAGS.values()) <= ours


def test_options_reach_the_agent_as_flags_do(tmp_path: Path) -> None:
    asked = AgentOptions(
        cwd=tmp_path,
        home=tmp_path / "home",
        model="m",
        built_in_tools=["Read"],
        tools=[interlock.tool(name="own", description="d")(print_it)],
        env={"COLOUR": "red"},
        settings={"permissions": {"deny": ["Read(x)"]}},
        setting_sources=(),
        resume=Resume(session="old", fork=True),
        api_key="k",
    )

    opening = Opening.of(asked, {})

    options = opening.options
    assert (options.model, options.tools) == ("m", ("Read", "own"))
    assert options.environment == {"COLOUR": "red"}
    assert [rule.text for rule in options.rules] == ["Read(x)"]
    assert options.resume == Resume(session="old", fork=True, over_mode=True)
    assert (opening.settings.api_key, opening.settings.home) == ("k", tmp_path / "home")


def print_it(text: str) -> str:
    return text


def test_wrong_settings_in_code_are_told_like_those_of_a_file(tmp_path: Path) -> None:
    asked = AgentOptions(cwd=tmp_path, home=tmp_path, settings={"permissions": {"allow": 3}})

    with pytest.raises(interlock.ConfigurationError, match=r"--settings:1:"):
        Opening.of(asked, {})


def test_without_a_key_one_line_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    options = AgentOptions(cwd=tmp_path, home=tmp_path, setting_sources=())

    with pytest.raises(interlock.UsageError, match="no API key"):
        asyncio.run(interlock.run_async("hi", options))


def test_a_key_is_never_shown() -> None:
    assert "sesame" not in repr(AgentOptions(api_key="sesame", env={"TOKEN": "sesame"}))
