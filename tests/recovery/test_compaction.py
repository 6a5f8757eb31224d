"""A session whose window fills up, against a strict server: it goes on, and says what it did."""

from __future__ import annotations

import base64
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest

from interlock.context.summary import BRIEF, INSTRUCTION, TERSE
from interlock.scripted import (
    Answer,
    ScriptedServer,
    SentRequest,
    Settings,
    Status,
    reply,
    status,
    text,
    thinking,
    tool_use,
)
from phases.world.updates import Compaction, Notice, Update
from tests.agent.support import Room, Told, blocks, entries, sent, tell, unanswered

OVER = "prompt is too long: 205030 tokens > 200000 maximum"
TOO_LONG = status(400, "invalid_request_error", OVER)
INSTRUCTIONS = (INSTRUCTION, BRIEF, TERSE)
SMALL = {"INTERLOCK_CONTEXT_WINDOW": "32768", "INTERLOCK_COMPACT_THRESHOLD": "0.85"}


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room.made(tmp_path)


def summaries(server: ScriptedServer) -> list[SentRequest]:
    """The requests that asked for a summary."""
    return [one for one in server.requests if said(one)[-1] in INSTRUCTIONS]


def said(request: SentRequest) -> list[str]:
    return [block["text"] for block in sent(request) if block["type"] == "text"]


def unseen(update: Update) -> None:
    """Nobody watches."""


def shown(told: Told, kind: type[Update]) -> list[Any]:
    return [one for one in told.updates if isinstance(one, kind)]


def picture(path: Path, side: int = 8) -> str:
    """A valid PNG in this file."""

    def chunk(name: bytes, data: bytes) -> bytes:
        crc = struct.pack(">I", zlib.crc32(name + data))
        return struct.pack(">I", len(data)) + name + data + crc

    rows = b"".join(b"\0" + b"\xff\0\0" * side for _ in range(side))
    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    png = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head)
    path.write_bytes(png + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
    return base64.b64encode(path.read_bytes()).decode()


def read(room: Room, name: str, **more: Any) -> Answer:
    return reply(tool_use("Read", {"file_path": str(room.work / name)}), **more)


# --- too long, also for the summary --------------------------------------------------------------


async def test_a_summary_that_is_too_long_is_asked_for_smaller_each_time(room: Room) -> None:
    (room.work / "long.txt").write_text("line of a long file\n" * 600)
    answers: list[Answer] = [
        read(room, "long.txt"),
        read(room, "a.txt"),
        reply("seen"),
        *[TOO_LONG] * 3,
        reply("short summary"),
        reply("carrying on"),
        reply("still here"),
    ]
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        await tell(agent, "read them")
        told = await tell(agent, "go on")
        after = await tell(agent, "and now?")

        sizes = [len(request.raw) for request in summaries(server)]
        assert told.ending == after.ending == ("completed", None)
        assert told.summary.text == "carrying on"
        assert len(sizes) == 3
        assert sizes == sorted(set(sizes), reverse=True)
        assert server.verdict() == ()
        assert unanswered(agent.transcript_path) == []


async def test_a_bare_prompt_that_is_too_long_for_the_server_gets_three_summaries_tried(
    room: Room,
) -> None:
    answers: list[Answer] = [*[TOO_LONG] * 3, reply("short summary"), reply("carrying on")]
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        told = await tell(agent, "hello")

        assert told.ending == ("completed", None)
        assert [len(one.raw) for one in summaries(server)] == sorted(
            (len(one.raw) for one in summaries(server)), reverse=True
        )
        assert server.verdict() == ()


async def test_when_no_summary_is_to_be_had_the_history_is_cut_and_the_session_goes_on(
    room: Room,
) -> None:
    def model(request: SentRequest) -> Answer:
        words = said(request)
        if words[-1] in INSTRUCTIONS or (words[-1] == "go on" and len("".join(words)) > 9_000):
            return TOO_LONG
        return reply("fine " * 400)

    async with ScriptedServer(model) as server, room.open(server) as agent:
        for at in range(8):
            await tell(agent, f"question {at}")
        told = await tell(agent, "go on")

        assert told.ending == ("completed", None)
        assert 1 < len(summaries(server)) <= 4
        notices = [one.text for one in shown(told, Notice)]
        assert any("cut without a summary" in one for one in notices)
        assert "question 0" in "\n".join(said(server.requests[-1]))
        assert server.verdict() == ()


async def test_compaction_by_hand_works_where_the_summary_is_too_long(room: Room) -> None:
    answers: list[Answer] = [
        reply("one"),
        reply("two"),
        *[TOO_LONG] * 3,
        reply("short"),
        reply("carrying on"),
    ]
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        await tell(agent, "first")
        await tell(agent, "second")
        seen: list[Update] = []
        problem = await agent.compact(seen.append, "the second part")
        told = await tell(agent, "go on")

        assert problem is None
        assert [one.trigger for one in seen if isinstance(one, Compaction)] == ["manual"]
        assert said(server.requests[-1])[-1] == "go on"
        assert "[user] first" in said(server.requests[-1])
        assert told.ending == ("completed", None)
        assert server.verdict() == ()


@pytest.mark.parametrize(
    ("prompt", "smaller"), [("hello", False), ("word " * 4_000, True)], ids=["short", "long"]
)
async def test_by_hand_it_is_told_where_a_summary_makes_nothing_smaller(
    room: Room, prompt: str, smaller: bool
) -> None:
    seen: list[Update] = []
    answers = [reply(prompt), reply("They greeted me.")]
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        await tell(agent, "hello")
        problem = await agent.compact(seen.append)

    (made,) = (one for one in seen if isinstance(one, Compaction))
    words = [one.text for one in seen if isinstance(one, Notice) and "no smaller" in one.text]
    assert problem is None
    assert (made.tokens_after < made.tokens_before) is smaller
    assert len(words) == (0 if smaller else 1)
    assert made.tokens_after < 1.1 * made.tokens_before  # and not in another measure


async def test_a_compaction_request_reads_the_sessions_cached_prefix(room: Room) -> None:
    answers: list[Answer] = [read(room, "a.txt"), reply("seen"), reply("short"), reply("on")]
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        await tell(agent, "read it")
        await agent.compact(unseen)

        before, compact = server.requests[1:3]
        for key in ("model", "system", "tools"):
            assert compact.body[key] == before.body[key]
        assert compact.cache_read_share > 0.9


# --- no thrash -----------------------------------------------------------------------------------


async def test_a_fixed_part_that_fills_the_window_stops_compaction_with_one_clear_error(
    room: Room,
) -> None:
    full = {"input_tokens": 30_000, "output_tokens": 5}

    async with (
        ScriptedServer(lambda request: reply("ok", usage=full)) as server,
        room.open(server, environ=SMALL) as agent,
    ):
        told = [await tell(agent, f"prompt {at}") for at in range(8)]

        compactions = [one for each in told for one in shown(each, Compaction)]
        assert len(compactions) == 2
        assert [each.ending[0] for each in told[-3:]] == ["blocking_limit"] * 3
        assert "The largest part is system prompt, tools, notes" in str(
            told[-1].summary.error_text
        )
        asked = len(server.requests)
        await tell(agent, "once more")
        assert len(server.requests) == asked  # nothing more is burnt
        assert server.verdict() == ()


async def test_a_fixed_part_above_the_threshold_is_told_at_the_start(room: Room) -> None:
    async with (
        ScriptedServer([reply("ok"), reply("ok")]) as server,
        room.open(server, environ={"INTERLOCK_COMPACT_THRESHOLD": "0.01"}) as agent,
    ):
        first, second = await tell(agent, "hello"), await tell(agent, "again")

        told = [one.text for one in shown(first, Notice)]
        assert any("the tools and the notes alone take about" in one for one in told)
        assert len({one.text for one in shown(second, Notice)}) <= 1
        assert len(server.requests) == 2


# --- calls and thinking --------------------------------------------------------------------------


async def test_a_compaction_while_a_call_is_open_sends_thinking_back_as_it_came(
    room: Room,
) -> None:
    first = (
        thinking("step  one \n", "c2lnLUE="),
        {"type": "redacted_thinking", "data": "b3BhcXVl"},
        text("Reading."),
        thinking("", "c2lnLUI="),
    )
    use = tool_use("Read", {"file_path": str(room.work / "a.txt")})
    answers: list[Answer] = [
        reply(*first, use),
        reply(
            thinking("now look again", "c2lnLUM="),
            use,
            usage={"input_tokens": 175_000, "output_tokens": 40},
        ),
        reply("summary of the work so far"),
        reply("finished"),
    ]
    async with (
        ScriptedServer(answers) as server,
        room.open(server, environ={"MAX_THINKING_TOKENS": "2000"}) as agent,
    ):
        told = await tell(agent, "read it twice")

        assert told.ending == ("completed", None)
        assert told.summary.text == "finished"
        (compact,) = summaries(server)
        assert [one for one in sent(compact) if one in first] == list(first)
        assert server.verdict() == ()  # signatures and order are the server's to judge
        assert len(shown(told, Compaction)) == 1
        assert unanswered(agent.transcript_path) == []


async def test_rounds_that_are_left_out_are_left_out_whole(room: Room) -> None:
    use = tool_use("Read", {"file_path": str(room.work / "a.txt")})
    full = {"input_tokens": 190_000, "output_tokens": 40}
    answers: list[Answer] = [
        reply(thinking("one", "c2lnLUE="), use),
        reply(thinking("two", "c2lnLUI="), use, usage=full),
        reply("summary"),
        reply("finished"),
    ]
    async with (
        ScriptedServer(answers) as server,
        room.open(server, environ={"MAX_THINKING_TOKENS": "2000"}) as agent,
    ):
        told = await tell(agent, "read it twice")

        assert told.ending == ("completed", None)
        kinds = [block["type"] for block in sent(summaries(server)[0])]
        assert kinds == ["text", "text", "thinking", "tool_use", "tool_result", "text"]
        assert server.verdict() == ()


async def test_the_second_compaction_reaches_across_the_first(room: Room) -> None:
    answers: list[Answer] = [
        read(room, "a.txt"),
        reply("seen"),
        reply("first summary"),
        read(room, "b.txt"),
        reply("seen too"),
        reply("second summary"),
        reply("ok"),
    ]
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        await tell(agent, "keep port 8080")
        await agent.compact(unseen)
        await tell(agent, "and now b")
        await agent.compact(unseen)
        told = await tell(agent, "ok")

        words = said(server.requests[-1])
        assert [one for one in words if one.startswith("[user]")] == [
            "[user] keep port 8080",
            "[user] and now b",
        ]
        assert "second summary" in "\n".join(words)
        assert told.ending == ("completed", None)
        assert server.verdict() == ()
        kinds = [one.get("subtype") for one in entries(agent.transcript_path)]
        assert kinds.count("compact_boundary") == 2
        assert unanswered(agent.transcript_path) == []


async def test_files_read_last_are_put_back_and_may_be_edited_at_once(room: Room) -> None:
    edit = {"file_path": str(room.work / "a.txt"), "old_string": "alpha", "new_string": "omega"}
    answers: list[Answer] = [
        read(room, "a.txt"),
        reply("seen"),
        reply("s"),
        reply(tool_use("Edit", edit)),
    ]
    async with ScriptedServer([*answers, reply("done")]) as server, room.open(server) as agent:
        await tell(agent, "read it")
        await agent.compact(unseen)
        told = await tell(agent, "change it")

        assert f"File {room.work / 'a.txt'}:\nalpha\n" in said(server.requests[3])
        assert (room.work / "a.txt").read_text() == "omega\n"
        assert told.ending == ("completed", None)
        assert server.verdict() == ()


# --- media ---------------------------------------------------------------------------------------

NAMED = "messages.2.content.0.image.source.base64.data: image dimensions exceed max allowed size"
UNNAMED = "Could not process image"
AT_LARGE = "an image exceeds the maximum size"


@pytest.mark.parametrize("words", [NAMED, UNNAMED, AT_LARGE], ids=["named", "unnamed", "large"])
async def test_a_refused_picture_leaves_a_session_that_goes_on_and_can_be_compacted(
    room: Room, words: str
) -> None:
    data = picture(room.work / "p.png")

    def model(request: SentRequest) -> Answer | Status:
        if data in request.raw.decode():
            return status(400, "invalid_request_error", words)
        last = said(request)[-1]
        if last == "look" and not any(one["type"] == "tool_use" for one in sent(request)):
            return read(room, "p.png")
        return reply("I could not see the picture.")

    async with ScriptedServer(model) as server, room.open(server) as agent:
        first = await tell(agent, "look")
        problem = await agent.compact(unseen)
        second = await tell(agent, "still alive?")

        assert first.ending == second.ending == ("completed", None)
        assert problem is None
        assert data not in server.requests[-1].raw.decode()
        assert server.verdict() == ()


async def test_where_media_were_the_cause_the_summary_is_asked_for_without_them(
    room: Room,
) -> None:
    picture(room.work / "p.png")
    too_large = status(413, "invalid_request_error", AT_LARGE)
    answers: list[Answer] = [read(room, "p.png"), too_large, reply("summary"), reply("done")]
    async with (
        ScriptedServer(answers, Settings(strict=True)) as server,
        room.open(server) as agent,
    ):
        told = await tell(agent, "look")

        (compact,) = summaries(server)
        results = [one for one in sent(compact) if one["type"] == "tool_result"]
        assert "image" not in [part["type"] for one in results for part in one["content"]]
        assert told.ending == ("completed", None)
        assert server.verdict() == ()


async def test_a_result_larger_than_the_window_does_not_cost_the_session(room: Room) -> None:
    rows = "import sys; [sys.stdout.write('row %08d %s\\n' % (i, 'y' * 65)) for i in range(52428)]"
    command = f'{{ python3 -c "{rows}"; echo LAST-LINE-MARKER; }}'
    answers: list[Answer] = [
        reply(tool_use("Bash", {"command": command})),
        TOO_LONG,
        reply("summary"),
        reply("done"),
    ]
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        told = await tell(agent, "run it")

        assert told.ending == ("completed", None)
        capped = next(one for one in blocks(server.requests[1].body["messages"][-1:]))
        assert "LAST-LINE-MARKER" in str(capped)
        assert len(str(capped)) < 40_000
        assert server.verdict() == ()
