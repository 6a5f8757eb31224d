"""One session goes on as another: its history is copied, and the first file is left as it was."""

from __future__ import annotations

import fcntl
from pathlib import Path

import orjson
import pytest

from interlock.errors import TranscriptError
from interlock.sessions import Transcript, fork, origins, read
from phases.world.messages import Message, Text
from tests.sessions.conversations import call, prompt, reply, result, summary, uuid
from tests.sessions.test_tails import line, written

ASKED = reply(2, Text("I look"), call("a"), call("b"))
HISTORY = (prompt(1), ASKED, result(3, ASKED, "b"), result(4, ASKED, "a"), prompt(5))


async def session(path: Path, *views: tuple[Message, ...]) -> Path:
    transcript = Transcript(path, session_id=path.stem, cwd=path.parent)
    for view in views:
        await transcript.record(view)
    transcript.close()
    return path


async def test_a_branch_begins_with_the_same_history_under_its_own_id(tmp_path: Path) -> None:
    first, to = await session(tmp_path / "one.jsonl", HISTORY), tmp_path / "two.jsonl"
    before = first.read_bytes()

    forked = fork(first, to, "two")

    lines = [orjson.loads(each) for each in to.read_bytes().splitlines()]
    assert read(to).messages == read(first).messages
    assert {each["sessionId"] for each in lines} == {"two"}
    assert lines[0]["forkedFrom"] == {"sessionId": "one", "messageUuid": uuid(1)}
    assert (first.read_bytes(), forked.damage, forked.others) == (before, (), 0)
    assert to.stat().st_mode & 0o777 == 0o600


async def test_a_branch_takes_over_what_a_compaction_kept_and_no_more(tmp_path: Path) -> None:
    kept = (summary(6), HISTORY[-1], reply(7, Text("done")))
    first = await session(tmp_path / "one.jsonl", HISTORY, kept)

    fork(first, tmp_path / "two.jsonl", "two")

    assert read(tmp_path / "two.jsonl").messages == kept
    assert uuid(2) not in (tmp_path / "two.jsonl").read_text()


def test_a_branch_of_a_damaged_file_holds_all_that_can_be_read(tmp_path: Path) -> None:
    first = written(
        tmp_path / "one.jsonl",
        line(1, None, "one"),
        b'{"uuid": "gone"',
        {**line(3, None, "three"), "parentUuid": "gone"},
    )

    forked = fork(first, tmp_path / "two.jsonl", "two")

    assert [one.text for one in read(tmp_path / "two.jsonl").messages] == ["one", "three"]
    assert forked.damage == ("one.jsonl:2: no JSON, left out",)


async def test_no_branch_is_ever_written_over_a_session(tmp_path: Path) -> None:
    first = await session(tmp_path / "one.jsonl", HISTORY)
    other = await session(tmp_path / "two.jsonl", (prompt(9),))
    before = other.read_bytes()

    with pytest.raises(TranscriptError, match="cannot be branched: there is such a session"):
        fork(first, other, "two")

    assert other.read_bytes() == before
    assert sorted(each.name for each in tmp_path.iterdir()) == ["one.jsonl", "two.jsonl"]


async def test_a_session_that_is_being_written_can_be_branched_but_not_taken_up(
    tmp_path: Path,
) -> None:
    path = tmp_path / "one.jsonl"
    writer = Transcript(path, session_id="one", cwd=tmp_path)
    await writer.record((prompt(1),))

    with pytest.raises(TranscriptError, match="--fork-session"):
        Transcript(path, session_id="one", cwd=tmp_path).take_up()
    fork(path, tmp_path / "two.jsonl", "two")
    writer.close()

    assert Transcript(path, session_id="one", cwd=tmp_path).take_up().messages == (prompt(1),)
    assert read(tmp_path / "two.jsonl").messages == (prompt(1),)


async def test_a_branch_knows_which_sessions_it_comes_from_the_nearest_first(
    tmp_path: Path,
) -> None:
    first = await session(tmp_path / "one.jsonl", HISTORY)
    fork(first, tmp_path / "two.jsonl", "two")
    fork(tmp_path / "two.jsonl", tmp_path / "three.jsonl", "three")

    found = list(origins(tmp_path / "three.jsonl"))

    assert found == [tmp_path / "two.jsonl", first]
    assert list(origins(first)) == []


async def test_a_copy_that_a_crash_left_half_done_is_taken_away_and_no_other(
    tmp_path: Path,
) -> None:
    first = await session(tmp_path / "one.jsonl", HISTORY)
    dead, alive = (tmp_path / f"{name}.jsonl.1.part" for name in ("dead", "alive"))
    dead.write_bytes(b'{"type": "us')
    with alive.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)

        fork(first, tmp_path / "two.jsonl", "two")

    assert (dead.exists(), alive.exists()) == (False, True)
