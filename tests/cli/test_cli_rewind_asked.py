"""What a rewind says where it is asked for in an unclear way, or cannot do all of it."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from interlock.home import project_key
from interlock.scripted import reply
from interlock.sessions import read_messages
from tests.cli.shell import REAL, Shell
from tests.cli.test_cli_interactive import seated
from tests.cli.test_cli_resume import ID, asked
from tests.cli.test_cli_rewind import AFTER, MODEL, files, rewind, session
from tests.sessions.test_tails import line, written

__all__ = ["session"]  # a fixture


@pytest.mark.parametrize(
    "argv", [("--yes",), ("--files",), ("--force", "door.txt"), ("--yes", "--both")]
)
def test_what_is_to_be_done_to_no_prompt_is_refused(session: Shell, argv: tuple[str, ...]) -> None:
    ran = rewind(session, *argv)

    assert (ran.code, ran.out, ran.err.count("\n")) == (1, "", 1)
    assert f"{argv[0]} needs --to PROMPT" in ran.err
    assert "interlock rewind lists the prompts" in ran.err
    assert files(session) == AFTER


@pytest.mark.parametrize("more", [(), ("--dry-run",), ("--files",)])
def test_a_file_that_has_no_part_in_it_cannot_be_forced(
    session: Shell, more: tuple[str, ...]
) -> None:
    ran = rewind(session, "--to", "2", "--yes", "--force", "dor.txt", *more)

    assert (ran.code, ran.out, ran.err.count("\n")) == (1, "", 1)
    assert f"the agent has not changed {session.folder}/dor.txt since that prompt" in ran.err
    assert f"it changed {session.folder}/door.txt, {session.folder}/wall/window.txt" in ran.err
    assert files(session) == AFTER


def test_no_file_can_be_forced_where_none_goes_back(session: Shell) -> None:
    ran = rewind(session, "--to", "2", "--yes", "--force", "door.txt", "--conversation")

    assert (ran.code, ran.err.count("\n")) == (1, 1)
    assert "no file can be forced" in ran.err


def test_after_both_the_way_to_force_what_was_left_is_named_and_works(session: Shell) -> None:
    (session.folder / "door.txt").write_text("my own green\n")

    shown = rewind(session, "--to", "2", "--dry-run")
    ran = rewind(session, "--to", "2", "--yes")

    assert "to take back what others changed too: --force door.txt\n" in shown.out
    assert ran.code == 1
    assert "1 file put back, 1 file left as it is" in ran.out
    assert files(session) == {"door.txt": "my own green\n"}
    way = ran.out.splitlines()[-1].removeprefix("to take back what others changed too: ")
    first, _, again = way.partition(", then ")
    for command in (first, again):
        assert command.startswith(f"interlock rewind {ID} --to ")
        assert rewind(session, *command.split()[2:], "--yes").code == 0
    assert files(session) == {"door.txt": "red\n"}


def test_after_files_alone_one_command_forces_what_was_left(session: Shell) -> None:
    (session.folder / "door.txt").write_text("my own green\n")

    ran = rewind(session, "--to", "2", "--files", "--yes")

    way = ran.out.splitlines()[-1].removeprefix("to take back what others changed too: ")
    assert "--files --force door.txt" in way
    assert rewind(session, *way.split()[2:], "--yes").code == 0
    assert files(session) == {"door.txt": "red\n"}


def test_a_rewind_of_a_rewind_says_once_what_it_is(session: Shell) -> None:
    def undone(to: str) -> str:
        ran = rewind(session, "--to", to, "--yes")
        assert ran.code == 0
        return ran.out.rpartition("--to ")[2].strip()

    undone(undone(undone(undone("2"))))

    listed = rewind(session).out
    assert "(undo) Undid the rewind to before: and a window" in listed.splitlines()[-1]
    assert "before: Rewound" not in listed
    said = [orjson.loads(each) for each in session.transcripts[0].read_bytes().splitlines()]
    assert [each["content"] for each in said if "rewind" in each] == [
        "Rewound to before: and a window",
        "Undid the rewind to before: and a window",
        "Rewound again to before: and a window",
        "Undid the rewind to before: and a window",
    ]


def test_an_unclear_answer_is_asked_about_again(session: Shell) -> None:
    with seated(session, [], "--continue", *MODEL) as (person, _):
        person.sees("resumed:")
        person.types("/rewind 2\r")
        person.sees("What goes back?")
        person.sees("own words > ")
        person.types("b\n")
        person.sees("! 'b' is none of the answers")
        person.sees("What goes back?")
        person.sees("own words > ")
        person.types("files\n")
        person.sees("Do it?")
        person.sees("own words > ")
        person.types("perhaps\n")
        person.sees("! 'perhaps' is none of the answers")
        person.sees("Do it?")
        person.sees("own words > ")
        assert files(session) == AFTER
        person.types("n\n")
        person.sees("nothing was changed")
        assert files(session) == AFTER
        person.types("/exit\r")

        assert person.ends() == 0


def test_a_prompt_may_be_picked_by_its_words(session: Shell) -> None:
    with seated(session, [], "rewind") as (person, _):
        person.sees("Go back to before which prompt?")
        person.sees("own words > ")
        person.types("roof\n")
        person.sees("is no prompt of this session")
        person.sees("own words > ")
        person.types("window\n")
        person.sees("What goes back?")
        person.sees("own words > ")
        person.types("both\n")
        person.sees("Do it?")
        person.sees("own words > ")
        person.types("y\n")
        person.sees("undo it with: ")

        assert person.ends() == 0
    assert files(session) == {"door.txt": "red\n"}


def long_session(shell: Shell, prompts: int) -> Path:
    path = shell.home / "projects" / project_key(shell.folder) / f"{ID}.jsonl"
    path.parent.mkdir(parents=True)
    lines = [line(n, n - 1 or None, f"ask {n}") for n in range(1, prompts + 1)]
    return written(path, *lines)


def test_of_a_long_session_the_newest_prompts_are_listed_and_all_on_request(
    shell: Shell,
) -> None:
    long_session(shell, 1_234)

    newest = rewind(shell).out.splitlines()
    whole = rewind(shell, "--all").out.splitlines()

    assert newest[0] == (
        "  …  1,204 earlier prompts; --all lists them, --to takes their numbers and words"
    )
    assert len(newest) == 31
    assert newest[1].split() == ["1205", "ask", "1205"]
    assert newest[1:] == whole[-30:]
    assert [each.split()[0] for each in whole] == [str(n) for n in range(1, 1_235)]


def test_the_numbers_of_a_long_list_are_those_that_are_typed(shell: Shell) -> None:
    path = long_session(shell, 40)
    with seated(shell, [], "rewind", "--conversation") as (person, _):
        person.sees("10 earlier prompts")
        person.sees("11  ")
        person.sees("41  nothing")
        person.sees("own words > ")
        person.types("3\n")
        person.sees("11 to 41, one")
        person.types("39\n")
        person.sees("back to before: ask 39")
        person.sees("own words > ")
        person.types("y\n")
        person.sees("undo it with: ")

        assert person.ends() == 0
    assert read_messages(path)[-1].text == "ask 38"


def test_damaged_lines_cost_no_prompt_that_can_be_read(session: Shell) -> None:
    asked(session, [reply("No.")], "a roof?", "--continue", *MODEL)
    (path,) = session.transcripts
    lines = path.read_bytes().split(b"\n")
    for number in (2, 5):
        lines[number - 1] = lines[number - 1][:40]
    path.write_bytes(b"\n".join(lines))

    listed = rewind(session)
    shown = session.run("sessions", "show", ID, program=REAL).out
    gone_back = rewind(session, "--to", "roof", "--yes", "--conversation")

    prompts = [each.split("  you      ")[1] for each in shown.splitlines() if "  you  " in each]
    assert [each.split("  ")[-1] for each in listed.out.splitlines()] == prompts
    assert "make a door" in prompts
    for ran in (listed, gone_back):
        assert ran.code == 0
        assert [each.split(": ")[1:] for each in ran.err.splitlines()] == [
            [f"{ID}.jsonl:2", "no JSON, left out"],
            [f"{ID}.jsonl:5", "no JSON, left out"],
        ]
    assert read_messages(path)[0].text == "make a door"
