"""Going back to an earlier prompt, from the command line and at the terminal of a session."""

from __future__ import annotations

import fcntl
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from interlock.scripted import Answer, reply, tool_use
from interlock.sessions import read_messages
from tests.cli.shell import REAL, Ran, Shell
from tests.cli.test_cli_interactive import seated
from tests.cli.test_cli_resume import ID, OTHER, asked, said

MODEL = ("--model", "claude-sonnet-4-5")
FREELY = ("--permission-mode", "bypassPermissions", *MODEL)


def writes(path: str, text: str, call: str) -> Answer:
    return reply(tool_use("Write", {"file_path": path, "content": text}, id=call))


def told(shell: Shell, words: str, answers: Sequence[Answer], *how: str) -> Ran:
    """One prompt, answered so."""
    ran, _ = asked(shell, answers, words, *(how or ("--continue",)), *FREELY)
    assert ran.code == 0, ran.err
    return ran


def rewind(shell: Shell, *argv: str, stdin: bytes | None = None) -> Ran:
    return shell.run("rewind", *argv, program=REAL, stdin=stdin)


@pytest.fixture
def session(shell: Shell) -> Shell:
    """Two prompts: the first makes door.txt, the second paints it over and makes window.txt."""
    begun = ("--session-id", ID)
    told(shell, "make a door", [writes("door.txt", "red\n", "toolu_1"), reply("A door.")], *begun)
    told(
        shell,
        "and a window",
        [
            reply(tool_use("Read", {"file_path": "door.txt"}, id="toolu_2")),
            writes("door.txt", "blue\n", "toolu_3"),
            writes("wall/window.txt", "glass\n", "toolu_4"),
            reply("A window."),
        ],
    )
    return shell


def files(shell: Shell) -> dict[str, str]:
    """The files of the working folder, without what is the user's home."""
    return {
        str(path.relative_to(shell.folder)): path.read_text()
        for path in shell.folder.rglob("*.txt")
        if not path.is_relative_to(shell.home)
    }


AFTER = {"door.txt": "blue\n", "wall/window.txt": "glass\n"}


def test_the_prompts_are_listed_where_nobody_can_be_asked(session: Shell) -> None:
    ran = rewind(session)

    first, second = ran.out.splitlines()
    assert ran.code == 0
    assert first.endswith("make a door")
    assert second.endswith("and a window")
    assert files(session) == AFTER


def test_what_would_be_done_is_shown_with_its_diff_and_not_done(session: Shell) -> None:
    (path,) = session.transcripts
    before = path.read_bytes()

    ran = rewind(session, "--to", "2", "--dry-run")

    assert ran.code == 0
    assert "goes back: door.txt" in ran.out
    assert "-blue\n+red\n" in ran.out
    assert "goes away: wall/window.txt" in ran.out
    assert "commands (Bash)" in ran.out
    assert (files(session), path.read_bytes()) == (AFTER, before)


def test_files_and_conversation_go_back_to_before_a_prompt(session: Shell) -> None:
    ran = rewind(session, "--to", "window", "--yes")

    assert (ran.code, ran.err) == (0, "")
    assert files(session) == {"door.txt": "red\n"}
    assert not (session.folder / "wall").exists()
    again, requests = asked(session, [reply("Still red.")], "which colour?", "-c", *MODEL)
    assert (again.out, again.err) == ("Still red.\n", "")
    assert said(requests[0]) == ["make a door", "A door.", "which colour?"]


def test_the_conversation_alone_goes_back_to_before_the_first_prompt(session: Shell) -> None:
    ran = rewind(session, "--to", "1", "--yes", "--conversation")

    assert ran.code == 0
    assert files(session) == AFTER
    _, requests = asked(session, [reply("Hello.")], "hello", "-c", *MODEL)
    assert said(requests[0]) == ["hello"]
    _, requests = asked(session, [reply("Yes.")], "there?", "-c", *MODEL)
    assert said(requests[0]) == ["hello", "Hello.", "there?"]
    assert b"compact_boundary" not in session.transcripts[0].read_bytes()


def test_after_files_alone_the_model_is_told_that_they_are_back(session: Shell) -> None:
    ran = rewind(session, "--to", "2", "--yes", "--files")

    assert ran.code == 0
    assert files(session) == {"door.txt": "red\n"}
    _, requests = asked(session, [reply("I see.")], "and now?", "-c", *MODEL)
    (note,) = [each for each in said(requests[0]) if "put these files back" in each]
    assert "door.txt" in note
    assert "window.txt (removed)" in note
    assert said(requests[0])[:2] == ["make a door", "A door."]


def test_a_rewind_is_undone_by_going_back_to_before_it(session: Shell) -> None:
    history = read_messages(session.transcripts[0])
    done = rewind(session, "--to", "2", "--yes")
    undo = done.out.rpartition("--to ")[2].strip()

    ran = rewind(session, "--to", undo, "--yes")

    assert ran.code == 0
    assert files(session) == AFTER
    assert read_messages(session.transcripts[0]) == history


def test_what_others_changed_is_left_and_named_unless_it_is_forced(session: Shell) -> None:
    (session.folder / "door.txt").write_text("my own green\n")

    ran = rewind(session, "--to", "2", "--yes", "--files")

    assert ran.code == 1
    assert "left as it is: door.txt: somebody else, or a command, changed it" in ran.out
    assert files(session) == {"door.txt": "my own green\n"}

    forced = rewind(session, "--to", "2", "--yes", "--files", "--force", "door.txt")
    assert forced.code == 0
    assert "-my own green\n+red\n" in forced.out
    assert files(session) == {"door.txt": "red\n"}
    undo = forced.out.rpartition("--to ")[2].strip()
    assert rewind(session, "--to", undo, "--yes").code == 0
    assert files(session) == {"door.txt": "my own green\n"}


def test_git_sees_nothing_of_it(shell: Shell) -> None:
    def git(*argv: str) -> str:
        done = subprocess.run(
            ["git", "-c", "user.name=t", "-c", "user.email=t@t", *argv],
            cwd=shell.folder,
            env=shell.environ(),
            capture_output=True,
            check=True,
        )
        return done.stdout.decode()

    git("init", "-q")
    (shell.folder / "door.txt").write_text("none\n")
    git("add", "door.txt")
    git("commit", "-qm", "a place for a door")
    head, index = git("rev-parse", "HEAD"), (shell.folder / ".git/index").read_bytes()
    answers = [
        reply(tool_use("Read", {"file_path": "door.txt"}, id="toolu_1")),
        writes("door.txt", "red\n", "toolu_2"),
        reply("A door."),
    ]
    told(shell, "make a door", answers, "--session-id", ID)

    assert rewind(shell, "--to", "1", "--yes").code == 0

    assert files(shell) == {"door.txt": "none\n"}
    assert (shell.folder / ".git/index").read_bytes() == index
    assert git("rev-parse", "HEAD") == head
    assert git("stash", "list") + git("diff", "--cached") == ""


def test_a_branch_goes_back_to_before_it_began(session: Shell) -> None:
    told(session, "a roof", [reply("No.")], "-c", "--fork-session", "--session-id", OTHER)

    ran = rewind(session, OTHER, "--to", "2", "--yes")

    assert (ran.code, ran.err) == (0, "")
    assert files(session) == {"door.txt": "red\n"}
    copies = session.home.glob(f"projects/*/{OTHER}/checkpoints/*")
    assert {path.stat().st_mode & 0o777 for path in copies} == {0o600}


def test_a_session_that_somebody_has_open_is_not_rewound(session: Shell) -> None:
    with session.transcripts[0].open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        ran = rewind(session, "--to", "1", "--yes")
        looked = rewind(session, "--to", "1", "--dry-run")

    assert (ran.code, ran.out, ran.err.count("\n")) == (1, "", 1)
    assert "open in another process: type /rewind there" in ran.err
    assert looked.code == 0
    assert files(session) == AFTER


@pytest.mark.parametrize("to", ["7", "roof", "a"])
def test_a_prompt_that_is_none_or_several_is_refused(session: Shell, to: str) -> None:
    ran = rewind(session, "--to", to, "--yes")

    assert (ran.code, ran.err.count("\n")) == (1, 1)
    assert "1 to 2" in ran.err
    assert files(session) == AFTER


def test_without_checkpoints_files_stay_and_one_line_says_so(shell: Shell) -> None:
    off = '{"fileCheckpointingEnabled": false}'
    answers = [writes("door.txt", "red\n", "toolu_1"), reply("A door.")]
    told(shell, "make a door", answers, "--session-id", ID, "--settings", off)

    refused = rewind(shell, "--to", "1", "--yes", "--files")
    ran = rewind(shell, "--to", "1", "--yes")

    assert (refused.code, refused.err.count("\n")) == (1, 1)
    assert "no checkpoints were kept" in refused.err
    assert ran.code == 0
    assert "no checkpoints were kept at that prompt: the files stay" in ran.out
    assert files(shell) == {"door.txt": "red\n"}
    assert not list(shell.home.glob("projects/*/*/checkpoints"))


def test_a_person_is_shown_the_diff_and_asked_before_anything_changes(session: Shell) -> None:
    with seated(session, [reply("Still red.")], "--continue", *MODEL) as (person, server):
        person.sees("resumed:")
        person.types("/rewind\r")
        person.sees("and a window")
        person.sees(" > ")
        person.types("2\n")
        person.sees("conversation and files")
        person.sees(" > ")
        person.types("1\n")
        person.sees("+red")
        person.sees("Do it?")
        assert files(session) == AFTER
        person.sees(" > ")
        person.types("1\n")
        person.sees("undo it with: /rewind")
        assert files(session) == {"door.txt": "red\n"}
        person.types("which colour?\r")
        person.sees("Still red.")
        person.types("/exit\r")

        assert person.ends() == 0
        assert said(server.requests[0]) == ["make a door", "A door.", "which colour?"]
    assert len(read_messages(session.transcripts[0])) == 6


def test_a_person_who_says_no_has_changed_nothing(session: Shell) -> None:
    before = session.transcripts[0].read_bytes()
    with seated(session, [], "rewind", "--to", "2") as (person, _):
        person.sees("+red")
        person.sees(" > ")
        person.types("no\n")
        person.sees("nothing was changed")

        assert person.ends() == 1
    assert files(session) == AFTER
    assert session.transcripts[0].read_bytes() == before


def test_a_person_takes_back_what_others_changed_after_seeing_its_diff(session: Shell) -> None:
    (session.folder / "door.txt").write_text("my own green\n")
    with seated(session, [], "rewind", "--to", "2", "--files") as (person, _):
        person.sees("left as it is: door.txt")
        person.sees(" > ")
        person.types("2\n")
        person.sees("-my own green")
        person.sees(" > ")
        person.types("yes\n")
        person.sees("put back")

        assert person.ends() == 0
    assert files(session) == {"door.txt": "red\n"}


def test_help_says_what_is_not_covered(shell: Shell) -> None:
    ran = rewind(shell, "--help")

    assert ran.code == 0
    assert "What commands (Bash) changed is not covered" in ran.out


def path_of_log(shell: Shell) -> Path:
    (path,) = shell.home.glob(f"projects/*/{ID}/checkpoints/log.jsonl")
    return path


def test_a_log_that_is_damaged_costs_no_more_than_its_line(session: Shell) -> None:
    log = path_of_log(session)
    log.write_bytes(log.read_bytes().replace(b'{"point"', b'{"pxint"', 1) + b'{"cut')

    ran = rewind(session, "--to", "2", "--yes")

    assert ran.code == 0
    assert files(session) == {"door.txt": "red\n"}
