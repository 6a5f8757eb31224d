"""What lies between the question and the write: a person approves the change that is made."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from attrs import define, frozen

from interlock.options import PermissionMode
from interlock.permissions import Rules
from interlock.permissions.ask import Answer
from interlock.permissions.decision import Decision, Question
from interlock.tools import FileReads, built_in
from interlock.tools.reads import digest
from phases.world.messages import ToolResult, ToolUse
from tests.tools.running import Bench, bench

NOTEBOOK = '{"cells": [{"cell_type": "raw", "source": "one"}], "nbformat": 4}'


@define
class Person:
    """Someone who says yes, and around whom things happen in the meantime."""

    meanwhile: Callable[[], None] = lambda: None
    shown: str | None = None

    async def ask(self, question: Question, decision: Decision) -> Answer:
        assert question.preview is not None
        self.shown = await question.preview()
        self.meanwhile()
        return Answer(allowed=True, reason="the user allowed it")


@frozen(kw_only=True)
class Case:
    tool: str
    file: str
    before: str
    arguments: dict[str, Any]

    def use(self, path: str | None = None) -> ToolUse:
        name = "notebook_path" if self.tool == "NotebookEdit" else "file_path"
        return ToolUse(
            id=self.tool, name=self.tool, input={name: path or self.file, **self.arguments}
        )


EDIT = {"old_string": "one", "new_string": "two"}
CASES = (
    Case(tool="Edit", file="a.txt", before="one\n", arguments=EDIT),
    Case(tool="MultiEdit", file="a.txt", before="one\n", arguments={"edits": [EDIT]}),
    Case(tool="Write", file="a.txt", before="one\n", arguments={"content": "two\n"}),
    Case(
        tool="NotebookEdit",
        file="a.ipynb",
        before=NOTEBOOK,
        arguments={"cell_id": "cell-0", "new_source": "two"},
    ),
)
every_tool = pytest.mark.parametrize("case", CASES, ids=lambda case: case.tool)


async def read_then(at: Bench, path: str, *calls: ToolUse) -> list[ToolResult]:
    await at.run(ToolUse(id="read", name="Read", input={"file_path": path}))
    return await at.run(*calls)


def asked(
    folder: Path, person: Person, reads: FileReads | None = None
) -> AbstractAsyncContextManager[Bench]:
    mode = PermissionMode.DEFAULT
    return bench(folder, tools=built_in(), mode=mode, asker=person, reads=reads)


@every_tool
async def test_a_change_that_is_approved_is_made_as_it_was_shown(folder: Path, case: Case) -> None:
    path = folder / case.file
    path.write_text(case.before)
    person = Person()

    async with asked(folder, person) as at:
        (result,) = await read_then(at, case.file, case.use())

    assert not result.is_error
    assert person.shown is not None
    assert "-one" in person.shown
    assert "+two" in person.shown
    assert "two" in path.read_text()


@every_tool
async def test_a_file_changed_while_a_person_is_asked_is_not_overwritten(
    folder: Path, case: Case
) -> None:
    path = folder / case.file
    path.write_text(case.before)
    theirs = case.before.replace("one", "one and more")
    person = Person(lambda: void(path.write_text(theirs)))

    async with asked(folder, person) as at:
        (result,) = await read_then(at, case.file, case.use())

    assert result.is_error
    assert "Read it again" in result.text
    assert path.read_text() == theirs


@every_tool
async def test_nor_is_it_if_the_session_has_seen_the_new_content_by_then(
    folder: Path, case: Case
) -> None:
    """An agent beside this one may have read it; the person still approved another change."""
    path = folder / case.file
    path.write_text(case.before)
    theirs = case.before.replace("one", "one and more")

    reads = FileReads()

    def meanwhile() -> None:
        path.write_text(theirs)
        reads.remember(path, digest(theirs.encode()))

    async with asked(folder, Person(meanwhile), reads) as at:
        (result,) = await read_then(at, case.file, case.use())

    assert result.is_error
    assert "while this call waited for approval" in result.text
    assert path.read_text() == theirs


@every_tool
async def test_equal_content_put_there_meanwhile_is_no_change(folder: Path, case: Case) -> None:
    path = folder / case.file
    path.write_text(case.before)

    def rewrite() -> None:
        path.unlink()
        path.write_text(case.before)

    async with asked(folder, Person(rewrite)) as at:
        (result,) = await read_then(at, case.file, case.use())

    assert not result.is_error


@every_tool
async def test_a_file_deleted_while_a_person_is_asked_is_not_made_again(
    folder: Path, case: Case
) -> None:
    path = folder / case.file
    path.write_text(case.before)

    async with asked(folder, Person(path.unlink)) as at:
        (result,) = await read_then(at, case.file, case.use())

    assert result.is_error
    assert not path.exists()


async def test_a_file_that_came_while_a_person_was_asked_for_a_new_one_stays(
    folder: Path,
) -> None:
    path = folder / "a.txt"
    person = Person(lambda: void(path.write_text("theirs\n")))

    async with asked(folder, person) as at:
        (result,) = await at.run(CASES[2].use())

    assert result.is_error
    assert path.read_text() == "theirs\n"


async def test_a_change_by_a_command_in_between_is_seen_although_its_time_is_set_back(
    folder: Path,
) -> None:
    (folder / "a.txt").write_text("one\n")
    (folder / "b.txt").write_text("two\n")
    command = "sed -i 's/one/ONE/' a.txt; touch -d '2001-01-01' a.txt"
    rules = Rules.parse(allow=["Bash"])
    tools = built_in()

    async with bench(folder, tools=tools, rules=rules, mode=PermissionMode.ACCEPT_EDITS) as at:
        await at.run(ToolUse(id="1", name="Read", input={"file_path": str(folder / "a.txt")}))
        await at.run(ToolUse(id="2", name="Bash", input={"command": command}))
        results = await at.run(
            ToolUse(id="3", name="Write", input={"file_path": "a.txt", "content": "over\n"}),
            ToolUse(
                id="4",
                name="Edit",
                input={"file_path": "b.txt", "old_string": "two", "new_string": "2"},
            ),
        )
        tools["Bash"].close()

    assert [result.is_error for result in results] == [True, True]
    assert "Read it again" in results[0].text
    assert "Read it first" in results[1].text
    assert (folder / "a.txt").read_text() == "ONE\n"
    assert (folder / "b.txt").read_text() == "two\n"


# --- permissions -----------------------------------------------------------------------------


@every_tool
async def test_where_edits_are_accepted_all_tools_that_edit_run(folder: Path, case: Case) -> None:
    (folder / case.file).write_text(case.before)

    async with bench(folder, tools=built_in(), mode=PermissionMode.ACCEPT_EDITS) as at:
        (result,) = await read_then(at, case.file, case.use())

    assert not result.is_error


@every_tool
@pytest.mark.parametrize(
    ("rules", "denied"),
    [
        (Rules.parse(deny=["Edit(sub/**)"]), True),
        (Rules.parse(deny=["Read(sub/**)"]), True),
        (Rules.parse(deny=["Edit(other/**)"]), False),
    ],
    ids=["edit denied", "read denied", "another folder"],
)
async def test_a_rule_about_edits_is_about_every_tool_that_edits(
    folder: Path, case: Case, rules: Rules, denied: bool
) -> None:
    path = folder / "sub" / case.file
    path.parent.mkdir()
    path.write_text(case.before)

    reads = FileReads()
    reads.remember(path, digest(path.read_bytes()))

    async with bench(folder, tools=built_in(), rules=rules, reads=reads) as at:
        (result,) = await at.run(case.use(f"sub/{case.file}"))

    assert result.is_error is denied
    assert ("forbids it" in result.text) is denied
    assert (path.read_text() == case.before) is denied


@every_tool
async def test_an_allow_rule_about_edits_covers_them_all(folder: Path, case: Case) -> None:
    path = folder / "sub" / case.file
    path.parent.mkdir()
    path.write_text(case.before)
    rules = Rules.parse(allow=["Edit(sub/**)"])

    async with bench(folder, tools=built_in(), rules=rules, mode=PermissionMode.DEFAULT) as at:
        (result,) = await read_then(at, f"sub/{case.file}", case.use(f"sub/{case.file}"))

    assert not result.is_error


@every_tool
@pytest.mark.parametrize("way", ["../outside/{}", "dirlink/{}", "filelink.{}", "../work-evil/{}"])
async def test_no_tool_that_edits_leaves_the_folder(folder: Path, case: Case, way: str) -> None:
    for name in ("outside", "work-evil"):
        (folder.parent / name).mkdir()
        (folder.parent / name / case.file).write_text(case.before)
    (folder / "dirlink").symlink_to("../outside")
    (folder / f"filelink.{case.file}").symlink_to(f"../outside/{case.file}")

    async with bench(folder, tools=built_in(), mode=PermissionMode.ACCEPT_EDITS) as at:
        (result,) = await at.run(case.use(way.format(case.file)))

    assert "outside the working folder" in result.text
    for name in ("outside", "work-evil"):
        assert [each.name for each in (folder.parent / name).iterdir()] == [case.file]
        assert (folder.parent / name / case.file).read_text() == case.before


def void(_: object) -> None:
    """For a lambda whose value nobody wants."""
