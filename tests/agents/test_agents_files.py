"""Agent types from files, from JSON and from code; a bad one costs one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from interlock.agents.catalogue import Catalogue, UnknownType
from interlock.agents.definition import AgentDefinition, BadDefinition, definition_of
from interlock.agents.files import found, from_json
from interlock.errors import UsageError
from interlock.options import PermissionMode

REVIEWER = """\
---
name: reviewer
description: Use it for: reviews, after each change
tools: Read, Grep, Agent(Explore, Plan)
disallowedTools: Bash(rm:*)
model: haiku
permissionMode: plan
maxTurns: 7
color: blue
---

You review code.
"""


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "work" / ".git").mkdir(parents=True)
    return tmp_path / "work"


def simple(name: str, words: str) -> str:
    return f"---\nname: {name}\ndescription: {words}\n---\n{words}"


def test_a_file_says_all_that_a_definition_holds(work: Path, home: Path) -> None:
    put(work / ".claude/agents/reviewer.md", REVIEWER)

    result = found(work, home)

    assert result.warnings == []
    assert result.types["reviewer"] == AgentDefinition(
        name="reviewer",
        description="Use it for: reviews, after each change",
        prompt="You review code.",
        tools=("Read", "Grep", "Agent"),
        disallowed_tools=("Bash(rm:*)",),
        spawns=("Explore", "Plan"),
        model="haiku",
        permission_mode=PermissionMode.PLAN,
        max_turns=7,
        unheard=("color",),
        origin="project, .claude/agents/reviewer.md",
    )


def test_the_nearer_file_goes_over_the_farther(work: Path, home: Path) -> None:
    below = work / "sub"
    below.mkdir()
    put(home / "agents/a.md", simple("a", "user"))
    put(home / "agents/b.md", simple("b", "user"))
    put(work / ".claude/agents/a.md", simple("a", "project"))
    put(work / ".claude/agents/c.md", simple("c", "claude"))
    put(work / ".interlock/agents/c.md", simple("c", "interlock"))
    put(below / ".claude/agents/deep/d.md", simple("a", "nearest"))

    types = found(below, home).types

    assert {name: one.prompt for name, one in types.items()} == {
        "a": "nearest",
        "b": "user",
        "c": "interlock",
    }
    assert set(found(below, home, project=False).types) == {"a", "b"}
    assert found(below, home, user=False, project=False).types == {}


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("Just prose.", 1, "it has no front matter"),
        ("---\nname: x\nPrompt", 1, "its front matter has no closing ---"),
        ("---\ndescription: d\n---\nP", 1, "it has no name"),
        ("---\nname: x\n---\nP", 1, "it has no description"),
        ("---\nname: x\ndescription: d\n---\n", 1, "it has no prompt"),
        ("---\nname: a b\ndescription: d\n---\nP", 2, "'a b' is no name for an agent"),
        (
            "---\nname: x\ndescription: d\npermissionMode: yolo\n---\nP",
            4,
            "permissionMode 'yolo' is unknown",
        ),
        ("---\nname: x\ndescription: d\nmaxTurns: few\n---\nP", 4, "maxTurns 'few' is no whole"),
        (
            "---\nname: x\ndescription: d\ntools: Bash(git:*)\n---\nP",
            4,
            "'Bash(git:*)' names some calls of a tool; write Bash",
        ),
    ],
)
def test_a_bad_file_costs_one_line_and_the_others_go_on(
    work: Path, home: Path, text: str, line: int, words: str
) -> None:
    bad = work / ".claude/agents/bad.md"
    put(bad, text)
    put(work / ".claude/agents/good.md", simple("good", "g"))

    result = found(work, home)

    assert set(result.types) == {"good"}
    (warning,) = result.warnings
    assert warning.startswith(f"{bad}:{line}: ")
    assert words in warning
    assert "\n" not in warning


def test_bytes_that_are_no_text_and_files_without_end_are_left_out(work: Path, home: Path) -> None:
    folder = work / ".claude/agents"
    put(folder / "long.md", simple("long", "x" * 300_000))
    (folder / "bytes.md").write_bytes(b"---\nname: x\n\xff\xfe")

    result = found(work, home)

    assert result.types == {}
    assert [warning.partition(": ")[2] for warning in result.warnings] == [
        "it is no UTF-8 text, and is left out",
        "600,033 bytes; an agent has at most 200,000",
    ]


def test_two_of_one_name_in_one_folder_are_told(work: Path, home: Path) -> None:
    put(work / ".claude/agents/1.md", simple("x", "first"))
    put(work / ".claude/agents/2.md", simple("x", "second"))

    result = found(work, home)

    assert result.types["x"].prompt == "first"
    assert "a second agent called x" in result.warnings[0]


def test_fields_without_effect_are_told_and_the_rest_counts(work: Path, home: Path) -> None:
    text = "---\nname: x\ndescription: d\ninitialPrompt: go\n---\nP"
    put(work / ".claude/agents/x.md", text)

    result = found(work, home)

    assert set(result.types) == {"x"}
    assert result.notes == [f"{work}/.claude/agents/x.md:4: initialPrompt has no effect here"]
    assert result.warnings == []


def test_servers_are_names_and_definitions(work: Path, home: Path) -> None:
    listed = "  - hub\n  - own:\n      command: x\n"
    put(work / ".claude/agents/x.md", f"---\nname: x\ndescription: d\nmcpServers:\n{listed}---\nP")
    put(work / ".claude/agents/y.md", "---\nname: y\ndescription: d\nmcpServers: a, b\n---\nP")
    put(work / ".claude/agents/z.md", "---\nname: z\ndescription: d\nmcpServers: [7]\n---\nP")

    result = found(work, home)

    assert result.types["x"].servers == ("hub", "own")
    assert result.types["x"].own_servers == {"own": {"command": "x"}}
    assert result.types["y"].servers == ("a", "b")
    (warning,) = result.warnings
    assert warning == (
        f"{work}/.claude/agents/z.md:4: mcpServers: 7 is no server; write a name, or name: and its"
        " definition; it is left out"
    )


def test_json_gives_types_as_files_do() -> None:
    one, other = from_json(
        '{"a": {"description": "d", "prompt": "p", "tools": ["Read"], "maxTurns": 3},'
        ' "b": {"description": "e", "prompt": "q", "background": true}}'
    )

    assert (one.name, one.tools, one.max_turns, one.origin) == ("a", ("Read",), 3, "--agents")
    assert other.background


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "--agents is no JSON"),
        ("[]", "--agents is no object"),
        ('{"a": 1}', "--agents: a is no object"),
        ('{"a": {"prompt": "p"}}', "--agents: a: it has no description"),
        ("@/nowhere/agents.json", "/nowhere/agents.json cannot be read: No such file"),
    ],
)
def test_json_that_cannot_be_used_is_refused_with_one_line(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        from_json(text)


def test_what_is_given_goes_over_what_is_built_in() -> None:
    mine = AgentDefinition(name="Explore", description="mine", prompt="M.")

    catalogue = Catalogue.of((mine,))

    assert catalogue.find("Explore") is mine
    assert catalogue.find(None).name == "general-purpose"
    assert catalogue.find("general").name == "general-purpose"
    assert "- Explore: mine (tools: yours)" in catalogue.told()


def test_a_type_called_fork_is_told_once_and_goes_over_the_built_in_one() -> None:
    catalogue = Catalogue.of((AgentDefinition(name="fork", description="mine", prompt="M."),))

    assert catalogue.told().count("- fork:") == 1
    assert "- fork: mine" in catalogue.told()
    with pytest.raises(UnknownType) as unknown:
        catalogue.find("nobody")
    assert str(unknown.value).count("fork") == 1


def test_a_hundred_types_with_long_descriptions_stay_within_a_budget() -> None:
    many = [
        AgentDefinition(name=f"agent-{number}", description="d" * 2_000, prompt="P.")
        for number in range(100)
    ]

    told = Catalogue.of(many).told()

    assert len(told) < 15_000
    assert "- agent-99" in told


def test_an_empty_list_of_tools_means_none() -> None:
    fields = {"name": "x", "description": "d", "tools": []}
    assert definition_of(fields, prompt="P", origin="test").tools == ()
    assert definition_of({**fields, "tools": "*"}, prompt="P", origin="test").tools is None
    with pytest.raises(BadDefinition):
        definition_of({**fields, "tools": {"a": 1}}, prompt="P", origin="test")
