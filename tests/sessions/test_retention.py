"""Which old sessions go, and that nothing which is needed or not ours ever does."""

from __future__ import annotations

import fcntl
import re
import subprocess
import sys
from pathlib import Path

import orjson
import pytest

from interlock.errors import InterlockError
from interlock.sessions import all_sessions, read
from interlock.sessions.cleaning import STAMP, clean, clean_daily
from interlock.sessions.holding import ASIDE
from interlock.sessions.retention import DAY, plan
from interlock.sessions.runs import find_runs
from tests.sessions.stored import NOW, Home, aged

PAGE = (Path(__file__).parents[2] / "docs" / "durability.md").read_text()


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def test_a_session_goes_with_its_folder_once_it_is_older_than_the_period(home: Home) -> None:
    old, young = home.session(days=31), home.session(days=29)

    done = home.cleaned()

    assert (done.sessions, done.leftovers, done.whole) == (1, 0, True)
    assert home.left == {young}
    assert not old.with_suffix("").exists()
    assert young.with_suffix("").exists()
    assert not (home.path / ASIDE).exists()


@pytest.mark.parametrize("name", ["state.json", "runs/one.trace.jsonl", "checkpoints/log.jsonl"])
def test_what_counts_is_the_last_write_of_any_of_its_files(home: Home, name: str) -> None:
    path = home.session(days=31)
    aged(path.with_suffix("") / name, 1)

    assert home.cleaned().sessions == 0
    assert home.left == {path}


def test_one_that_somebody_has_open_stays_however_old(home: Home) -> None:
    path = home.session(days=400)
    with path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)

        assert home.cleaned().sessions == 0
    assert home.left == {path}
    assert home.cleaned().sessions == 1


def test_one_that_somebody_goes_on_with_after_the_plan_was_made_stays(home: Home) -> None:
    source = home.session(days=40, results=True)
    branch = home.branch(source, days=40)
    before = NOW - 30 * DAY
    planned = plan(home.path, before=before, now=NOW)
    assert planned is not None
    assert [one.transcript for one in planned.sessions] == [branch, source]

    aged(branch, 0)
    done = clean(home.path, planned, before=before)

    assert (done.sessions, done.size) == (0, 0)
    assert home.left == {source, branch}


def test_what_a_younger_branch_may_read_stays_at_any_distance(home: Home) -> None:
    first = home.session(days=90, results=True)
    second = home.branch(first, days=60)
    third = home.branch(second, days=1)

    assert home.cleaned().sessions == 1

    assert home.left == {first, third}  # the second kept nothing that is not in the third


def test_a_branch_has_its_history_itself_so_the_session_it_came_from_goes(home: Home) -> None:
    source = home.session(days=90)
    branch = home.branch(source, days=1)
    before = read(branch).messages

    home.cleaned()

    assert home.left == {branch}
    assert read(branch).messages == before


def test_a_branch_that_never_came_to_a_state_keeps_all_it_came_from(home: Home) -> None:
    first = home.session(days=90)
    second = home.branch(first, days=60)
    third = home.branch(second, days=1)
    (third.with_suffix("") / "state.json").unlink()

    home.cleaned()

    assert home.left == {first, second, third}


def test_old_branches_go_together_with_what_they_needed(home: Home) -> None:
    first = home.session(days=90, results=True)
    home.branch(home.branch(first, days=60, results=True), days=40)

    assert home.cleaned().sessions == 3
    assert home.left == set()


def foreign(path: Path) -> None:
    entry = {"type": "user", "uuid": "u", "message": {"role": "user", "content": "hello"}}
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        file.write(orjson.dumps(entry) + b"\n")


def test_a_session_in_which_another_program_spoke_stays(home: Home) -> None:
    theirs = home.project / "3f1c2b1e-0000-4000-8000-000000000001.jsonl"
    foreign(theirs)
    aged(theirs, 400)
    both = home.session(days=1)
    foreign(both)
    aged(both, 400)
    home.session(days=400)

    assert home.cleaned().sessions == 1
    assert home.left == {theirs, both}


def test_nothing_else_of_the_users_folder_is_touched(home: Home) -> None:
    home.session(days=400)
    others = [
        home.project / "memory" / "notes.md",
        home.project / "notes.jsonl",
        home.project / "3f1c2b1e-0000-4000-8000-000000000002" / "tool-results" / "a.txt",
        home.path / "settings.json",
        home.path / "deleted" / "mine.txt",
    ]
    for each in others:
        each.parent.mkdir(parents=True, exist_ok=True)
        each.write_text("mine")
        aged(each, 400)

    home.cleaned()

    assert all(each.read_text() == "mine" for each in others)


def test_leftovers_go_folders_without_transcript_and_files_half_written(home: Home) -> None:
    gone, young = home.session(days=40), home.session(days=5)
    gone.unlink()
    parts = [
        young.with_suffix("") / "state.json.part",
        young.with_suffix("") / "runs" / "one.recording.jsonl.gz.part",
        young.with_suffix("") / "checkpoints" / "abc.17.part",
        home.project / f"{young.name}.17.part",
    ]
    for part in parts:
        part.write_text("half")
        aged(part, 2)
    fresh = young.with_suffix("") / "runs" / "two.recording.jsonl.gz.part"
    fresh.write_text("half")

    done = home.cleaned()

    assert (done.sessions, done.leftovers) == (0, 5)
    assert not gone.with_suffix("").exists()
    assert not any(part.exists() for part in parts)
    assert fresh.exists()
    assert home.left == {young}


def test_a_file_shared_with_a_branch_that_stays_frees_nothing(home: Home) -> None:
    old, young = home.session(days=40), home.session(days=1)
    big = old.with_suffix("") / "checkpoints" / "content"
    big.write_bytes(b"x" * 100_000)
    (young.with_suffix("") / "checkpoints" / "content").hardlink_to(big)
    aged(big, 40)

    done = home.cleaned()

    assert done.sessions == 1
    assert done.size < 10_000


def test_it_happens_once_a_day(home: Home) -> None:
    home.session(days=40)
    first = clean_daily(home.path, 30, now=NOW)
    home.session(days=40)

    assert first is not None
    assert first.sessions == 1
    assert clean_daily(home.path, 30, now=NOW + DAY / 2) is None
    later = clean_daily(home.path, 30, now=NOW + DAY + 1)
    assert later is not None
    assert later.sessions == 1


def test_a_stamp_of_the_future_holds_nothing_up(home: Home) -> None:
    clean_daily(home.path, 30, now=NOW + 500 * DAY)  # a clock that was wrong, and was set right
    home.session(days=40)

    assert clean_daily(home.path, 30, now=NOW) is not None
    assert home.left == set()


def test_two_at_once_do_not_clean_twice(home: Home) -> None:
    path = home.session(days=40)
    with (home.path / STAMP).open("wb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)

        assert clean_daily(home.path, 30, now=NOW) is None
    assert home.left == {path}


@pytest.mark.parametrize("looks", range(8))
def test_where_time_is_up_the_next_session_goes_on_with_it(home: Home, looks: int) -> None:
    for _ in range(3):
        home.session(days=40)
    asked = iter(range(100))

    done = clean_daily(home.path, 30, now=NOW, stop=lambda: next(asked) >= looks)
    again = clean_daily(home.path, 30, now=NOW)

    assert done is not None
    assert not done.whole
    assert again is not None
    assert (done.sessions + again.sessions, again.whole) == (3, True)
    assert not (home.path / ASIDE).exists()


def test_the_page_tells_of_each_of_these(home: Home) -> None:
    """Every row of the table in docs/durability.md, made and cleaned."""
    lies: dict[str, Path] = {}
    lies["a session of ours, older than the period"] = home.session(days=40)
    written = lies["one of whose files any was written since"] = home.session(days=40)
    aged(written.with_suffix("") / "state.json", 1)
    opened = lies["one that a process has open"] = home.session(days=40)
    results = home.session(days=40, results=True)
    lies["one whose long results a branch that stays may read"] = results
    home.branch(results, days=1)
    copied = home.session(days=40)
    lies["one from which a branch was copied, without long results"] = copied
    home.branch(copied, days=1)
    both = lies["one in which another program said something"] = home.session(days=40)
    foreign(both)
    aged(both, 40)
    gone = home.session(days=40)
    gone.unlink()
    lies["a folder of ours whose transcript is gone, older than the period"] = gone.with_suffix("")
    part = written.with_suffix("") / "state.json.part"
    part.write_text("half")
    lies["a file that was half written when a crash came, a day ago or more"] = aged(part, 2)
    memory = home.project / "memory"
    memory.mkdir()
    lies["anything else: memory, settings, what bears no session's name"] = aged(memory, 400)
    rows = re.search(r"\| there lies .*?\n\n", PAGE, flags=re.DOTALL)
    assert rows is not None
    told = [row.strip("| ").split(" | ") for row in rows[0].strip().splitlines()[2:]]

    with opened.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        home.cleaned()

    assert [what for what, _ in told] == list(lies)
    for what, then in told:
        assert lies[what].exists() is then.startswith("stays"), what


# Kills itself at the n-th change of the file system that it is about to make.
_KILLED = """
import os, signal, sys
from pathlib import Path
from interlock.sessions.cleaning import clean_daily
from interlock.sessions import delete
changes = int(sys.argv[2])
def watch(event, _):
    global changes
    if event in ("os.remove", "os.rename", "os.rmdir", "os.mkdir"):
        if changes == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        changes -= 1
sys.addaudithook(watch)
if sys.argv[3] == "delete":
    delete(Path(sys.argv[4]))
else:
    clean_daily(Path(sys.argv[1]), 30, now=float(sys.argv[4]))
"""


@pytest.mark.parametrize("how", ["clean", "delete"])
def test_a_kill_at_any_moment_leaves_whole_sessions_only(tmp_path: Path, how: str) -> None:
    for changes in range(100):
        home = Home(tmp_path / str(changes))
        old, young = home.session(days=40, results=True), home.session(days=1)
        last = str(old) if how == "delete" else str(NOW)

        ended = subprocess.run(
            [sys.executable, "-c", _KILLED, str(home.path), str(changes), how, last],
            timeout=60,
            check=False,
        ).returncode

        for one in all_sessions(home.path):
            assert read(one.path).messages
            assert {each.name for each in one.path.with_suffix("").iterdir()} >= {
                *("runs", "state.json", "checkpoints")
            }
        traces = {run.path for run in find_runs(home.path, young.stem, home.path)}
        assert all(trace.exists() for trace in traces)
        if old.exists():
            assert ended != 0
        elif old.with_suffix("").exists():  # without a transcript, but whole: the next one's
            assert (old.with_suffix("") / "tool-results" / "long.txt").exists()
        else:
            with pytest.raises(InterlockError):
                find_runs(home.path, old.stem, home.path)
        clean_daily(home.path, 30, now=NOW + 2 * DAY)
        assert home.left == {young}
        assert not old.with_suffix("").exists()
        assert not (home.path / ASIDE).exists()
        if ended == 0:
            assert changes > 5
            return
    raise AssertionError("it never came to an end")
