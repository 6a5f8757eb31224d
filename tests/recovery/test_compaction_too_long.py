"""Compaction through the whole loop: what is too long, also for the summary, and refused media."""

from __future__ import annotations

import pytest

from interlock.scripted import (
    Answer,
    ScriptedServer,
    SentRequest,
    Settings,
    Status,
    reply,
    status,
    tool_use,
)
from phases.world.updates import Compaction, Notice, Update
from tests.agent.support import Room, blocks, sent, tell, unanswered
from tests.recovery.compactions import (
    INSTRUCTIONS,
    TOO_LONG,
    picture,
    read,
    said,
    shown,
    summaries,
    unseen,
)


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
