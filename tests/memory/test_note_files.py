"""The note files of a project and its user: which are read, in which order, how much of each."""

from __future__ import annotations

from pathlib import Path

import pytest

from interlock.memory import found, told
from interlock.scripted import ScriptedServer, reply
from tests.agent.support import Room, sent, tell


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    (folder / "src" / "deep").mkdir(parents=True)
    return folder


def names(notes: object) -> list[str]:
    return [note.text for note in notes]  # type: ignore[attr-defined]


def test_from_the_users_own_down_to_the_working_folder(home: Path, project: Path) -> None:
    (home / "CLAUDE.md").write_text("user")
    (project.parent / "CLAUDE.md").write_text("above the project: another one's")
    (project / "CLAUDE.md").write_text("top")
    (project / "AGENTS.md").write_text("agents")
    (project / ".claude").mkdir()
    (project / ".claude" / "CLAUDE.md").write_text("tucked away")
    (project / "CLAUDE.local.md").write_text("mine")
    (project / "src" / "AGENTS.md").write_text("src")
    (project / "src" / "deep" / "CLAUDE.md").write_text("below: not yet")

    notes = found(project / "src", home)

    assert names(notes) == ["user", "top", "tucked away", "agents", "mine", "src"]
    assert [note.kind for note in notes] == ["user", *["project"] * 3, "local", "project"]


def test_without_git_only_the_working_folder_is_looked_at(home: Path, tmp_path: Path) -> None:
    (tmp_path / "plain" / "sub").mkdir(parents=True)
    (tmp_path / "plain" / "CLAUDE.md").write_text("above")
    (tmp_path / "plain" / "sub" / "AGENTS.md").write_text("here")

    assert names(found(tmp_path / "plain" / "sub", home)) == ["here"]


def test_a_file_under_two_names_is_told_once(home: Path, project: Path) -> None:
    (project / "AGENTS.md").write_text("rules")
    (project / "CLAUDE.md").symlink_to("AGENTS.md")

    assert names(found(project, home)) == ["rules"]


def test_a_giant_a_binary_and_an_unreadable_one_are_told_as_such(
    home: Path, project: Path
) -> None:
    (project / "CLAUDE.md").write_text("x" * 100_001)
    (project / "AGENTS.md").write_bytes(b"\x7fELF\0\0")
    (project / "CLAUDE.local.md").write_bytes(b"caf\xe9")

    giant, binary, odd = found(project, home)

    assert (len(giant.text), giant.size) == (100_000, 100_001)
    assert "the first 100,000 of 100,001 bytes" in told([giant])
    assert "it is no text, and left out" in told([binary])
    assert odd.text == "caf\ufffd"


def test_an_empty_file_says_nothing(home: Path, project: Path) -> None:
    (project / "CLAUDE.md").write_text(" \n")

    assert told(found(project, home)) == ""


async def test_they_stand_in_front_of_every_request_and_in_no_transcript(tmp_path: Path) -> None:
    room = Room.made(tmp_path)
    (room.work / "CLAUDE.md").write_text("Never use tabs.")
    async with (
        ScriptedServer([reply("One."), reply("Two.")]) as server,
        room.open(server) as agent,
    ):
        await tell(agent, "hello")
        await tell(agent, "again")

    for request in server.requests:
        first = sent(request)[0]["text"]
        assert first.startswith("<system-reminder>")
        assert "Never use tabs." in first
    assert "Never use tabs." not in agent.transcript_path.read_text()
    assert server.verdict() == ()
