"""Context of the system at the end of its prompt, context of the user in front of the talk."""

from __future__ import annotations

from typing import Any

import orjson

from interlock.context.inject import (
    MCP_TOOLS,
    PROJECT,
    SKILLS,
    append_system_context,
    user_context,
)
from interlock.model import AnthropicModel
from interlock.model.refusals import refused_blocks
from interlock.model.request import CONTEXT_ID, Gate
from interlock.options import Options
from interlock.prompt import system_blocks
from interlock.scripted import ScriptedServer, reply
from phases.world.messages import Message
from tests.model.histories import asking, assistant, call, result, unmarked, user

CONTEXT = {PROJECT: "Use tabs.", SKILLS: "pdf: reads PDF", MCP_TOOLS: "mcp__db__query"}
TEXT = user_context(CONTEXT) or ""


def messages_of(gate: Gate, *messages: Any, **more: Any) -> Any:
    return orjson.loads(gate.build(asking(*messages), **more).body)["messages"]


def test_system_context_is_one_more_block_of_lines_at_the_end() -> None:
    context = {"date": "2026-01-15", "empty": "  ", "commits": "\none\ntwo"}

    parts = append_system_context(("You are brief.", " "), context)

    assert parts == ("You are brief.", "date: 2026-01-15\ncommits:\none\ntwo")


def test_an_empty_system_context_adds_nothing() -> None:
    assert append_system_context(("base",), {}) == ("base",)
    assert append_system_context((), {"key": ""}) == ()


def test_the_system_prompt_takes_more_context_behind_its_parts() -> None:
    blocks = system_blocks(Options(system_prompt="base"), "where: here", {"mcp": "up"})

    assert blocks == ("base", "where: here", "mcp: up")


def test_user_context_is_one_text_in_front_wrapped_as_a_reminder() -> None:
    (message,) = messages_of(Gate(user_context=TEXT), user("do it"))
    told, said = (block["text"] for block in message["content"])

    assert said == "do it"
    assert told.startswith("<system-reminder>")
    assert told.endswith("</system-reminder>")


def test_what_is_loaded_first_stands_first() -> None:
    assert TEXT.index("mcp__db__query") < TEXT.index("Use tabs.") < TEXT.index("reads PDF")


def test_without_user_context_nothing_is_sent() -> None:
    history = (user("do it"),)

    assert user_context({}) is None
    assert user_context({PROJECT: " "}) is None
    assert messages_of(Gate(user_context=None), *history) == messages_of(Gate(), *history)


def test_the_same_context_is_made_once() -> None:
    assert user_context(dict(CONTEXT)) is user_context(dict(CONTEXT))


def test_the_gate_sends_it_first_in_every_request_and_with_a_mark_of_its_own() -> None:
    gate = Gate(system=("base",), user_context=TEXT)
    prompt, asked, answered = user("do it"), assistant(call()), result("toolu_1")

    one = messages_of(gate, prompt)
    two = messages_of(gate, prompt, asked, answered)

    for sent in (one, two):
        assert sent[0]["content"][0]["text"] == TEXT
        assert "cache_control" in sent[0]["content"][0]
        assert sent[0]["content"][1]["text"] == "do it"
    assert unmarked(two)[:1] == unmarked(one)


def test_a_refusal_that_names_it_leads_to_it_else_older_words_go_first() -> None:
    first, answer, newest = user("do it"), assistant("done"), user("and now that")
    gate = Gate(user_context=TEXT, context_name="the notes")

    def left_out(words: str, *messages: Message) -> list[str]:
        found = refused_blocks(gate.build(asking(*messages)), words, unheard=True)
        return [one.message_id for one in found]

    assert left_out("messages.0.content.0: bad", first) == [CONTEXT_ID]
    assert left_out("messages.0.content.1: bad", first) == [first.id]
    assert left_out("messages.0: bad", first) == [CONTEXT_ID]  # or nothing is left to answer
    assert left_out("messages.0: bad", first, answer, newest) == [first.id]
    gate.leave_out_context()
    assert left_out("messages.0.content.0: bad", first) == [first.id]


async def test_its_prefix_is_read_from_the_cache_after_a_compaction_too() -> None:
    async with ScriptedServer([reply("one"), reply("two")]) as server:
        model = AnthropicModel(
            base_url=server.base_url,
            api_key="key",
            system=("base " * 400,),
            user_context=TEXT * 40,
        )
        for words in ("do it", "a summary of something else"):
            async for _ in model.ask(asking(user(words))):
                pass
        await model.aclose()

        assert server.verdict() == ()
        assert server.requests[1].cache_read_share > 0.9
