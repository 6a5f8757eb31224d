"""Which skills and commands there are, what each says of itself, and what the model is told."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.skills import Kind, Skill, SkillBook, catalogue, listing
from tests.skills.writing import command, skill


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project" / "sub").mkdir(parents=True)
    return tmp_path / "project"


def test_names_come_from_front_matter_or_folders(home: Path, project: Path) -> None:
    skill(project / ".claude", "review")
    skill(project / ".claude", "front/forms")
    skill(project / ".claude", "x", name="better")
    command(project / ".claude", "git/commit")
    command(project / ".claude", "fix")

    found = catalogue(home, [project])

    assert {name: one.kind for name, one in found.skills.items()} == {
        "review": Kind.SKILL,
        "front:forms": Kind.SKILL,
        "better": Kind.SKILL,
        "git:commit": Kind.COMMAND,
        "fix": Kind.COMMAND,
    }
    assert found.problems == ()


def test_the_users_own_go_before_and_interlock_before_claude_and_near_before_far(
    home: Path, project: Path
) -> None:
    skill(home, "a", description="user")
    for folder in (project / ".claude", project / ".interlock", project / "sub" / ".claude"):
        skill(folder, "a", description="project")
        skill(folder, "b", description=str(folder.relative_to(project)))
    skill(project / ".claude", "c", description="claude")
    skill(project / ".interlock", "c", description="interlock")

    found = catalogue(home, [project, project / "sub"])

    told = {name: one.description for name, one in found.skills.items()}
    assert told == {"a": "user", "b": "sub/.claude", "c": "interlock"}
    assert len(found.shadowed) == 6


def test_everything_in_the_front_matter_is_heard(home: Path, project: Path) -> None:
    skill(
        project / ".claude",
        "ship",
        description="Ships it.",
        when_to_use="On Fridays.",
        argument_hint="[where] [when]",
        arguments="where when",
        allowed_tools="Bash(git push:*), Read",
        disable_model_invocation="true",
        model="claude-haiku-4-5",
    )
    found = catalogue(home, [project]).skills["ship"]

    assert found.argument_hint == "[where] [when]"
    assert found.argument_names == ("where", "when")
    assert found.allowed_tools == ("Bash(git push:*), Read",)
    assert found.model == "claude-haiku-4-5"
    assert (found.by_model, found.by_user, found.listed) == (False, True, False)


def test_one_that_runs_as_an_agent_says_of_which_type(home: Path, project: Path) -> None:
    skill(project / ".claude", "x", context="fork", agent="Explore", model="haiku")

    found = catalogue(home, [project])

    one = found.skills["x"]
    assert (one.forks, one.agent, one.model, found.problems) == (True, "Explore", "haiku", ())


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"colour": "red"}, "colour: no such key, it has no effect"),
        ({"contxt": "fork"}, "contxt: no such key, it has no effect; did you mean context?"),
        ({"hooks": "run.sh"}, "hooks: no object with events, it has no effect"),
        (
            {"effort": "huge"},
            "effort 'huge' is unknown, and has no effect; there are low, medium, high, xhigh, max",
        ),
        (
            {"shell": "powershell"},
            "shell 'powershell': there is bash alone; commands in the text are not run",
        ),
        (
            {"user-invocable": "perhaps"},
            "user-invocable is 'perhaps', and has no effect; write true or false",
        ),
        ({"context": "spoon"}, "context 'spoon' is unknown, and has no effect; there is fork"),
        ({"agent": "Explore"}, "agent: has no effect without context: fork"),
        ({"name": "a b"}, "its name 'a b' cannot be typed as a command; it is called x"),
        ({"description": "a: b"}, "its front matter is no YAML in line 2"),
    ],
)
def test_what_is_odd_is_told_and_the_skill_works(
    home: Path, project: Path, fields: dict[str, str], problem: str
) -> None:
    skill(project / ".claude", "x", **fields)

    found = catalogue(home, [project])

    assert list(found.skills) == ["x"]
    assert [one.words for one in found.problems] == [problem]
    line = 1 if "YAML" in problem else 3  # its own, behind the description
    assert found.problems[0].place == f"{found.skills['x'].path}:{line}"


@pytest.mark.parametrize(
    ("data", "problem"),
    [(b"\0", "it is no text"), (b"x" * 200_001, "it is larger than 200,000 bytes; put details")],
)
def test_what_cannot_be_a_skill_is_told_and_the_others_are_there(
    home: Path, project: Path, data: bytes, problem: str
) -> None:
    skill(project / ".claude", "good")
    skill(project / ".claude", "bad").write_bytes(data)

    found = catalogue(home, [project])

    assert list(found.skills) == ["good"]
    assert found.problems[0].words.startswith(problem)


# --- the list ---


def of(count: int, length: int) -> list[Skill]:
    return [
        Skill(
            name=f"skill-{number:03}",
            kind=Kind.SKILL,
            path=Path("/x"),
            origin="user",
            description="d" * length,
        )
        for number in range(count)
    ]


def test_within_the_budget_descriptions_are_whole() -> None:
    told = listing(of(3, 50), 1_000)

    assert told.splitlines()[1:] == [f"- skill-00{n}: {'d' * 50}" for n in range(3)]


def test_over_it_all_are_shortened_alike() -> None:
    lengths = {len(line) for line in listing(of(100, 400), 8_000).splitlines()[1:]}

    assert len(lengths) == 1
    assert 60 < lengths.pop() < 81


def test_far_over_it_the_last_are_named_and_then_counted() -> None:
    named = listing(of(100, 400), 3_000)
    counted = listing(of(1_000, 400), 3_000)

    assert named.splitlines()[-1] == "- skill-099"
    assert counted.splitlines()[-1].endswith("more; ls the folders of skills to see them)")


@given(st.integers(0, 300), st.integers(1, 1_200), st.integers(400, 10_000))
def test_it_is_never_over_the_budget(count: int, length: int, budget: int) -> None:
    assert len(listing(of(count, length), budget)) <= budget


def test_commands_without_a_description_are_for_the_user_alone(home: Path, project: Path) -> None:
    command(project / ".claude", "quiet")
    command(project / ".claude", "told", description="Tells.")
    book = SkillBook.of(home, [project], 8_000)

    assert book.listing.splitlines()[1:] == ["- told: Tells."]


# --- changes ---


def test_what_changes_while_a_session_runs_is_told_once(home: Path, project: Path) -> None:
    skill(project / ".claude", "a", description="One.")
    skill(project / ".claude", "b", description="Two.")
    book = SkillBook.of(home, [project], 8_000)

    skill(project / ".claude", "a", description="Another one.")
    skill(project / ".claude", "b").unlink()
    skill(project / ".claude", "c", description="Three.")
    book.look()

    assert book.news().splitlines() == [
        "The list of skills has changed:",
        "new, or changed: c: Three.",
        "new, or changed: a: Another one.",
        "no longer there: b",
    ]
    assert book.news() == ""
    assert "c: Three." in book.difference()


def test_the_last_part_of_a_name_is_enough_where_one_alone_has_it(
    home: Path, project: Path
) -> None:
    command(project / ".claude", "git/commit")
    command(project / ".claude", "db/reset")
    command(project / ".claude", "web/reset")
    book = SkillBook.of(home, [project], 8_000)

    assert book.find("/commit") is book.skills["git:commit"]
    assert book.find("reset") is None
    assert book.nearest("git:comit") == "git:commit"


@pytest.mark.parametrize(
    ("head", "words"),
    [
        ("name: [1, 2]", "name is [1, 2], and no text; it has no effect"),
        ("description: {a: 1}", "description is {'a': 1}, and no text; it has no effect"),
        ("model: 5", "model is 5, and no text; it has no effect"),
        ("context: fork\nagent: true", "agent is True, and no text; it has no effect"),
        (
            "allowed-tools: {a: 1}",
            "allowed-tools is {'a': 1}, and no list of texts; it has no effect",
        ),
        (
            "allowed-tools: [Read, 5]",
            "allowed-tools is ['Read', 5], and no list of texts; it has no effect",
        ),
        ("arguments: 7", "arguments is 7, and no list of texts; it has no effect"),
        (
            "arguments: issue 2nd",
            "arguments: '2nd' is no name, so nothing is filled in for it",
        ),
        ("argument-hint: {a: 1}", "argument-hint holds keys, and is no text; it has no effect"),
    ],
)
def test_a_field_of_the_wrong_kind_is_named_and_does_nothing(
    home: Path, project: Path, head: str, words: str
) -> None:
    path = project / ".claude" / "skills" / "odd" / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text(f"---\n{head}\n---\nDo it.\n")

    found = catalogue(home, [project])

    assert [(one.path, one.words) for one in found.problems] == [(path, words)]
    (only,) = found.skills.values()
    assert (only.name, only.allowed_tools, only.model, only.agent) == ("odd", (), None, None)


@pytest.mark.parametrize(
    "head",
    [
        "description: 5",
        "argument-hint: [issue]",
        "allowed-tools: Bash(git add:*), Read",
        "allowed-tools: [Bash(ls), Read]",
        "arguments: [issue, branch]",
        "arguments: issue, branch",
        "model: inherit",
    ],
)
def test_a_field_of_the_right_kind_is_not_odd(home: Path, project: Path, head: str) -> None:
    path = project / ".claude" / "skills" / "plain" / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text(f"---\n{head}\n---\nDo it.\n")

    assert catalogue(home, [project]).problems == ()


def test_a_skill_that_is_a_pipe_is_named(home: Path, project: Path) -> None:
    path = project / ".claude" / "skills" / "pipe" / "SKILL.md"
    path.parent.mkdir(parents=True)
    os.mkfifo(path)

    (problem,) = catalogue(home, [project]).problems

    assert problem.unusable
    assert problem.words == "it cannot be read: it is a pipe, and no file"


def test_a_skill_that_is_a_link_to_a_key_is_named_alone(home: Path, project: Path) -> None:
    (project / "id_rsa").write_text("SECRET")
    kept = skill(home.parent / "shared", "kept")
    for name, target in (("key", project / "id_rsa"), ("kept", kept)):
        path = project / ".claude" / "skills" / name / "SKILL.md"
        path.parent.mkdir(parents=True)
        path.symlink_to(target)

    found = catalogue(home, [project])

    assert list(found.skills) == ["kept"]
    (problem,) = found.problems
    assert problem.words == f"left out: it is a link to {project}/id_rsa, which is no text"
