"""The shipped script and the shipped repository tell the same story."""

from __future__ import annotations

from pathlib import Path

import pytest

from interlock.demo.repository import CODE, TEST, Repository
from interlock.demo.session import Session
from interlock.scripted import Reply


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository.copied_to(tmp_path / "copy")


def replies_for(repository: Repository, *, fast: bool = False) -> tuple[Reply, ...]:
    script = Session(root=repository.root, prompt="", fast=fast).script()
    return tuple(one for one in script.replies if isinstance(one, Reply))


def calls_of(replies: tuple[Reply, ...]) -> list[str]:
    return [
        block["name"] for one in replies for block in one.content if block["type"] == "tool_use"
    ]


def intended_edit(repository: Repository) -> None:
    (edit,) = (
        block["input"]
        for one in replies_for(repository)
        for block in one.content
        if block.get("name") == "Edit"
    )
    path = Path(edit["file_path"])
    text = path.read_text(encoding="utf-8")
    assert text.count(edit["old_string"]) == 1
    path.write_text(text.replace(edit["old_string"], edit["new_string"]), encoding="utf-8")


def test_the_story_has_five_calls_and_an_answer(repository: Repository) -> None:
    replies = replies_for(repository)

    assert calls_of(replies) == ["Read", "Read", "Bash", "Edit", "Bash"]
    assert [one.stop_reason for one in replies] == ["tool_use"] * 5 + ["end_turn"]


def test_every_reply_after_the_first_depends_on_a_real_result(repository: Repository) -> None:
    first, *later = replies_for(repository)

    assert first.expect is not None
    assert first.expect.last_text_contains
    assert all(one.expect is not None and one.expect.tool_result_contains for one in later)


def test_fast_replies_do_not_drip(repository: Repository) -> None:
    assert all(one.drip_s > 0 for one in replies_for(repository))
    assert all(one.drip_s == 0 for one in replies_for(repository, fast=True))


def test_the_test_fails_before_the_edit_and_passes_after_it(repository: Repository) -> None:
    assert not repository.tests_pass()
    assert not repository.code_changed

    intended_edit(repository)

    assert repository.tests_pass()
    assert repository.code_changed
    assert repository.test_unchanged
    assert "+        problems.append(" in repository.diff()


def test_the_line_that_the_answer_names_is_the_new_check(repository: Repository) -> None:
    said = replies_for(repository)[-1].content[0]["text"]
    intended_edit(repository)

    lines = (repository.root / CODE).read_text(encoding="utf-8").splitlines()
    (at,) = (number for number, line in enumerate(lines, 1) if "merchant_id.strip" in line)
    assert f"{CODE}:{at}" in said


def test_a_bent_test_does_not_go_unnoticed(repository: Repository) -> None:
    (repository.root / TEST).write_text("")

    assert not repository.test_unchanged


def test_a_copy_holds_no_leftovers_of_python(repository: Repository) -> None:
    assert not list(repository.root.rglob("__pycache__"))


def test_a_copy_is_a_repository_with_one_commit(repository: Repository) -> None:
    logged = (repository.root / ".git/logs/HEAD").read_text()

    assert logged.count("\n") == 1
    assert "Check payments" in logged
