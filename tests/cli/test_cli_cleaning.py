"""Old sessions at the command line: cleaned beside a run, and by hand."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from interlock.housekeeping import Housekeeping
from interlock.scripted import ServerThread, reply
from interlock.sessions.cleaning import STAMP
from phases.world.updates import Notice, RequestStarted, TextArrived
from tests.cli.shell import REAL, Ran, Shell
from tests.cli.test_cli_interactive import seated
from tests.cli.test_cli_resume import ID, MODEL, OTHER, asked
from tests.sessions.stored import Home, aged


def clean(shell: Shell, *argv: str, **env: str) -> Ran:
    return shell.run("sessions", "clean", *argv, program=REAL, env=env)


@pytest.fixture
def painted(shell: Shell) -> Path:
    """The transcript of one real session of 40 days ago."""
    asked(shell, [reply("Red.")], "paint it", "--session-id", ID, *MODEL)
    (shell.home / STAMP).unlink(missing_ok=True)
    (path,) = shell.transcripts
    return aged(path, 40)


def test_a_run_cleans_beside_itself_and_says_so(shell: Shell, painted: Path) -> None:
    ran, _ = asked(shell, [reply("Deep.")], "dig", "--session-id", OTHER, *MODEL)

    assert (ran.code, ran.out) == (0, "Deep.\n")
    assert ran.err == (
        "interlock: 1 session was deleted, not written for 30 days "
        "(cleanupPeriodDays says how long they are kept)\n"
    )
    assert [path.stem for path in shell.transcripts] == [OTHER]
    assert not painted.with_suffix("").exists()


def test_a_session_at_the_terminal_does_so_too(shell: Shell, painted: Path) -> None:
    with seated(shell, [reply("Deep.")], "dig") as (person, _):
        person.sees("Deep.")
        person.types("/exit\r")
        person.sees("1 session was deleted")
        assert person.ends() == 0

    assert not painted.exists()


def test_the_same_day_nothing_more_is_cleaned(shell: Shell, painted: Path) -> None:
    asked(shell, [reply("Deep.")], "dig", "--session-id", OTHER, *MODEL)
    other = aged(next(path for path in shell.transcripts if path.stem == OTHER), 40)

    ran, _ = asked(shell, [reply("Yes.")], "sure?")

    assert ran.err == ""
    assert other.exists()


def test_the_session_that_is_gone_on_with_stays_however_old(shell: Shell, painted: Path) -> None:
    ran, _ = asked(shell, [reply("As before.")], "and the door?", "--continue")

    assert (ran.code, ran.err) == (0, "")
    assert painted.exists()


def test_settings_say_how_long(shell: Shell, painted: Path) -> None:
    env = {"INTERLOCK_CLEANUP_DAYS": "41"}
    with ServerThread([reply("Deep.")]) as server:
        env["ANTHROPIC_BASE_URL"] = server.base_url
        ran = shell.run("-p", "dig", program=REAL, env=env)

    assert (ran.code, ran.err) == (0, "")
    assert painted.exists()


def test_a_branch_is_run_again_after_the_session_it_came_from_is_gone(
    shell: Shell, painted: Path
) -> None:
    fork = ("--resume", ID, "--fork-session", "--session-id", OTHER)
    clock = {"INTERLOCK_CLEANUP_DAYS": "99999"}
    for answer, argv in (("Blue.", fork), ("Ajar.", ("--resume", OTHER))):
        with ServerThread([reply(answer)]) as server:
            env = {**clock, "ANTHROPIC_BASE_URL": server.base_url}
            assert shell.run("-p", "and then?", *argv, program=REAL, env=env).code == 0

    done = clean(shell, "--yes")
    again = shell.run("replay", OTHER, program=REAL)
    gone_on, requests = asked(shell, [reply("Yes.")], "sure?", "--resume", OTHER)

    assert (done.code, done.out.splitlines()[-1][:18]) == (0, "deleted: 1 session")
    assert not painted.exists()
    assert again.code == 0
    assert again.out.count("the same to the byte") == 2
    assert gone_on.code == 0
    assert len(requests[0].body["messages"]) == 7


def test_by_hand_it_says_what_goes_and_how_much_that_is(shell: Shell, painted: Path) -> None:
    looked = clean(shell, "--dry-run")
    unasked = clean(shell)

    first, total, end = looked.out.splitlines()
    assert first.split()[:3] == [ID, "40", "d"]
    assert first.endswith(f"paint it  in {shell.folder}")
    assert total.startswith("1 session, 0 leftovers: ")
    assert end == "nothing was deleted"
    assert (unasked.code, unasked.err.count("\n")) == (1, 1)
    assert "say --yes; --dry-run only looks" in unasked.err
    assert painted.exists()


def test_a_person_is_asked(shell: Shell, painted: Path) -> None:
    for typed, told, stays in (("\r", "nothing was deleted", True), ("y\r", "are free", False)):
        with seated(shell, [], "sessions", "clean") as (person, _):
            person.sees("keep them > ")
            person.types(typed)
            person.sees(told)
            assert person.ends() == 0
        assert painted.exists() is stays


def test_the_number_of_days_may_be_another_for_once(shell: Shell, painted: Path) -> None:
    assert clean(shell, "--days", "41", "--yes").out == (
        "nothing to clean: no session of ours is older than 41 days\n"
    )
    assert painted.exists()
    assert clean(shell, INTERLOCK_CLEANUP_DAYS="41").out.endswith("older than 41 days\n")


@pytest.mark.parametrize("days", ["0", "-1", "x", "1.5", "", "9" * 5000])
def test_a_number_that_is_none_is_one_line(shell: Shell, painted: Path, days: str) -> None:
    ran = clean(shell, f"--days={days}", "--yes")

    assert (ran.code, ran.out, ran.err.count("\n")) == (1, "", 1)
    assert "a whole number of days from 1 up" in ran.err
    assert painted.exists()


def test_it_begins_when_the_first_request_was_answered_for(tmp_path: Path) -> None:
    home = Home(tmp_path)
    old = home.session(days=40)
    seen: list[object] = []

    with Housekeeping(home=tmp_path, days=30, tell=seen.append) as keeping:
        show = keeping.watching(seen.append)
        show(Notice("info", "resumed"))
        show(RequestStarted("m", 1))
        assert keeping._thread is None
        show(TextArrived("De"))
        assert keeping._thread is not None
        keeping._thread.join()

    assert not old.exists()
    assert len(seen) == 4


def test_where_no_request_leaves_nothing_is_cleaned(tmp_path: Path) -> None:
    old = Home(tmp_path).session(days=40)

    with Housekeeping(home=tmp_path, days=30, tell=print) as keeping:
        keeping.watching(lambda update: None)(Notice("info", "resumed"))

    assert old.exists()


def test_a_home_that_cannot_be_written_costs_the_run_nothing(shell: Shell, painted: Path) -> None:
    (shell.home / STAMP).mkdir()  # root may write everything else
    os.utime(shell.home / STAMP, (time.time() - 1e6,) * 2)

    ran, _ = asked(shell, [reply("Deep.")], "dig")

    assert (ran.code, ran.out, ran.err) == (0, "Deep.\n", "")
    assert painted.exists()
