"""A session goes on from an earlier message: what came after it stays, as another branch."""

from __future__ import annotations

from pathlib import Path

import pytest

from interlock.errors import TranscriptError
from interlock.sessions import Transcript, fork, read
from interlock.sessions.entries import block_id
from phases.world.messages import Message, Text
from tests.sessions.conversations import call, prompt, reply, result, summary, uuid

LOOK = reply(2, Text("I look"), call("a"), call("b"))
ROUND = (prompt(1, "look"), LOOK, result(3, LOOK, "a"), result(4, LOOK, "b"))
SEEN = (*ROUND, reply(5, Text("seen")))
LATER = (*SEEN, prompt(6, "paint it red"), reply(7, Text("red")))


async def session(path: Path, *views: tuple[Message, ...]) -> Path:
    transcript = Transcript(path, session_id=path.stem, cwd=path.parent)
    for view in views:
        await transcript.record(view)
    transcript.close()
    return path


async def went_on(path: Path, at: str, *said: Message) -> tuple[Message, ...]:
    """Take the session up at a message and say more; the history from then on."""
    transcript = Transcript(path, session_id=path.stem, cwd=path.parent)
    await transcript.record((*transcript.take_up(at).messages, *said))
    transcript.close()
    return read(path).messages


async def test_what_is_said_next_hangs_below_the_message_and_nothing_is_lost(
    tmp_path: Path,
) -> None:
    path = await session(tmp_path / "s.jsonl", LATER)
    before = path.read_bytes()

    now = await went_on(path, uuid(5), prompt(8, "paint it blue"))

    assert now == (*SEEN, prompt(8, "paint it blue"))
    assert read(path).others == 1
    assert read(path, uuid(7)).messages == LATER
    assert path.read_bytes().startswith(before)


async def test_taking_it_up_alone_changes_nothing(tmp_path: Path) -> None:
    path = await session(tmp_path / "s.jsonl", LATER)

    await went_on(path, uuid(5))

    assert read(path).messages == LATER


@pytest.mark.parametrize("at", [uuid(2), block_id(uuid(2), 1), uuid(3), uuid(4)])
async def test_calls_and_their_results_stay_together_whichever_of_them_is_named(
    tmp_path: Path, at: str
) -> None:
    path = await session(tmp_path / "s.jsonl", LATER)

    assert await went_on(path, at, prompt(8)) == (*ROUND, prompt(8))


async def test_a_message_before_a_compaction_brings_back_what_was_before_it(
    tmp_path: Path,
) -> None:
    compacted = (summary(20), prompt(21, "and now?"))
    path = await session(tmp_path / "s.jsonl", LATER, compacted)

    assert read(path).messages == compacted
    assert await went_on(path, uuid(5), prompt(22)) == (*SEEN, prompt(22))


async def test_one_branch_after_another_hangs_where_it_was_asked_to(tmp_path: Path) -> None:
    path = await session(tmp_path / "s.jsonl", LATER)

    await went_on(path, uuid(5), prompt(8), reply(9, Text("blue")))
    now = await went_on(path, uuid(9), prompt(10, "darker"))
    back = await went_on(path, uuid(7), prompt(11, "brighter"))

    assert now == (*SEEN, prompt(8), reply(9, Text("blue")), prompt(10, "darker"))
    assert back == (*LATER, prompt(11, "brighter"))


async def test_a_branch_in_a_file_of_its_own_ends_with_the_message(tmp_path: Path) -> None:
    path = await session(tmp_path / "s.jsonl", LATER)

    fork(path, tmp_path / "t.jsonl", "t", uuid(5))

    assert read(tmp_path / "t.jsonl").messages == SEEN
    assert read(path).messages == LATER


async def test_a_message_that_is_not_there_is_one_clear_line(tmp_path: Path) -> None:
    path = await session(tmp_path / "s.jsonl", LATER)

    for way in (
        lambda: Transcript(path, session_id="s", cwd=tmp_path).take_up("nowhere"),
        lambda: fork(path, tmp_path / "t.jsonl", "t", "nowhere"),
    ):
        with pytest.raises(TranscriptError, match="has no message nowhere; to list them: "):
            way()

    assert [each.name for each in tmp_path.iterdir()] == ["s.jsonl"]
