"""Sessions gone on with from the command line, as a script and as a person do it."""

from __future__ import annotations

import fcntl
from collections.abc import Sequence

import orjson
import pytest

from interlock.cli.flags import parse
from interlock.errors import UsageError
from interlock.scripted import Answer, SentRequest, ServerThread, reply
from interlock.sessions import read_messages
from tests.cli.shell import REAL, Ran, Shell
from tests.cli.test_cli_interactive import Person, seated

ID = "00000000-0000-4000-8000-00000000000a"
OTHER = "00000000-0000-4000-8000-00000000000b"
MODEL = ("--model", "claude-sonnet-4-5")


def asked(shell: Shell, answers: Sequence[Answer], *argv: str) -> tuple[Ran, list[SentRequest]]:
    with ServerThread(answers) as server:
        ran = shell.run("-p", *argv, program=REAL, env={"ANTHROPIC_BASE_URL": server.base_url})
        return ran, list(server.requests)


def said(request: SentRequest) -> list[str]:
    return [
        block["text"]
        for one in request.body["messages"]
        for block in one["content"]
        if "text" in block
    ]


@pytest.mark.parametrize("how", [("--continue",), ("--resume", ID[-8:]), ("--resume=paint",)])
def test_a_session_goes_on_in_its_own_file(shell: Shell, how: tuple[str, ...]) -> None:
    how = tuple(ID if each == ID[-8:] else each for each in how)
    asked(shell, [reply("Red.")], "paint it", "--session-id", ID, *MODEL)

    ran, requests = asked(shell, [reply("As before.")], "and the door?", *how)

    assert (ran.code, ran.out, ran.err) == (0, "As before.\n", "")
    assert said(requests[0]) == ["paint it", "Red.", "and the door?"]
    assert requests[0].body["model"] == "claude-sonnet-4-5"
    assert [path.stem for path in shell.transcripts] == [ID]


def test_the_cost_of_the_session_goes_on(shell: Shell) -> None:
    form = ("--output-format", "json")
    first, _ = asked(shell, [reply("one")], "first", *form)
    second, _ = asked(shell, [reply("two")], "second", "-c", *form)

    assert second.json["session_id"] == first.json["session_id"]
    assert second.json["total_cost_usd"] > first.json["total_cost_usd"] > 0
    assert second.json["num_turns"] == first.json["num_turns"] == 1


def test_a_branch_leaves_the_session_as_it_was(shell: Shell) -> None:
    asked(shell, [reply("Red.")], "paint it", "--session-id", ID, *MODEL)
    before = next(path for path in shell.transcripts if path.stem == ID).read_bytes()
    branch = ("--resume", ID, "--fork-session", "--session-id", OTHER)

    ran, requests = asked(shell, [reply("Blue.")], "and if blue?", *branch)

    assert (ran.code, ran.out) == (0, "Blue.\n")
    assert said(requests[0]) == ["paint it", "Red.", "and if blue?"]
    kept, copy = shell.transcripts
    assert (kept.stem, copy.stem) == (ID, OTHER)
    assert kept.read_bytes() == before
    assert len(read_messages(copy)) == 4


def test_a_session_that_is_being_written_is_refused_in_one_line(shell: Shell) -> None:
    asked(shell, [reply("Red.")], "paint it", "--session-id", ID, *MODEL)
    (path,) = shell.transcripts
    with path.open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        refused, requests = asked(shell, [], "more", "--continue")
        branched, _ = asked(shell, [reply("Blue.")], "more", "--continue", "--fork-session")

    assert (refused.code, refused.out, requests) == (1, "", [])
    assert refused.err.count("\n") == 1
    assert "another process is writing this session" in refused.err
    assert "--fork-session" in refused.err
    assert (branched.code, branched.out) == (0, "Blue.\n")


def test_a_session_that_exists_is_not_begun_a_second_time(shell: Shell) -> None:
    asked(shell, [reply("Red.")], "paint it", "--session-id", ID)
    ran, requests = asked(shell, [], "paint it", "--session-id", ID)

    assert (ran.code, requests) == (1, [])
    assert "exists already; resume it" in ran.err


@pytest.mark.parametrize("how", [("--continue",), ("--resume", ID), ("--resume=",)])
def test_where_there_is_no_such_session_one_line_says_so(
    shell: Shell, how: tuple[str, ...]
) -> None:
    ran, requests = asked(shell, [], "more", *how)

    assert (ran.code, ran.out, requests, ran.err.count("\n")) == (1, "", [], 1)
    assert "session" in ran.err


@pytest.mark.parametrize(
    "argv",
    [
        ("--continue", "--resume", "x"),
        ("--fork-session",),
        ("--resume-session-at", ID),
        ("--continue", "--session-id", ID),
    ],
)
def test_flags_that_contradict_each_other_are_refused(argv: tuple[str, ...]) -> None:
    with pytest.raises(UsageError):
        parse(["-p", "hi", *argv])


def asks_on_and_leaves(person: Person) -> None:
    person.types("and now?\r")
    person.sees("Still red.")
    person.types("/exit\r")
    assert person.ends() == 0


def test_a_person_goes_on_at_the_terminal(shell: Shell) -> None:
    asked(shell, [reply("Red.")], "paint it", "--session-id", ID, *MODEL)

    with seated(shell, [reply("Still red.")], "--continue") as (person, server):
        person.sees("resumed: paint it")
        asks_on_and_leaves(person)
        assert said(server.requests[0]) == ["paint it", "Red.", "and now?"]


def test_a_person_picks_a_session_by_its_number(shell: Shell) -> None:
    asked(shell, [reply("Red.")], "paint it", "--session-id", ID, *MODEL)
    asked(shell, [reply("Deep.")], "dig it", "--session-id", OTHER, *MODEL)

    with seated(shell, [reply("Still red.")], "--resume") as (person, server):
        person.sees("1 ")
        person.sees("dig it")
        person.sees("2 ")
        person.sees("paint it")
        person.types("2\r")
        person.sees("resumed: paint it")
        asks_on_and_leaves(person)
        assert said(server.requests[0]) == ["paint it", "Red.", "and now?"]


def test_a_person_goes_over_to_another_session(shell: Shell) -> None:
    asked(shell, [reply("Red.")], "paint it", "--session-id", ID, *MODEL)

    with seated(shell, [reply("Hello."), reply("Still red.")]) as (person, server):
        person.sees("/help lists the commands")
        person.types("hi\r")
        person.sees("Hello.")
        person.types("/resume nothing\r")
        person.sees("no session here is 'nothing'")
        person.types("/resume paint\r")
        person.sees("resumed: paint it")
        asks_on_and_leaves(person)
        assert said(server.requests[1]) == ["paint it", "Red.", "and now?"]
    assert len(shell.transcripts) == 2


def test_a_session_goes_on_from_an_earlier_message(shell: Shell) -> None:
    asked(shell, [reply("Red.")], "paint it", "--session-id", ID, *MODEL)
    asked(shell, [reply("Ajar.")], "and the door?", "--continue")
    (path,) = shell.transcripts
    painted = next(one.id for one in read_messages(path) if one.text == "Red.")
    at = (f"--resume={ID}", f"--resume-session-at={painted}")

    _, there = asked(shell, [reply("Blue.")], "and if blue?", *at, "--fork-session")
    ran, requests = asked(shell, [reply("Open.")], "and the window?", *at)
    _, after = asked(shell, [reply("Yes.")], "sure?", "--resume", ID)

    assert (ran.code, ran.out) == (0, "Open.\n")
    assert said(there[0]) == ["paint it", "Red.", "and if blue?"]
    assert said(requests[0]) == ["paint it", "Red.", "and the window?"]
    assert said(after[0]) == ["paint it", "Red.", "and the window?", "Open.", "sure?"]
    assert "and the door?" in path.read_text()


def test_a_message_that_is_not_there_ends_in_one_line(shell: Shell) -> None:
    asked(shell, [reply("Red.")], "paint it", "--session-id", ID, *MODEL)
    ran, requests = asked(shell, [], "more", "--continue", "--resume-session-at", OTHER)

    assert (ran.code, ran.out, requests, ran.err.count("\n")) == (1, "", [], 1)
    assert f"has no message {OTHER}" in ran.err


def test_a_part_of_several_titles_lets_a_person_pick_and_a_script_read_one_line(
    shell: Shell,
) -> None:
    asked(shell, [reply("Red.")], "paint the door", "--session-id", ID, *MODEL)
    asked(shell, [reply("Blue.")], "paint the wall", "--session-id", OTHER, *MODEL)
    asked(shell, [reply("Deep.")], "dig a hole", *MODEL)

    ran, requests = asked(shell, [], "more", "--resume", "paint")
    with seated(shell, [], "--resume", "paint") as (person, _):
        person.sees("1 ")
        person.sees("paint the wall")
        person.sees("2 ")
        person.sees("paint the door")
        person.types("2\r")
        person.sees("resumed: paint the door")
        person.types("/exit\r")

        assert person.ends() == 0
    assert (ran.code, requests, ran.err.count("\n")) == (1, [], 1)
    assert f"fits 2 sessions: {OTHER} (paint the wall), {ID} (paint the door)" in ran.err


def test_a_session_that_cannot_go_on_does_not_end_the_one_at_the_terminal(shell: Shell) -> None:
    asked(shell, [reply("Red.")], "paint it", "--session-id", ID, *MODEL)
    (path,) = shell.transcripts

    with seated(shell, [reply("Hello."), reply("Here."), reply("Blue.")]) as (person, server):
        person.sees("/help lists the commands")
        person.types("hi\r")
        person.sees("Hello.")
        with path.open("rb") as other:
            fcntl.flock(other, fcntl.LOCK_EX)
            person.types("/resume paint\r")
            person.sees("another process is writing this session")
            person.sees("a branch of it: /resume paint --fork")
            person.types("still there?\r")
            person.sees("Here.")
            person.types("/resume paint --fork\r")
            person.sees("resumed: paint it")
            person.types("and if blue?\r")
            person.sees("Blue.")
        person.types("/exit\r")

        assert person.ends() == 0
        assert said(server.requests[1]) == ["hi", "Hello.", "still there?"]
        assert said(server.requests[2]) == ["paint it", "Red.", "and if blue?"]


def test_a_session_that_vanishes_on_the_way_leads_back_to_the_one_before(shell: Shell) -> None:
    """SessionEnd hooks run when it is too late to stay: one of them deletes where we go."""
    asked(shell, [reply("Red.")], "paint it", "--session-id", ID, *MODEL)
    (path,) = shell.transcripts
    hook = {"hooks": [{"type": "command", "command": f"rm {path}"}]}
    (shell.home / "settings.json").write_bytes(orjson.dumps({"hooks": {"SessionEnd": [hook]}}))

    with seated(shell, [reply("Hello."), reply("Here.")]) as (person, server):
        person.sees("/help lists the commands")
        person.types("hi\r")
        person.sees("Hello.")
        person.types("/resume paint\r")
        person.sees("back to the session before")
        person.sees("/help lists the commands")
        person.types("still there?\r")
        person.sees("Here.")
        person.types("/exit\r")

        assert person.ends() == 0
        assert said(server.requests[1]) == ["hi", "Hello.", "still there?"]


def test_a_session_is_named_at_the_terminal(shell: Shell) -> None:
    with seated(shell, [reply("Hello.")]) as (person, _):
        person.sees("/help lists the commands")
        person.types("/rename too early\r")
        person.sees("nothing was said yet")
        person.types("hi\r")
        person.sees("Hello.")
        person.types("/rename  The   house\r")
        person.sees("now called: The house")
        person.types("/exit\r")
        assert person.ends() == 0

    ran, requests = asked(shell, [reply("Again.")], "more", "--resume", "the house")

    assert (ran.code, said(requests[0])) == (0, ["hi", "Hello.", "more"])
