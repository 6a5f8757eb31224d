"""Compaction through the whole loop: what is summarised, what stays, what is put back."""

from __future__ import annotations

from interlock.scripted import Answer, ScriptedServer, reply, text, thinking, tool_use
from phases.world.updates import Compaction, Notice
from tests.agent.support import Room, entries, sent, tell, unanswered
from tests.recovery.compactions import SMALL, read, said, shown, summaries, unseen


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
