"""Prompts through the unmodified SDK: one or many, in order, each with its one result."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from claude_agent_sdk import (
    AssistantMessage,
    ClaudeSDKClient,
    ResultError,
    ResultMessage,
    StreamEvent,
    SystemMessage,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)

from interlock.scripted import reply, status, tool_use
from tests.sdk.conftest import Open
from tests.sdk.house import of, result_of, said


async def test_a_string_prompt_is_answered_and_its_messages_are_typed(house: Open) -> None:
    here = house(
        [reply("I look", tool_use("Read", {"file_path": "notes.txt"})), reply("There is milk.")]
    )
    notes = here.file("notes.txt", "remember the milk\n")

    messages = await here.query("what is in notes.txt?", include_partial_messages=True)

    first = messages[0]
    assert isinstance(first, SystemMessage)
    assert (first.subtype, first.data["cwd"]) == ("init", str(notes.parent))
    blocks = [block for message in of(AssistantMessage, messages) for block in message.content]
    assert [type(block) for block in blocks] == [TextBlock, ToolUseBlock, TextBlock]
    (result,) = [
        block
        for message in of(UserMessage, messages)
        for block in message.content
        if isinstance(block, ToolResultBlock)
    ]
    assert "remember the milk" in str(result.content)
    assert "message_stop" in {message.event["type"] for message in of(StreamEvent, messages)}
    ended = result_of(messages)
    assert (ended.result, ended.is_error, ended.num_turns) == ("There is milk.", False, 2)
    assert ended.model_usage is not None
    assert ended.user_message_uuid is not None


async def test_a_client_holds_one_session_over_many_turns(house: Open) -> None:
    here = house([reply("one"), reply("two")])

    async with ClaudeSDKClient(here.options()) as client:
        first, second = await said(client, "first"), await said(client, "second")
        greeted = await client.get_server_info()

    assert (result_of(first).result, result_of(second).result) == ("one", "two")
    assert result_of(first).session_id == result_of(second).session_id
    assert [message.subtype for message in of(SystemMessage, second)] == ["init"]
    assert greeted is not None
    assert greeted["hook_on_failure_supported"] is True
    # What it has cost is told of the session, not of the turn.
    assert (result_of(second).total_cost_usd or 0) > (result_of(first).total_cost_usd or 0) > 0
    assert here.server.requests[1].body["messages"][-1]["content"][-1]["text"] == "second"


async def test_a_stream_of_prompts_with_pictures_and_ids_is_served_to_its_end(
    house: Open,
) -> None:
    here = house([reply("a pixel"), reply("and that was all")])
    uuid = "11111111-2222-4333-8444-555555555555"
    picture = {"type": "base64", "media_type": "image/png", "data": _PIXEL}

    async def prompts() -> AsyncIterator[dict[str, Any]]:
        content = [{"type": "text", "text": "what is it?"}, {"type": "image", "source": picture}]
        for each, more in ((content, {"uuid": uuid}), ("go on", {})):
            body = {"role": "user", "content": each}
            yield {"type": "user", "message": body, "parent_tool_use_id": None, **more}

    messages = await here.query(prompts(), extra_args={"replay-user-messages": None})

    results = of(ResultMessage, messages)
    assert [result.result for result in results] == ["a pixel", "and that was all"]
    assert results[0].user_message_uuid == uuid
    assert of(UserMessage, messages)[0].uuid == uuid
    assert '"image"' in str(here.server.requests[0].body).replace("'", '"')


async def test_an_error_result_is_raised_with_what_it_says(house: Open) -> None:
    here = house([status(401, "authentication_error", "invalid x-api-key")])

    with pytest.raises(ResultError, match="invalid x-api-key") as raised:
        await here.query("hi")

    assert raised.value.data["api_error_status"] == 401


_PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg=="
)


async def test_an_answer_of_a_form_comes_as_an_object(house: Open) -> None:
    schema = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
    here = house([reply(tool_use("StructuredOutput", {"ok": True})), reply("Done.")])

    messages = await here.query(
        "all well?", output_format={"type": "json_schema", "schema": schema}
    )

    assert result_of(messages).structured_output == {"ok": True}


async def test_a_command_of_the_program_is_a_turn_without_a_model(house: Open) -> None:
    here = house([reply("Hello.")])

    async with ClaudeSDKClient(here.options()) as client:
        await said(client, "hi")
        cost = result_of(await said(client, "/cost"))

    assert (cost.num_turns, cost.is_error) == (0, False)
    assert "tokens in" in str(cost.result)
    assert len(here.server.requests) == 1
