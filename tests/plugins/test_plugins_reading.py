"""A folder, read: where parts are found, what they are called, what is left out and why."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from interlock.plugins import Part, Plugin, Problem, Sort, Text, read_plugins
from tests.plugins.writing import Written, plugin, runs


@pytest.fixture
def demo(tmp_path: Path) -> Written:
    return plugin(tmp_path / "demo")


def read(demo: Written) -> Plugin:
    """A plugin that has nothing wrong in it."""
    found = read_plugins([demo.folder])
    assert found.problems == ()
    (one,) = found.loaded
    return one


def problems(demo: Written) -> tuple[Problem, ...]:
    return read_plugins([demo.folder]).problems


def test_parts_are_found_in_the_layout_that_users_know(demo: Written) -> None:
    manifest = demo.manifest(name="tools", version="1.2.0", description="Tools.", author={})
    greet, deep = demo.command("greet"), demo.command("git/commit")
    reviewer, sec = demo.agent("reviewer"), demo.agent("review/security")
    pdf = demo.skill("pdf")
    hooks, servers = demo.hooks(Stop=[runs("true")]), demo.servers(db={"command": "db"})

    found = read_plugins([demo.folder])

    assert manifest.exists()
    assert found.problems == ()
    assert found.notes == ()
    assert found.loaded == (
        Plugin(
            name="tools",
            folder=demo.folder,
            version="1.2.0",
            description="Tools.",
            commands=(
                Text(path=deep, name="tools:git:commit"),
                Text(path=greet, name="tools:greet"),
            ),
            agents=(
                Text(path=sec, name="tools:review:security"),
                Text(path=reviewer, name="tools:reviewer"),
            ),
            skills=(Text(path=pdf, name="tools:pdf"),),
            hooks=(Part(json={"Stop": [runs("true")]}, where=f"{hooks}:1:31"),),
            servers=(Part(name="db", json={"command": "db"}, where=f"{servers}:1:16"),),
        ),
    )


def test_without_a_manifest_or_a_name_in_it_the_folder_names_the_plugin(demo: Written) -> None:
    demo.command("greet")
    assert read(demo).name == "demo"

    demo.manifest(version="1")
    assert read(demo).name == "demo"


def test_commands_and_agents_that_a_manifest_names_stand_in_place_of_the_usual(
    demo: Written,
) -> None:
    demo.command("greet")
    demo.agent("reviewer")
    demo.file("more/deploy.md", "Deploy.")
    demo.file("more/deep/undo.md", "Undo.")
    demo.file("helper.md", "Help.")
    demo.manifest(commands=["./more/", "./more/deploy.md"], agents="./helper.md")

    one = read(demo)

    assert [text.name for text in one.commands] == ["demo:deep:undo", "demo:deploy"]
    assert [text.name for text in one.agents] == ["demo:helper"]


def test_skills_hooks_and_servers_that_it_names_come_beside_the_usual(demo: Written) -> None:
    demo.skill("pdf")
    demo.file("extra/csv/SKILL.md", "Csv.")
    demo.file("single/SKILL.md", "Single.")
    demo.hooks(Stop=[runs("one")])
    demo.json("late.json", {"SessionEnd": [runs("two")]})
    demo.servers(a={"command": "old"}, b={"command": "b"})
    demo.manifest(
        skills=["./extra", "./single"],
        hooks=["./late.json", {"PreCompact": [runs("three")]}],
        mcpServers={"a": {"command": "new"}},
    )

    one = read(demo)

    assert [text.name for text in one.skills] == ["demo:pdf", "demo:csv", "demo:single"]
    assert [part.json for part in one.hooks] == [
        {"Stop": [runs("one")]},
        {"SessionEnd": [runs("two")]},
        {"PreCompact": [runs("three")]},
    ]
    assert {part.name: part.json for part in one.servers} == {
        "a": {"command": "new"},
        "b": {"command": "b"},
    }


def test_a_hooks_file_that_a_manifest_names_once_more_is_read_once(demo: Written) -> None:
    demo.hooks(Stop=[runs("one")])
    demo.manifest(hooks="./hooks/hooks.json")

    assert len(read(demo).hooks) == 1


def test_a_folder_with_a_skill_alone_is_a_plugin_of_one_skill(demo: Written) -> None:
    demo.file("SKILL.md", "Do it.")

    assert [text.name for text in read(demo).skills] == ["demo:demo"]


def test_servers_may_stand_in_their_file_without_a_heading(demo: Written) -> None:
    demo.json(".mcp.json", {"db": {"command": "db"}})

    assert [part.name for part in read(demo).servers] == ["db"]


# --- what is left out -------------------------------------------------------------------------


def test_a_manifest_that_is_no_json_costs_the_plugin_and_is_told_with_its_place(
    demo: Written,
) -> None:
    demo.command("greet")
    path = demo.file(".claude-plugin/plugin.json", '{\n  "name": "demo",\n}')

    found = read_plugins([demo.folder])

    assert found.loaded == ()
    (problem,) = found.problems
    assert (problem.plugin, problem.sort) == ("demo", Sort.MANIFEST)
    assert problem.words.startswith(f"{path}:2:17: ")
    assert problem.words.endswith("the plugin is left out")


@pytest.mark.parametrize("name", ["a b", "", "ü", "1st", "a:b", "../x", 3, None, "x" * 65])
def test_a_name_that_cannot_stand_before_a_colon_costs_the_plugin(
    demo: Written, name: object
) -> None:
    demo.manifest(name=name)

    found = read_plugins([demo.folder])

    assert found.loaded == ()
    (problem,) = found.problems
    assert problem.sort is Sort.NAME
    assert "write letters, digits, - and _" in problem.words


def test_a_folder_whose_name_cannot_be_one_is_told_how_to_give_another(tmp_path: Path) -> None:
    demo = plugin(tmp_path / "my plugin")
    demo.command("greet")

    (problem,) = problems(demo)

    assert 'write {"name": "my-plugin"} into .claude-plugin/plugin.json' in problem.words


def test_a_folder_that_holds_nothing_of_a_plugin_is_told_apart_from_one(demo: Written) -> None:
    demo.file("README.md")

    (problem,) = problems(demo)

    assert problem.words.endswith("name the plugin's own folder")


def test_of_two_plugins_with_one_name_the_first_counts(tmp_path: Path) -> None:
    one, other = plugin(tmp_path / "one"), plugin(tmp_path / "other")
    one.manifest(name="same")
    other.manifest(name="same")

    found = read_plugins([one.folder, other.folder, one.folder])

    assert [each.folder for each in found.loaded] == [one.folder]
    (problem,) = found.problems
    assert str(other.folder) in problem.words
    assert problem.words.endswith("rename one")


@pytest.mark.parametrize(
    "written", ["../outside", "/etc", "./commands/../../outside", "a\0b", " "]
)
def test_a_path_out_of_the_plugin_is_not_followed(demo: Written, written: str) -> None:
    (demo.folder.parent / "outside").mkdir()
    demo.command("greet")
    demo.manifest(commands=written, skills=["./commands"])

    found = read_plugins([demo.folder])

    assert found.loaded[0].commands == ()
    (problem,) = found.problems
    assert ":1:" in problem.words
    assert ": commands: " in problem.words


def test_a_link_out_of_the_plugin_is_not_followed_and_the_rest_goes_on(demo: Written) -> None:
    outside = demo.folder.parent / "secret.md"
    outside.write_text("key")
    (demo.folder.parent / "skill").mkdir()
    (demo.folder.parent / "skill" / "SKILL.md").write_text("key")
    demo.command("greet")
    link = demo.folder / "commands" / "leak.md"
    link.symlink_to(outside)
    (demo.folder / "skills").mkdir()
    (demo.folder / "skills" / "far").symlink_to(demo.folder.parent / "skill")
    (demo.folder / ".mcp.json").symlink_to(outside)

    found = read_plugins([demo.folder])

    (one,) = found.loaded
    assert [text.name for text in one.commands] == ["demo:greet"]
    assert (one.skills, one.servers) == ((), ())
    assert len(found.problems) == 3
    assert all("leads out of the plugin" in problem.words for problem in found.problems)
    assert f"{link}: leads out of the plugin, to {outside}" in found.problems[0].words


def test_a_link_within_the_plugin_is_followed(demo: Written) -> None:
    demo.file("texts/greet.md", "Hello.")
    (demo.folder / "commands").symlink_to(demo.folder / "texts")

    assert [text.name for text in read(demo).commands] == ["demo:greet"]


def test_a_plugin_may_be_named_by_a_link_to_it(demo: Written) -> None:
    demo.command("greet")
    link = demo.folder.parent / "link"
    link.symlink_to(demo.folder)

    (one,) = read_plugins([link]).loaded

    assert (one.name, one.folder) == ("link", link)


def test_a_file_of_any_name_is_told_in_one_line(demo: Written) -> None:
    demo.file("commands/greet.md")
    (demo.folder / "commands" / "a\nb\x1b[2J.md").symlink_to("/etc/passwd")

    (problem,) = problems(demo)

    assert "a\\nb\\x1b[2J.md: leads out of the plugin" in problem.line


def test_a_path_that_is_not_there_is_told(demo: Written) -> None:
    demo.manifest(agents=["./agents/gone.md"], hooks="./gone.json")

    assert [problem.sort for problem in problems(demo)] == [Sort.FOLDER, Sort.FOLDER]


@pytest.mark.parametrize("field", ["commands", "agents", "skills", "hooks", "mcpServers"])
def test_a_field_of_another_shape_costs_that_field(demo: Written, field: str) -> None:
    demo.skill("pdf")
    demo.manifest(**{field: 3})

    found = read_plugins([demo.folder])

    assert [text.name for text in found.loaded[0].skills] == ["demo:pdf"]
    (problem,) = found.problems
    assert f"{field} is a number; write" in problem.words


def test_parts_beside_the_manifest_are_told_to_be_in_the_wrong_place(demo: Written) -> None:
    demo.manifest()
    demo.file(".claude-plugin/commands/greet.md")

    (problem,) = problems(demo)

    assert problem.words.endswith(f"move it into {demo.folder}")


def test_a_folder_that_is_gone_is_a_problem_of_it(tmp_path: Path) -> None:
    (problem,) = read_plugins([tmp_path / "gone"]).problems

    assert problem.sort is Sort.FOLDER
    assert "no such folder" in problem.words


@pytest.mark.skipif(os.geteuid() == 0, reason="no folder is closed to root")
def test_a_closed_folder_is_told(demo: Written) -> None:
    demo.command("greet")
    demo.folder.chmod(0)
    try:
        (problem,) = problems(demo)
    finally:
        demo.folder.chmod(0o700)

    assert "cannot be read" in problem.words


def test_what_has_no_effect_here_is_noted_and_breaks_nothing(demo: Written) -> None:
    demo.manifest(lspServers="./x", comands="./y", keywords=["a"])

    found = read_plugins([demo.folder])

    assert found.problems == ()
    assert [note.partition("plugin.json:")[2] for note in found.notes] == [
        "1:2: lspServers has no effect here",
        "1:21: comands has no effect here; did you mean commands?",
    ]
