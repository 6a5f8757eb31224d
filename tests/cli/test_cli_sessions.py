"""`interlock sessions`: the list, the tree, one of them, names, and the way to be rid of one."""

from __future__ import annotations

import fcntl
import re
from pathlib import Path
from typing import Any

import orjson
import pytest

from interlock.scripted import reply
from interlock.sessions import read_messages
from tests.cli.shell import REAL, Ran, Shell
from tests.cli.test_cli_interactive import seated
from tests.cli.test_cli_resume import ID, MODEL, OTHER, asked


def sessions(shell: Shell, *argv: str) -> Ran:
    return shell.run("sessions", *argv, program=REAL)


def listed(shell: Shell, *argv: str) -> list[Any]:
    told: list[Any] = orjson.loads(sessions(shell, *argv, "--json").out)
    return told


@pytest.fixture
def painted(shell: Shell) -> Shell:
    """One session in which something was said."""
    asked(shell, [reply("Red.")], "paint it", "--session-id", ID, *MODEL)
    return shell


def test_the_list_has_a_line_for_each_the_newest_first(painted: Shell) -> None:
    asked(painted, [reply("Deep.")], "dig\n a hole", "--session-id", OTHER, *MODEL)

    heading, first, second = sessions(painted).out.splitlines()

    assert heading.split() == ["ID", "AGE", "PROMPTS", "COST", "SIZE", "TITLE"]
    assert first.startswith(OTHER)
    assert first.endswith("dig a hole")
    id_, age, prompts, cost, *_ = second.split()
    assert (id_, age, prompts) == (ID, "now", "1")
    assert float(cost.removeprefix("$")) > 0


def test_programs_are_told_all_that_is_known(painted: Shell) -> None:
    (one,) = listed(painted)
    (path,) = painted.transcripts

    assert one["id"] == ID
    assert (one["title"], one["name"], one["firstPrompt"]) == ("paint it", None, "paint it")
    assert (one["prompts"], one["size"]) == (1, path.stat().st_size)
    assert (one["cwd"], one["path"]) == (str(painted.folder), str(path))
    assert (one["tag"], one["forkedFrom"]) == (None, None)
    assert isinstance(one["costUSD"], float)


def test_sessions_of_other_folders_are_listed_with_all(painted: Shell) -> None:
    other = painted.folder / "other"
    other.mkdir()

    assert sessions(painted, "--cwd", str(other)).out.startswith("no sessions in this folder")
    assert f"in {painted.folder}" in sessions(painted, "--cwd", str(other), "--all").out


def test_the_tree_shows_what_branched_off_where(painted: Shell) -> None:
    asked(painted, [reply("Ajar.")], "and the door?", "--continue")
    (path,) = painted.transcripts
    at = next(one.id for one in read_messages(path) if one.text == "Red.")
    back = (f"--resume={ID}", f"--resume-session-at={at}")
    asked(painted, [reply("Open.")], "and the window?", *back)
    asked(painted, [reply("Blue.")], "if blue?", *back, "--fork-session", "--session-id", OTHER)

    lines = sessions(painted, "tree").out.splitlines()
    (whole,) = listed(painted, "tree", OTHER)

    assert [re.split(r"(?<=\S)  ", line)[0] for line in lines] == [
        ID,
        "└─ “paint it”",
        "   ├─ “and the door?”",
        "   ├─ “and the window?”",
        f"   └─ {OTHER}",
        "      └─ “if blue?”",
    ]
    assert [line.endswith("<- goes on here") for line in lines] == [
        *(False, False, False, True, False, True)
    ]
    assert whole["id"] == ID
    (branch,) = whole["branches"]
    assert branch["forkedFrom"] == {"sessionId": ID, "messageId": at}


def test_one_session_is_shown_with_the_ids_to_go_back_to(painted: Shell) -> None:
    (path,) = painted.transcripts
    said, answered = read_messages(path)

    lines = sessions(painted, "show", "paint").out.splitlines()

    assert lines[-2:] == [f"{said.id}  you      paint it", f"{answered.id}  agent    Red."]
    assert any(line.split() == ["cwd", str(painted.folder)] for line in lines)


def test_a_name_is_given_and_found_again(painted: Shell) -> None:
    ran = sessions(painted, "rename", ID, "The", "house")
    (one,) = listed(painted)
    gone_on, _ = asked(painted, [reply("Yes.")], "sure?", "--resume", "the house")

    assert (ran.code, ran.out) == (0, f"{ID} is now called: The house\n")
    assert (one["title"], one["firstPrompt"]) == ("The house", "paint it")
    assert gone_on.code == 0


def test_what_is_deleted_is_asked_about_and_gone(painted: Shell) -> None:
    (path,) = painted.transcripts

    unasked = sessions(painted, "delete", ID)
    with seated(painted, [], "sessions", "delete", ID) as (person, _):
        person.sees("keep it > ")
        person.types("\r")
        person.sees("nothing was deleted")
        assert person.ends() == 0
    assert path.exists()
    with seated(painted, [], "sessions", "delete", ID) as (person, _):
        person.sees("keep it > ")
        person.types("y\r")
        person.sees(f"deleted: {ID} (paint it)")
        assert person.ends() == 0

    assert (unasked.code, unasked.err.count("\n")) == (1, 1)
    assert "say --yes" in unasked.err
    assert list(path.parent.iterdir()) == []


def test_a_session_that_is_being_written_is_not_deleted(painted: Shell) -> None:
    (path,) = painted.transcripts
    with path.open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        ran = sessions(painted, "delete", ID, "--yes")

    assert (ran.code, ran.err.count("\n")) == (1, 1)
    assert "another process is writing this session" in ran.err
    assert path.exists()


@pytest.mark.parametrize("command", ["tree", "show", "rename", "delete"])
def test_a_session_that_is_not_there_is_one_line(painted: Shell, command: str) -> None:
    ran = sessions(painted, command, "nowhere", *(["x"] if command == "rename" else []))

    assert (ran.code, ran.out, ran.err.count("\n")) == (1, "", 1)
    assert "no session here is 'nowhere'; the newest are:" in ran.err


def test_a_session_of_another_folder_is_found_by_its_id(painted: Shell, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()

    ran = sessions(painted, "show", ID[:8], "--cwd", str(other))

    assert ran.code == 0
    assert ran.out.startswith(f"id          {ID}")


def test_help_lists_the_commands_and_a_wrong_flag_is_one_line(shell: Shell) -> None:
    assert "interlock sessions tree" in sessions(shell, "--help").out
    assert sessions(shell, "--nothing").err.count("\n") == 1


def test_what_others_wrote_does_not_repaint_the_screen(painted: Shell) -> None:
    (path,) = painted.transcripts
    with path.open("ab") as file:
        title = {"type": "custom-title", "customTitle": "a\x1b[2Jb", "sessionId": ID}
        file.write(orjson.dumps(title) + b"\n")

    for argv in ((), ("tree",), ("show", ID)):
        assert "\x1b" not in sessions(painted, *argv).out
