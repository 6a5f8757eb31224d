"""The way back from a transcript, ours or another's."""

from __future__ import annotations

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson
import pytest
from hypothesis import given, settings

from interlock.errors import TranscriptError
from interlock.sessions import Transcript, find, read, read_messages
from phases.world.messages import Kind, Message, Text, ToolResult, ToolUse
from tests.sessions.conversations import histories, prompt, reply, summary, uuid


@settings(deadline=None)
@given(histories())
def test_what_was_written_is_read_back_equal(history: tuple[Message, ...]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "x.jsonl"
        transcript = Transcript(path, session_id=uuid(0), cwd=Path(folder))
        asyncio.run(transcript.record(history))
        transcript.close()

        assert read_messages(path) == history


@settings(deadline=None, max_examples=30)
@given(histories())
def test_a_file_cut_anywhere_gives_a_beginning_of_the_history(
    history: tuple[Message, ...],
) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "x.jsonl"
        transcript = Transcript(path, session_id=uuid(0), cwd=Path(folder))
        asyncio.run(transcript.record(history))
        data = path.read_bytes()
        for cut in range(0, len(data), max(1, len(data) // 20)):
            path.write_bytes(data[:cut])
            got = [message.id for message in read_messages(path)]
            assert got == [message.id for message in history][: len(got)]
        transcript.close()


@settings(deadline=None, max_examples=30)
@given(histories())
def test_a_message_is_found_by_its_id_also_before_a_compaction(
    history: tuple[Message, ...],
) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "x.jsonl"
        transcript = Transcript(path, session_id=uuid(0), cwd=Path(folder))
        asyncio.run(transcript.record(history))
        asyncio.run(transcript.record((summary(9_999),)))
        transcript.close()

        for message in history:
            assert find(path, {message.id, "not there"}) == {message.id: message}


def written(path: Path, *lines: dict[str, Any] | bytes) -> Path:
    data = [line if isinstance(line, bytes) else orjson.dumps(line) for line in lines]
    path.write_bytes(b"\n".join(data) + b"\n")
    return path


def entry(number: int, parent: int | None, role: str, content: Any, **more: Any) -> dict[str, Any]:
    body = {"role": role, "content": content} | more.pop("body", {})
    ids = {"uuid": uuid(number), "parentUuid": None if parent is None else uuid(parent)}
    return {"type": role, "message": body} | ids | more


def test_a_file_of_another_program_is_read_without_our_own_keys(tmp_path: Path) -> None:
    call = {"type": "tool_use", "id": "a", "name": "Bash", "input": {"command": "ls"}}
    answer = {"type": "tool_result", "tool_use_id": "a", "content": "one\ntwo"}
    cited = {"type": "text", "text": "see", "citations": [{"url": "x"}]}
    body = {"id": "msg_1", "model": "m", "stop_reason": "tool_use", "usage": {"output_tokens": 3}}
    path = written(
        tmp_path / "x.jsonl",
        {"type": "queue-operation", "operation": "enqueue"},
        entry(1, None, "user", "hello"),
        entry(2, 1, "assistant", [cited], body=body, requestId="r"),
        entry(3, 2, "assistant", [call], body=body, requestId="r"),
        entry(4, 3, "user", [answer], sourceToolAssistantUUID=uuid(3)),
        entry(5, 4, "user", "[Request interrupted by user]"),
        {"type": "last-prompt", "lastPrompt": "hello", "leafUuid": uuid(5)},
    )

    messages = read_messages(path)

    assert [message.kind for message in messages] == [
        Kind.PROMPT,
        Kind.REPLY,
        Kind.RESULT,
        Kind.INTERRUPTION,
    ]
    assert messages[1].content == (
        Text("see", ({"url": "x"},)),
        ToolUse("a", "Bash", {"command": "ls"}),
    )
    assert messages[2].content == (ToolResult("a", (Text("one\ntwo"),)),)
    assert messages[2].source == uuid(2)


def test_the_last_write_is_the_branch_that_goes_on(tmp_path: Path) -> None:
    path = written(
        tmp_path / "x.jsonl",
        entry(1, None, "user", "root", timestamp="2030-01-01T00:00:00Z"),
        entry(2, 1, "user", "old branch", timestamp="2030-01-02T00:00:00Z"),
        entry(3, 1, "user", "new branch", timestamp="2020-01-01T00:00:00Z"),
    )

    assert [message.text for message in read_messages(path)] == ["root", "new branch"]


def test_lines_of_sub_agents_and_lines_of_unknown_types_are_passed_over(tmp_path: Path) -> None:
    path = written(
        tmp_path / "x.jsonl",
        entry(1, None, "user", "main"),
        entry(2, 1, "user", "side", isSidechain=True),
        {"type": "type-of-tomorrow", "uuid": uuid(3), "parentUuid": uuid(1)},
    )

    assert [message.text for message in read_messages(path)] == ["main"]


def test_damage_is_told_and_costs_no_more_than_its_line(tmp_path: Path) -> None:
    path = written(
        tmp_path / "x.jsonl",
        entry(1, None, "user", "one"),
        b"{half a line",
        entry(2, 1, "assistant", [17]),
        entry(3, 2, "user", "two"),
    )

    got = read(path)

    assert [message.text for message in got.messages] == ["one", "two"]
    assert [line.partition(":")[0] for line in got.damage] == ["x.jsonl", "x.jsonl"]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"type":"assistant","uuid":"zz","parentUuid":null}', "entry zz holds no message"),
        ('{"type":"user","uuid":"zz","message":"x"}', "entry zz holds no message"),
        ('{"type":"user","uuid":5,"message":{"content":"x"}}', "an entry without a uuid"),
        ('{"type":"user"}', "an entry without a uuid"),
        ("[1,2]", "no entry"),
        ('"words"', "no entry"),
    ],
)
def test_a_last_line_that_says_nothing_is_told_and_is_not_where_it_goes_on(
    tmp_path: Path, line: str, problem: str
) -> None:
    path = written(
        tmp_path / "x.jsonl",
        entry(1, None, "user", "one"),
        entry(2, 1, "user", "two"),
        line.encode(),
    )

    reading = read(path)

    assert [message.text for message in reading.messages] == ["one", "two"]
    assert reading.damage == (f"x.jsonl:3: {problem}, left out",)


def test_a_missing_file_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(TranscriptError, match="cannot be read: No such file or directory"):
        read_messages(tmp_path / "x.jsonl")


async def test_writing_goes_on_where_reading_found_the_end(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    first = Transcript(path, session_id=uuid(0), cwd=tmp_path)
    await first.record((prompt(1), reply(2, Text("yes"))))
    first.close()

    second = Transcript(path, session_id=uuid(0), cwd=tmp_path)
    await second.record((*read_messages(path), prompt(3, "and now?")))
    second.close()

    assert read_messages(path) == (prompt(1), reply(2, Text("yes")), prompt(3, "and now?"))
