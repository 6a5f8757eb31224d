"""What note files import: each file once, bounded, and nothing that was not meant."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from interlock.memory import found, told
from interlock.memory.imports import imports

CLAUDE = """\
# project
@a.md
@missing.md
@self.md
mail me@example.org is not an import
`@code.md` and
```
@code.md
```
@../outside.md
@deep/1.md
@big.bin
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    (project / "deep").mkdir(parents=True)
    texts = {
        "CLAUDE.md": CLAUDE,
        "a.md": "rule A\n@b.md\n",
        "b.md": "rule B\n@a.md\n",
        "self.md": "rule S\n@./self.md\n",
        "code.md": "MUST-NOT-APPEAR",
        "../outside.md": "MUST-NOT-APPEAR",
        **{f"deep/{n}.md": f"level {n}\n@{n + 1}.md\n" for n in range(1, 9)},
        "deep/9.md": "level 9\n",
    }
    for name, text in texts.items():
        (project / name).write_text(text)
    (project / "big.bin").write_bytes(bytes(range(256)) * 400)
    return project


def test_each_file_is_told_once_and_what_is_not_is_named(home: Path, project: Path) -> None:
    text = told(found(project, home))

    for rule in ("rule A", "rule B", "rule S", "level 1", "level 5"):
        assert text.count(rule) == 1
    assert "MUST-NOT-APPEAR" not in text
    assert "level 6" not in text
    assert "@missing.md is not there" in text
    assert "@../outside.md lies outside the project" in text
    assert "@6.md is left out: it is more than 5 imports deep" in text
    assert "it is no text, and left out" in text
    assert f"imported by {project / 'CLAUDE.md'}" in text


def test_a_folder_that_is_worked_in_too_may_be_imported_from(home: Path, project: Path) -> None:
    text = told(found(project, home, [project.parent]))

    assert "outside.md (imported by" in text


def test_the_users_own_file_may_import_from_anywhere(home: Path, project: Path) -> None:
    (home / "CLAUDE.md").write_text(f"@{project.parent}/outside.md")

    assert "MUST-NOT-APPEAR" in told(found(project, home))


def test_all_of_them_together_are_bounded(home: Path, project: Path) -> None:
    for number in range(6):
        (project / f"large{number}.md").write_text("x" * 90_000)
    (project / "CLAUDE.md").write_text("".join(f"@large{n}.md\n" for n in range(6)))

    notes = found(project, home)

    assert sum(len(note.text) for note in notes) <= 400_000
    assert "the notes would be more than 400,000 bytes" in told(notes)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("see @docs/style.md, and @~/mine.md.", ["docs/style.md", "~/mine.md"]),
        ("(@a.md) [@b.md]", ["a.md", "b.md"]),
        ("x@y.z a@b", []),
        ("`@a.md` ``@b `x` @c.md``  @d.md", ["d.md"]),
        ("~~~py\n@a.md\n```\n@b.md\n~~~\n@c.md", ["c.md"]),
        ("````\n```\n@a.md\n````\n@b.md", ["b.md"]),
        ("@someone wrote", ["someone"]),
        ("@", []),
    ],
)
def test_what_counts_as_an_import(text: str, meant: list[str]) -> None:
    assert [one.written for one in imports(text)] == meant


def test_a_person_is_no_missing_file(home: Path, project: Path) -> None:
    (project / "CLAUDE.md").write_text("ask @someone")

    assert "someone is not there" not in told(found(project, home))


@pytest.mark.parametrize("odd", ["@\0", "@" + "x" * 5_000, "@~nobody/x.md", "@/", "@."])
def test_odd_paths_end_nothing(home: Path, project: Path, odd: str) -> None:
    (project / "CLAUDE.md").write_text(f"rule\n{odd}\n")

    found(project, home)


def test_what_is_no_file_is_named_with_what_it_is(home: Path, project: Path) -> None:
    (project / "folder").mkdir()
    os.mkfifo(project / "pipe.md")
    (project / "circle.md").symlink_to("other-circle.md")
    (project / "other-circle.md").symlink_to("circle.md")
    (project / "dangling.md").symlink_to("nowhere.md")
    (project / "CLAUDE.md").write_text("@folder @pipe.md @circle.md @dangling.md @b.md")

    text = told(found(project, home))

    assert "@folder is left out: it is a folder" in text
    assert "@pipe.md is left out: it is a pipe, and no file" in text
    assert "@circle.md is left out: it is a link that leads in circles" in text
    assert "@dangling.md is left out: it is a link to nothing" in text
    assert "rule B" in text


@pytest.mark.parametrize("name", ["CLAUDE.md", ".claude/rules/a.md"])
def test_so_is_a_note_that_is_no_file(home: Path, project: Path, name: str) -> None:
    path = project / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    (path.parent / "circle.md").symlink_to("circle.md")

    text = told(found(project, home))

    assert f"Contents of {path}" in text
    assert "left out: it is a pipe, and no file" in text


@pytest.mark.parametrize(
    ("written", "lines", "tail"),
    [
        ("ten.md#L3-5", "line 3,line 4,line 5", "(lines 3 to 5 of 10)"),
        ("ten.md#L3-L5", "line 3,line 4,line 5", "(lines 3 to 5 of 10)"),
        ("ten.md#4", "line 4", "(lines 4 to 4 of 10)"),
        ("ten.md#L9-99", "line 9,line 10", "(lines 9 to 10 of 10)"),
        ("ten.md#L50", "", "(it has no such lines)"),
        ("ten.md#usage", ",".join(f"line {n}" for n in range(1, 11)), ""),
    ],
)
def test_a_fragment_names_lines_or_a_heading(
    home: Path, project: Path, written: str, lines: str, tail: str
) -> None:
    (project / "ten.md").write_text("".join(f"line {n}\n" for n in range(1, 11)))
    (project / "CLAUDE.md").write_text(f"@{written}")

    (_, note) = found(project, home)

    assert ",".join(note.text.splitlines()) == lines
    assert told([note]).endswith(tail)


def test_a_file_whose_name_holds_the_mark_is_itself(home: Path, project: Path) -> None:
    (project / "c#L1.md").write_text("SHARP")
    (project / "CLAUDE.md").write_text("@c#L1.md")

    assert "SHARP" in told(found(project, home))


def test_several_parts_of_a_file_are_told_each_once(home: Path, project: Path) -> None:
    (project / "ten.md").write_text("".join(f"line {n}.\n" for n in range(1, 11)))
    (project / "CLAUDE.md").write_text("@ten.md#L1-2 @ten.md#L5 @ten.md#L1-2 @ten.md")

    text = told(found(project, home))

    assert [text.count(f"line {n}.") for n in range(1, 11)] == [1, 1, 0, 0, 1, 0, 0, 0, 0, 0]
    assert "@ten.md is not told whole: another import asks for lines of it" in text


def test_parts_that_import_parts_come_to_an_end(home: Path, project: Path) -> None:
    lines = "".join(f"@round.md#L1-{n}\n" for n in range(1, 40))
    (project / "round.md").write_text(lines)
    (project / "CLAUDE.md").write_text("@round.md#L1-39")

    assert len(found(project, home)) < 45
