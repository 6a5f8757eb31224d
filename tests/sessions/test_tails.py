"""The end of a transcript is all that is read, back to where its history begins."""

from __future__ import annotations

import asyncio
import tracemalloc
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from interlock.sessions import Transcript, read
from interlock.sessions.reading import chain_of
from interlock.sessions.rows import all_rows, last_rows
from phases.world.messages import Kind, Message
from tests.sessions.conversations import histories, prompt, reply, summary, uuid

GIVEN = Path(__file__).parent / "transcripts"


def line(number: int, parent: int | None, content: Any, **more: Any) -> dict[str, Any]:
    ids = {"uuid": uuid(number), "parentUuid": None if parent is None else uuid(parent)}
    return {"type": "user", "message": {"role": "user", "content": content}} | ids | more


def written(path: Path, *lines: dict[str, Any] | bytes) -> Path:
    data = [each if isinstance(each, bytes) else orjson.dumps(each) for each in lines]
    path.write_bytes(b"".join(each + b"\n" for each in data))
    return path


@settings(deadline=None)
@given(histories(), st.data())
def test_the_end_of_a_file_tells_the_same_history_as_all_of_it(
    history: tuple[Message, ...], data: st.DataObject
) -> None:
    cuts = [n for n, message in enumerate(history) if message.kind is not Kind.RESULT]
    kept = history[data.draw(st.sampled_from([*cuts, len(history)])) :]
    view = (summary(9_998), *kept, prompt(9_999))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "x.jsonl"
        transcript = Transcript(path, session_id=uuid(0), cwd=Path(folder))
        asyncio.run(transcript.record(history))
        asyncio.run(transcript.record(view))
        transcript.close()

        with path.open("rb") as file:
            tail, whole = last_rows(file, []), all_rows(file, [])

        assert [row.uuid for row in chain_of(tail)] == [row.uuid for row in chain_of(whole)]
        assert read(path).messages == view


async def test_what_stands_before_a_compaction_is_not_even_looked_at(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    transcript = Transcript(path, session_id=uuid(0), cwd=tmp_path)
    old = tuple(prompt(n, "z" * 1_000) for n in range(1, 2_000))
    await transcript.record(old)
    await transcript.record((summary(3_000), old[-1], prompt(3_001, "go on")))
    transcript.close()

    with path.open("rb") as file:
        rows = last_rows(file, [])

    assert [message.id for message in read(path).messages] == [
        uuid(3_000),
        uuid(1_999),
        uuid(3_001),
    ]
    assert len(rows) == 4  # the boundary, and three messages


def test_memory_follows_what_is_sent_not_the_file(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    with path.open("wb") as file:
        for n in range(1, 2_000):  # 32 MB
            file.write(orjson.dumps(line(n, n - 1 or None, "z" * 16_000)) + b"\n")
        file.write(orjson.dumps(line(3_000, None, "so far", isCompactSummary=True)) + b"\n")
        file.write(orjson.dumps(line(3_001, 3_000, "go on")) + b"\n")

    tracemalloc.start()
    got = read(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert [message.text for message in got.messages] == ["so far", "go on"]
    assert peak < 2 << 20


def test_the_last_whole_line_goes_on_whatever_time_stamps_say_and_others_are_told() -> None:
    got = read(GIVEN / "forked.jsonl")

    assert [message.text for message in got.messages] == [
        *("start", "ok", "branch B first", "B1", "branch B second, the newest", "B2")
    ]
    assert (got.tip, got.others) == ("b3", 1)


def test_a_history_without_branches_has_no_others(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    transcript = Transcript(path, session_id=uuid(0), cwd=tmp_path)
    asyncio.run(transcript.record((prompt(1), reply(2), prompt(3), summary(4))))
    transcript.close()

    assert read(path).others == 0


async def test_a_torn_last_line_costs_itself_alone_and_nothing_is_glued_to_it(
    tmp_path: Path,
) -> None:
    before = (GIVEN / "torn_tail.jsonl").read_bytes()
    path = tmp_path / "x.jsonl"
    path.write_bytes(before)

    got = read(path)
    transcript = Transcript(path, session_id="s1", cwd=tmp_path)
    await transcript.record((*got.messages, prompt(9, "go on")))
    transcript.close()

    assert [message.text for message in got.messages] == ["hello", "hi", "what is in a.txt?"]
    assert got.damage == ("x.jsonl:4: no JSON, cut off at the end of the file, left out",)
    assert path.read_bytes().startswith(before + b"\n{")
    assert [message.text for message in read(path).messages][-2:] == ["what is in a.txt?", "go on"]
    assert read(path).damage == ("x.jsonl:4: no JSON, left out",)


def test_a_damaged_line_in_the_middle_costs_no_more_than_itself(tmp_path: Path) -> None:
    path = written(
        tmp_path / "x.jsonl",
        line(1, None, "one"),
        b'{"type": "user", "uuid": "gone"',
        {**line(3, None, "three"), "parentUuid": "gone"},
        line(4, 3, "four"),
    )

    got = read(path)

    assert [message.text for message in got.messages] == ["one", "three", "four"]
    assert got.damage == ("x.jsonl:2: no JSON, left out",)


def test_a_damaged_compaction_does_not_bring_back_what_it_stood_for(tmp_path: Path) -> None:
    path = written(
        tmp_path / "x.jsonl",
        line(1, None, "one"),
        b'{"type": "system", "uuid": "gone"',
        {**line(3, None, "the summary"), "parentUuid": "gone", "isCompactSummary": True},
        line(4, 3, "four"),
    )

    got = read(path)

    assert [message.kind for message in got.messages] == [Kind.SUMMARY, Kind.PROMPT]


def test_lines_longer_than_what_is_read_at_once_are_read_whole(tmp_path: Path) -> None:
    long = "ä" * 700_000
    path = written(tmp_path / "x.jsonl", line(1, None, long), line(2, 1, long), line(3, 2, "end"))

    assert [len(message.text) for message in read(path).messages] == [700_000, 700_000, 3]


def test_a_write_that_was_tried_again_counts_once(tmp_path: Path) -> None:
    one, two, three = line(1, None, "one"), line(2, 1, "two"), line(3, 2, "three")
    path = written(tmp_path / "x.jsonl", one, two, b'{"uuid', two, three)

    assert [message.text for message in read(path).messages] == ["one", "two", "three"]
