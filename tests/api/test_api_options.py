"""Options are checked where they are written, and one error tells all that is wrong."""

from __future__ import annotations

import asyncio
import re
import time
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

import interlock
from interlock import AgentOptions, Asking, Ending, OptionsError, Resume
from interlock.api.opening import Opening
from interlock.options import PermissionMode
from interlock.scripted import reply
from interlock.testing import scene


async def _asked_elsewhere(progress: object) -> bool:
    return False


def print_it(text: str) -> str:
    """Prints it."""
    return text


def untyped(city):  # type: ignore[no-untyped-def]
    """Tells the weather."""


class Shout(interlock.Tool):
    """A tool of a class of its own."""


effort: Any = 5  # this, and what follows, no type checker would let pass
async_rule: Any = _asked_elsewhere


@pytest.mark.parametrize(
    ("field", "value", "line"),
    [
        ("max_turns", 0, "max_turns: 0 is no whole number from 1 up"),
        ("max_turns", True, "max_turns: True is not a whole number or None"),
        ("token_budget", 1.5, "token_budget: 1.5 is not a whole number or None"),
        ("max_budget_usd", -1, "max_budget_usd: -1 is no amount above 0"),
        ("cwd", "/no/such/folder", "cwd: no such folder: /no/such/folder"),
        ("plugins", "/no/such/folder", "plugins: no such folder: /no/such/folder"),
        ("permission_mode", "acceptEdit", "did you mean 'acceptEdits'?"),
        ("sandbox", "on", "sandbox: no 'on'; there are required, auto, off"),
        ("setting_sources", ["projects"], "did you mean 'project'?"),
        ("allowed_tools", ["Bash(git"], "allowed_tools: "),
        ("disallowed_tools", "Bash(rm:*", "disallowed_tools: "),
        ("settings", 3, "settings: 3 is not a mapping, text, a path or None"),
        ("env", {"A": 1}, "env['A']: a value of type int is not text"),
        ("env", {"A=B": "1"}, "env: 'A=B' can be no variable"),
        ("can_use_tool", "yes", "can_use_tool: 'yes' is not a function or None"),
        ("max_budget_usd", float("nan"), "max_budget_usd: nan is no amount above 0"),
        ("cwd", 5, "cwd: 5 is not a path"),
        ("cwd", "/" + "x" * 5000, "cwd: no such folder"),
        ("model", 5, "model: 5 is not text or None"),
        ("model", "", "model: it is empty; leave it out, or name one"),
        ("model", "a\nb", "model: 'a\\nb' holds a line end or a control character"),
        ("fallback_models", ["a", 5], "fallback_models[1]: 5 is not text"),
        ("system_prompt", 5, "system_prompt: 5 is not text or None"),
        ("api_key", b"sesame", "api_key: a value of type bytes is not text or None"),
        ("mcp_servers", 5, "mcp_servers: 5 is not a mapping"),
        ("asking", Asking(effort=effort), "asking.effort: 5 is not text or None"),
        ("resume", Resume(at=effort), "resume.at: 5 is not text or None"),
        ("record", 5, "record: 5 is not True or False or None"),
        ("clock", time, "clock: a value of type module is not a Clock"),
        ("tools", 5, "tools: 5 is not a list"),
        ("tools", "x", "tools: 'x' is not a list"),
        ("tools", [untyped], "the parameter city of the tool untyped needs a type hint"),
        ("tools", [Shout], "is a class; give a tool of it: Shout()"),
        ("tools", [partial(print_it)], "'' is no name for a tool"),
        ("tools", [print_it, print_it], "tools: two are called print_it"),
        ("tools", [interlock.tool(name="Read")(print_it)], "Read is the name of one of ours"),
        ("built_in_tools", ["Zork"], "built_in_tools: no 'Zork'; there are"),
        ("built_in_tools", ["read"], "did you mean 'Read'?"),
        ("hooks", print, "hooks: <built-in function print> is not a list"),
        ("hooks", [print], "is no hook; decorate it: @hook('PreToolUse')"),
        ("hooks", [interlock.hook("PreTool")(print)], "did you mean PreToolUse?"),
        ("hooks", [interlock.hook("Stop", timeout=-1)(print)], "no time limit of a Stop hook"),
        ("agents", ["reviewer"], "agents[0]: 'reviewer' is not an AgentDefinition"),
        ("endings", [bool], "endings[0]: <class 'bool'> is not an Ending"),
        ("endings", [Ending("a", async_rule)], "endings: the rule of 'a' is async"),
        ("endings", [Ending("completed", bool)], "'completed' is the table's own name"),
        ("endings", [Ending("a", bool), Ending("a", bool)], "endings: two are called 'a'"),
        ("session_id", "x", "session_id: 'x' is no UUID"),
        ("answer", {"type": 3}, "answer is no JSON Schema: $.type"),
        ("answer", print, "makes no JSON Schema"),
        ("answer", lambda: 1, "makes no JSON Schema: give a type, or a JSON Schema as a mapping"),
        ("answer", "str", "answer: 'str' makes no JSON Schema"),
        ("api_key", "sesame\n", "api_key: it holds a line end or a control character"),
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


def told_of(field: str, value: object) -> tuple[str, ...]:
    """The problems with it; none where options can be made."""
    try:
        AgentOptions(**{field: value})  # type: ignore[arg-type]
    except OptionsError as error:
        return error.problems
    return ()


# Values of every kind, and the fields that each kind is right for.
LISTS = {
    "fallback_models",
    "allowed_tools",
    "disallowed_tools",
    "directories",
    "skills",
    "built_in_tools",
    "setting_sources",
}
NAMES = LISTS - {"directories"}
TEXT = {
    "model",
    "system_prompt",
    "append_system_prompt",
    "permission_mode",
    "sandbox",
    "session_id",
    "resume",
    "settings",
    "api_key",
    "base_url",
}
KINDS: list[tuple[object, set[str]]] = [
    (5, {"max_turns", "token_budget", "max_budget_usd"}),
    (0.5, {"max_budget_usd"}),
    (True, {"partial_messages", "raw_events", "record"}),
    ("word", TEXT | LISTS | {"cwd", "home"}),
    (b"word", set()),
    (Path("word"), {"cwd", "home", "settings"}),
    (["word"], LISTS),
    ([5], set()),
    ((None,), set()),
    ({"word": "word"}, {"settings", "mcp_servers", "env", "answer"}),
    ({5: 5}, {"answer"}),
    (print_it, {"can_use_tool", "on_question"}),
    (print_it.__code__, set()),
    (object(), set()),
]


@given(
    st.sampled_from(attrs.fields(AgentOptions)),
    st.sampled_from(KINDS),
    st.booleans(),
)
def test_a_value_of_a_wrong_kind_is_an_error_that_names_its_field(
    field: attrs.Attribute[Any], kind: tuple[object, set[str]], in_a_list: bool
) -> None:
    value, right_for = kind
    if in_a_list:
        value = [value]
        right_for = {"directories"} if isinstance(kind[0], Path) else set[str]()
        right_for |= LISTS if isinstance(kind[0], str) else set[str]()
        right_for |= {"tools"} if kind[0] is print_it else set[str]()
    if field.name == "answer":
        return  # any type may be one: what makes no schema has a test of its own

    problems = told_of(field.name, value)

    assert problems or field.name in right_for, value
    for line in problems:
        assert re.match(rf"{field.name}\b.*: ", line), line


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


def test_wrong_settings_in_code_are_told_like_those_of_a_file(tmp_path: Path) -> None:
    asked = AgentOptions(cwd=tmp_path, home=tmp_path, settings={"permissions": {"allow": 3}})

    with pytest.raises(interlock.ConfigurationError, match=r"--settings:1:"):
        Opening.of(asked, {})


async def test_a_skill_that_is_not_there_is_told_when_the_agent_opens(tmp_path: Path) -> None:
    async with scene([reply("hi")], tmp_path) as place:
        skill = place.work / ".claude" / "skills" / "greet" / "SKILL.md"
        skill.parent.mkdir(parents=True)
        skill.write_text("---\nname: greet\ndescription: greets\n---\nGreet.\n")
        ran = await place.run("hi", place.options(skills=["greet"], setting_sources="project"))
        with pytest.raises(OptionsError, match="skills: 'gret': no skill here has this name"):
            await place.run("hi", place.options(skills="gret", setting_sources="project"))

    assert ran.result.ok


def test_without_a_key_one_line_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    options = AgentOptions(cwd=tmp_path, home=tmp_path, setting_sources=())

    with pytest.raises(interlock.UsageError, match="no API key"):
        asyncio.run(interlock.run_async("hi", options))


def test_a_key_is_never_shown() -> None:
    assert "sesame" not in repr(AgentOptions(api_key="sesame", env={"TOKEN": "sesame"}))
