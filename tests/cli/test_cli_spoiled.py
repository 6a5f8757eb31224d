"""Files of a session that somebody or something has spoiled: each is told in one line, and the
session goes on with all that can still be read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from interlock.scripted import Answer, reply, tool_use
from tests.cli.shell import REAL, Ran, Shell
from tests.cli.test_cli_resume import ID, MODEL, asked, said

FREELY = ("--permission-mode", "acceptEdits", *MODEL)


def told(shell: Shell, words: str, answers: Sequence[Answer], *how: str) -> Ran:
    ran, _ = asked(shell, answers, words, *how, *FREELY)
    assert (ran.code, ran.err) == (0, "")
    return ran


@pytest.fixture
def session(shell: Shell) -> Shell:
    """Two prompts; with the first a file was made."""
    door = tool_use("Write", {"file_path": "door.txt", "content": "red\n"}, id="toolu_1")
    told(shell, "make a door", [reply(door), reply("A door.")], "--session-id", ID)
    told(shell, "which colour?", [reply("Red.")], "--continue")
    return shell


def beside(shell: Shell, name: str) -> Path:
    (path,) = shell.home.glob(f"projects/*/{ID}/{name}")
    return path


@pytest.mark.parametrize("data", [b"[]", b"", b"\x00junk", b'"text"'])
def test_a_spoiled_state_is_told_once_and_the_session_goes_on(session: Shell, data: bytes) -> None:
    state = beside(session, "state.json")
    state.write_bytes(data)

    ran, requests = asked(session, [reply("Yes.")], "sure?", "--continue", *MODEL)
    again, _ = asked(session, [reply("Yes.")], "really?", "--continue", *MODEL)

    assert (ran.code, ran.out, ran.err.count("\n")) == (0, "Yes.\n", 1)
    assert f"{state} cannot be used (no JSON" in ran.err
    assert "permissions, folder and todos begin anew" in ran.err
    assert said(requests[0])[0] == "make a door"
    assert again.err == ""


def test_a_spoiled_log_of_checkpoints_is_told_on_resume_and_on_rewind(session: Shell) -> None:
    log = beside(session, "checkpoints/log.jsonl")
    log.write_bytes(b'junk\n{"a": 1}\n' + log.read_bytes())

    ran, _ = asked(session, [reply("Yes.")], "sure?", "--continue", *MODEL)
    back = session.run("rewind", "--to", "1", "--yes", program=REAL)

    line = f"{log}: 2 lines (1, 2) are no checkpoint, left out: a rewind knows nothing of"
    assert (ran.code, ran.out, ran.err.count("\n")) == (0, "Yes.\n", 1)
    assert line in ran.err
    assert (back.code, back.err.count("\n")) == (0, 1)
    assert line in back.err
    assert not (session.folder / "door.txt").exists()


def test_a_log_of_checkpoints_that_cannot_be_read_is_told_too(session: Shell) -> None:
    log = beside(session, "checkpoints/log.jsonl")
    log.unlink()
    log.mkdir()

    ran, _ = asked(session, [reply("Yes.")], "sure?", "--continue", *MODEL)

    assert (ran.code, ran.out) == (0, "Yes.\n")
    assert f"{log} cannot be read (Is a directory)" in ran.err
