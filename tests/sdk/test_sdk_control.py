"""What a host may want done while a session is open, by the SDK's own methods."""

from __future__ import annotations

import anyio
import pytest
from claude_agent_sdk import (
    ClaudeSDKClient,
    SystemMessage,
    ToolUseBlock,
    UserMessage,
    get_session_messages,
    list_sessions,
    rename_session,
    tag_session,
)

from interlock.scripted import reply, text, tool_use
from tests.sdk.conftest import Open
from tests.sdk.house import of, result_of, said
from tests.waiting import PATIENCE_S, until


async def test_a_turn_can_be_interrupted_in_a_tool_and_the_next_prompt_is_served(
    house: Open,
) -> None:
    here = house(
        [reply(tool_use("Bash", {"command": "touch begun; sleep 300"})), reply("yes, I am here")]
    )

    async with ClaudeSDKClient(here.options(allowed_tools=["Bash"])) as client:
        await client.query("wait")
        await until((here.work / "begun").exists)
        await client.interrupt()
        ended = result_of(await said(client))
        after = result_of(await said(client, "are you there?"))

    assert (ended.subtype, ended.terminal_reason) == ("error_during_execution", "aborted_tools")
    assert after.result == "yes, I am here"
    assert "Interrupted by the user" in str(here.server.requests[1].body["messages"])


async def test_an_answer_that_streams_can_be_interrupted(house: Open) -> None:
    long = reply(*(text(f"word {number} ") for number in range(400)), drip_s=0.05)
    here = house([long, reply("short")])

    async with ClaudeSDKClient(here.options(include_partial_messages=True)) as client:
        await client.query("talk")
        with anyio.fail_after(PATIENCE_S):
            async for message in client.receive_messages():
                if type(message).__name__ == "StreamEvent":
                    break
        await client.interrupt()
        ended = result_of(await said(client))
        after = result_of(await said(client, "short, please"))

    assert (ended.is_error, ended.terminal_reason) == (True, "aborted_streaming")
    assert after.result == "short"


async def test_model_and_mode_can_be_changed_and_the_window_looked_at(house: Open) -> None:
    writing = tool_use("Write", {"file_path": "a", "content": "x"})
    here = house([reply("one"), reply(writing), reply("two"), reply("three")])

    async with ClaudeSDKClient(here.options(model="claude-opus-5-5")) as client:
        await said(client, "first")
        await client.set_model("haiku")
        await client.set_permission_mode("acceptEdits")
        second = await said(client, "second")
        usage = await client.get_context_usage()
        await client.set_model(None)
        await said(client, "third")
        with pytest.raises(Exception, match="no permission mode 'reckless'"):
            await client.set_permission_mode("reckless")  # type: ignore[arg-type]

    models = [request.body["model"] for request in here.server.requests]
    assert models[0] == models[3] == "claude-opus-5-5"
    assert models[1].startswith("claude-haiku")
    assert (here.work / "a").exists()
    begun = next(one for one in of(SystemMessage, second) if one.subtype == "init")
    assert (begun.data["model"], begun.data["permissionMode"]) == (models[1], "acceptEdits")
    assert usage["totalTokens"] > 0
    assert sum(one["tokens"] for one in usage["categories"]) >= usage["totalTokens"]
    assert usage["model"] == models[1]


async def test_files_go_back_to_what_they_were_before_a_prompt(house: Open) -> None:
    here = house(
        [
            reply(tool_use("Read", {"file_path": "notes"}), tool_use("Edit", _EDIT)),
            reply("changed"),
        ]
    )
    notes = here.file("notes", "old\n")
    options = here.options(
        permission_mode="acceptEdits",
        enable_file_checkpointing=True,
        extra_args={"replay-user-messages": None},
    )

    async with ClaudeSDKClient(options) as client:
        messages = await said(client, "change it")
        changed = notes.read_text()
        prompt = of(UserMessage, messages)[0].uuid
        assert prompt is not None
        await client.rewind_files(prompt)
        with pytest.raises(Exception, match="no prompt of this session"):
            await client.rewind_files("11111111-2222-4333-8444-555555555555")

    assert (changed, notes.read_text()) == ("new\n", "old\n")


async def test_sessions_are_resumed_forked_cut_continued_and_read_by_the_sdk(
    house: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = house([reply("one"), reply("two"), reply("three"), reply("four"), reply("five")])
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(here.home))
    id_ = "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee"

    first = await here.query("first", session_id=id_)
    await here.query("second", resume=id_)
    before = get_session_messages(id_, directory=str(here.work))
    forked = result_of(await here.query("third", resume=id_, fork_session=True)).session_id
    cut = await here.query(
        "fourth", resume=id_, fork_session=True, resume_session_at=before[1].uuid
    )
    rename_session(id_, "a name", directory=str(here.work))
    tag_session(id_, "kept", directory=str(here.work))
    again = await here.query("fifth", continue_conversation=True)

    assert result_of(first).session_id == id_
    assert forked != id_
    asked = [_texts(request.body) for request in here.server.requests]
    assert asked[1] == ["first", "one", "second"]
    assert asked[2] == ["first", "one", "second", "two", "third"]
    assert asked[3] == ["first", "one", "fourth"]
    assert result_of(again).result == "five"
    listed = {one.session_id: one for one in list_sessions(directory=str(here.work))}
    assert set(listed) >= {id_, forked, result_of(cut).session_id}
    assert (listed[id_].custom_title, listed[id_].tag) == ("a name", "kept")


async def test_a_session_that_is_not_there_says_so(house: Open) -> None:
    here = house([])

    with pytest.raises(Exception, match="11111111-2222-4333-8444-555555555555"):
        await here.query("hi", resume="11111111-2222-4333-8444-555555555555")


async def test_what_is_said_while_a_tool_runs_is_read_in_the_same_turn(house: Open) -> None:
    here = house(
        [
            reply(tool_use("Bash", {"command": "until [ -e go ]; do sleep 0.05; done"})),
            reply("I heard you"),
        ]
    )

    async with ClaudeSDKClient(here.options(allowed_tools=["Bash"])) as client:
        await client.query("wait for me")
        with anyio.fail_after(PATIENCE_S):
            async for message in client.receive_messages():
                if any(isinstance(b, ToolUseBlock) for b in getattr(message, "content", ())):
                    break
        await client.query("and hurry")
        await client.get_mcp_status()  # it is answered behind what was said before
        (here.work / "go").touch()
        ended = result_of(await said(client))

    assert ended.result == "I heard you"
    assert len(ended.user_message_uuids or ()) == 2
    assert "and hurry" in str(here.server.requests[1].body["messages"][-1])


_EDIT = {"file_path": "notes", "old_string": "old", "new_string": "new"}


def _texts(body: dict[str, object]) -> list[str]:
    messages = body["messages"]
    assert isinstance(messages, list)
    texts = [
        block["text"]
        for message in messages
        for block in message["content"]
        if block["type"] == "text"
    ]
    return [one for one in texts if "system-reminder" not in one]
