"""A request that is refused for what stands in the history: told, mended, never met for ever."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import orjson
import pytest

from interlock.errors import UsageError
from interlock.model.sse import SseEvent
from interlock.options import Options, PermissionMode
from interlock.scripted import (
    Answer,
    ByFunction,
    RawSse,
    ScriptedServer,
    SentRequest,
    reply,
    status,
    thinking,
    tool_use,
)
from interlock.sessions.reading import read_messages
from phases.world.messages import ToolResult
from phases.world.updates import Notice
from tests.agent.support import MODEL, Room, Told, entries, sent, tell, unanswered
from tests.model.streams import begun, closed, delta, ended, event, opened, typed, wire

ADAPTIVE = Options(permission_mode=PermissionMode.BYPASS_PERMISSIONS, model="claude-sonnet-5-5")
MARK = "a-mark-that-is-refused"


def invalid(words: str) -> Answer:
    return status(400, "invalid_request_error", words)


def warnings(told: Told) -> list[str]:
    notices = [one for one in told.updates if isinstance(one, Notice)]
    return [one.text for one in notices if one.text.startswith("Left out")]


def refuses(words: str, kind: str) -> Callable[[SentRequest], Answer]:
    """A server that for ever refuses blocks of this kind with the mark in them."""
    spoken = []

    def answer(request: SentRequest) -> Answer:
        for at, message in enumerate(request.body["messages"]):
            for number, block in enumerate(message["content"]):
                if block["type"] == kind and MARK in orjson.dumps(block).decode():
                    return invalid(words.format(at=at, number=number))
        spoken.append(request)
        if len(spoken) == 1:
            return reply(MARK, tool_use("Bash", {"command": f"echo {MARK}"}))
        return reply("ok")

    return answer


@pytest.mark.parametrize(
    ("words", "kind", "left_out"),
    [
        (
            "messages.{at}.content.{number}.tool_use.input: bad",
            "tool_use",
            "a call of Bash, a result of Bash",
        ),
        ("messages.{at}.content.{number}.text: bad", "text", "words of the model"),
        ("messages.{at}: bad", "text", "words of the model, a call of Bash, a result of Bash"),
        (
            "messages.{at}.content.{number}.tool_result.content: bad",
            "tool_result",
            "a result of Bash",
        ),
        (
            "messages.{at}.content.{number}: unexpected `tool_use_id`",
            "tool_result",
            "a call of Bash, a result of Bash",
        ),
    ],
)
async def test_what_a_400_names_is_left_out_told_and_never_sent_again(
    room: Room, words: str, kind: str, left_out: str
) -> None:
    source = ByFunction(refuses(words, kind))
    async with ScriptedServer(source) as server, room.open(server) as agent:
        told = [await tell(agent, prompt) for prompt in ("one", "two", "three")]

    assert [one.ending for one in told] == [("completed", None)] * 3
    assert len(server.requests) == 5
    (warning,) = warnings(told[0])
    assert warning.startswith(f"Left out of the conversation: {left_out}; ")
    assert "(400): messages." in warning
    assert server.verdict() == ()


async def test_the_transcript_holds_both_what_was_said_and_what_stands_for_it(room: Room) -> None:
    source = ByFunction(refuses("messages.{at}.content.{number}.tool_use.input: bad", "tool_use"))
    async with ScriptedServer(source) as server, room.open(server) as agent:
        await tell(agent, "one")

    # What is read back goes on from the notes; the lines before them are still there.
    history = read_messages(agent.transcript_path)
    assert [call for message in history for call in message.calls] == []
    assert MARK in agent.transcript_path.read_text()
    assert unanswered(agent.transcript_path) == []


async def test_a_note_is_read_back_in_the_place_of_its_result(room: Room) -> None:
    slow = tool_use("Bash", {"command": "sleep 0.05; echo slow"}, id="toolu_slow")
    fast = tool_use("Read", {"file_path": str(room.work / "a.txt")}, id="toolu_fast")
    refusal = invalid("messages.1.content.1.tool_use.input: bad")
    answers = [reply(slow, fast), refusal, reply("ok")]
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        await tell(agent, "one")

    _, _, first, second, _ = read_messages(agent.transcript_path)
    assert isinstance(first.content[0], ToolResult)  # written last, for it was the slow one
    assert first.content[0].tool_use_id == "toolu_slow"
    assert second.text.startswith("[taken out: the result of a call")


async def test_a_prompt_that_is_refused_is_not_answered_in_its_absence(room: Room) -> None:
    answers = [invalid("messages.0.content.0: bad"), reply("Hello, what can I do?")]
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        told = await tell(agent, "fix the login test")
        after = await tell(agent, "and now?")

    assert told.ending == ("completed", "api_error")
    assert "messages.0.content.0: bad" in (told.summary.error_text or "")
    assert "this was left out: words of the user" in (told.summary.error_text or "")
    assert after.ending == ("completed", None)
    first, second = sent(server.requests[1])
    assert first["text"].startswith("[taken out: the model's server refused it")
    assert second["text"] == "and now?"
    (last,) = [one for one in entries(agent.transcript_path) if one["type"] == "last-prompt"]
    assert last["lastPrompt"] == "and now?"


@pytest.mark.parametrize("poison", ["the prompt", "the call"])
async def test_a_400_without_a_place_is_not_met_at_every_prompt(room: Room, poison: str) -> None:
    kind = "text" if poison == "the prompt" else "tool_use"
    asks = f"say {MARK}" if poison == "the prompt" else "two"
    source = ByFunction(refuses("this is refused, and no reason is given", kind))
    if poison == "the prompt":
        source = ByFunction(
            lambda request: invalid("no") if MARK in request.raw.decode() else reply("ok")
        )
    async with ScriptedServer(source) as server, room.open(server) as agent:
        first = [await tell(agent, prompt) for prompt in ("one", asks)]
        after = [await tell(agent, prompt) for prompt in ("three", "four")]

    assert "api_error" in [error for _, error in (one.ending for one in first)]
    assert [one.ending for one in after] == [("completed", None)] * 2
    assert any(warnings(one) for one in (*first, *after))
    assert "three" in sent(server.requests[-1])[-3]["text"]
    assert server.verdict() == ()


# --- thinking --------------------------------------------------------------------------------


def unsigned_call() -> RawSse:
    lines = wire(
        [
            begun(),
            opened(0, "thinking", thinking="", signature=""),
            delta(0, "thinking_delta", thinking="hm"),
            closed(0),
            opened(1, "tool_use", id="toolu_1", name="Bash", input={}),
            typed(1, '{"command": "true"}'),
            closed(1),
            *ended("tool_use"),
        ]
    )
    return RawSse(lines=tuple(lines.decode().split("\n")[:-1]))


async def test_thinking_that_nobody_signed_is_left_out_and_the_call_stays(room: Room) -> None:
    answers: list[Answer] = [unsigned_call(), reply("ok"), reply("ok")]
    async with ScriptedServer(answers) as server, room.open(server, options=ADAPTIVE) as agent:
        told = [await tell(agent, prompt) for prompt in ("one", "two")]

    assert [one.ending for one in told] == [("completed", None)] * 2
    assert [block["type"] for block in sent(server.requests[1])][1:] == ["tool_use", "tool_result"]
    assert server.verdict() == ()


# --- one prompt at a time, and words in it ---------------------------------------------------


@pytest.mark.parametrize("words", ["", "  \n"])
async def test_a_prompt_without_words_is_refused_before_anything_is_sent(
    room: Room, words: str
) -> None:
    async with ScriptedServer([reply("hi")]) as server, room.open(server) as agent:
        await tell(agent, "one")
        with pytest.raises(UsageError, match="the prompt is empty"):
            await tell(agent, words)

    assert len(server.requests) == 1


async def test_a_second_prompt_at_once_is_refused_and_the_first_is_not_disturbed(
    room: Room,
) -> None:
    answers = [reply("first", delay_s=0.2), reply("third")]
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        begun_one = asyncio.Event()
        first = asyncio.create_task(tell(agent, "one", on=lambda *_: begun_one.set()))
        await begun_one.wait()
        with pytest.raises(UsageError, match="a prompt is under way"):
            await tell(agent, "two")
        with pytest.raises(UsageError, match="a prompt is under way"):
            await agent.compact(lambda update: None)
        assert (await first).ending == ("completed", None)
        await tell(agent, "three")

    assert [block["text"] for block in sent(server.requests[1])] == ["one", "first", "three"]


# --- what the model can write ----------------------------------------------------------------


@pytest.mark.parametrize("name", ["CLAUDE_CODE_MAX_OUTPUT_TOKENS", "INTERLOCK_DEFAULT_OUTPUT_CAP"])
async def test_a_cap_above_what_the_model_can_write_is_brought_down_and_told_once(
    room: Room, name: str
) -> None:
    environ = {name: "100000"}
    async with (
        ScriptedServer([reply("ok"), reply("ok")]) as server,
        room.open(server, environ=environ) as agent,
    ):
        told = [await tell(agent, prompt) for prompt in ("one", "two")]

    assert [request.body["max_tokens"] for request in server.requests] == [64_000, 64_000]
    notices = [one.text for each in told for one in each.updates if isinstance(one, Notice)]
    assert [one for one in notices if f"{name}=100,000" in one] == [
        f"{MODEL} writes at most 64,000 tokens: no request asks for more ({name}=100,000)"
    ]
    assert server.verdict() == ()


@pytest.mark.parametrize("model", [MODEL, "claude-opus-4-6", "claude-sonnet-5-5"])
@pytest.mark.parametrize(
    ("thinks", "refused"),
    [
        (False, "messages.1.content.0.text: bad"),
        (False, "messages.1: bad"),
        (True, "messages.1.content.1.text: bad"),
        (True, "messages.1: bad"),
        (True, "messages.1.content.0: Invalid `signature` in `thinking` block"),
    ],
)
async def test_after_a_pause_that_is_refused_the_user_asks_to_go_on(
    room: Room, model: str, thinks: bool, refused: str
) -> None:
    thought = [thinking("hm", "a signature")] if thinks else []
    paused = reply(*thought, "The first half. ", stop_reason="pause_turn")
    environ = {"MAX_THINKING_TOKENS": "1500"} if thinks else {}
    options = Options(permission_mode=PermissionMode.BYPASS_PERMISSIONS, model=model)
    answers = [paused, invalid(refused), reply("The second half."), reply("ok")]
    async with (
        ScriptedServer(answers) as server,
        room.open(server, options=options, environ=environ) as agent,
    ):
        told = [await tell(agent, prompt) for prompt in ("one", "two")]

    assert [one.ending for one in told] == [("completed", None)] * 2
    assert server.requests[2].body["messages"][-1]["role"] == "user"
    assert told[0].summary.text == "The first half. The second half."
    assert server.verdict() == ()
    assert unanswered(agent.transcript_path) == []


@pytest.mark.parametrize("refused", ["messages.1.content.0.text: bad", "messages.1: bad"])
async def test_a_cut_answer_that_is_refused_is_told_in_the_words_of_the_model_alone(
    room: Room, refused: str
) -> None:
    capped = reply("The first half. ", stop_reason="max_tokens")
    answers = [capped, capped, invalid(refused), reply("The second half.")]
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        told = await tell(agent, "one")

    assert told.summary.text == "The first half. The second half."
    assert told.summary.messages == 2  # the prompt, and the words that ask to go on
    assert server.verdict() == ()


@pytest.mark.parametrize("stop_reason", ["pause_turn", "max_tokens"])
async def test_an_answer_that_ends_with_an_empty_piece_is_all_that_was_said(
    room: Room, stop_reason: str
) -> None:
    environ = {"CLAUDE_CODE_MAX_OUTPUT_TOKENS": "8000"}
    answers = [reply("All of it.", stop_reason=stop_reason), reply("")]
    async with ScriptedServer(answers) as server, room.open(server, environ=environ) as agent:
        told = await tell(agent, "one")

    assert told.ending == ("completed", None)
    assert told.summary.text == "All of it."


# --- why an answer ended ---------------------------------------------------------------------


async def test_an_answer_without_a_stop_reason_is_told_in_words(room: Room) -> None:
    lines = wire([begun(), *_text("hey"), event("message_stop")])
    answer = RawSse(lines=tuple(lines.decode().split("\n")[:-1]))
    async with ScriptedServer([answer]) as server, room.open(server) as agent:
        told = await tell(agent, "one")

    assert told.ending == ("completed", "unknown_stop_reason")
    assert "None" not in (told.summary.error_text or "")
    assert "without saying why" in (told.summary.error_text or "")


async def test_a_call_that_the_window_cut_is_told_to_be_that(room: Room) -> None:
    lines = wire(
        [
            begun(),
            *_text("so far"),
            opened(1, "tool_use", id="toolu_1", name="Bash", input={}),
            typed(1, '{"command": "touch changed'),
            closed(1),
            *ended("model_context_window_exceeded"),
        ]
    )
    answers: list[Answer] = [
        RawSse(lines=tuple(lines.decode().split("\n")[:-1])),
        reply("the summary"),
        reply("done"),
    ]
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        told = await tell(agent, "one")

    assert told.ending == ("completed", None)
    words = sent(server.requests[-1])[-1]["text"]
    assert "because the context window was full" in words
    assert "output limit" not in words
    assert "in the middle of a call of Bash: that did not run" in words
    assert not (room.work / "changed").exists()


def _text(words: str) -> list[SseEvent]:
    return [
        opened(0, "text", text=""),
        delta(0, "text_delta", text=words),
        closed(0),
    ]
