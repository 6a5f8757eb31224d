"""Every option of the SDK: what it does to the requests, or the error where it cannot be."""

from __future__ import annotations

from typing import Any

import pytest
from claude_agent_sdk import (
    ProcessError,
    ResultError,
    SystemMessage,
)

from interlock.scripted import reply, tool_use
from tests.sdk.conftest import Open
from tests.sdk.house import of, result_of

LEFT_OUT = "11111111-2222-4333-8444-555555555555"


async def test_options_about_the_request_are_in_the_request(house: Open) -> None:
    here = house([reply("one"), reply("two")])
    prompt = here.file("prompt.md", "You are a file.")

    await here.query(
        "hi",
        system_prompt={"type": "file", "path": str(prompt)},
        model="claude-opus-5-5",
        effort="high",
        thinking={"type": "adaptive", "display": "omitted"},
        task_budget={"total": 50_000},
        betas=["context-1m-2025-08-07"],
        tools=["Read", "Grep"],
    )
    await here.query(
        "hi",
        system_prompt={"type": "preset", "preset": "claude_code", "append": "Be kind."},
        thinking={"type": "disabled"},
        tools=[],
        setting_sources=[],
    )

    first, second = here.server.requests
    assert first.body["system"][0]["text"] == "You are a file."
    assert first.body["model"] == "claude-opus-5-5"
    assert first.body["output_config"] == {
        "effort": "high",
        "task_budget": {"type": "tokens", "total": 50_000},
    }
    assert first.body["thinking"] == {"type": "adaptive", "display": "omitted"}
    assert "context-1m-2025-08-07" in first.headers["anthropic-beta"]
    assert [one["name"] for one in first.body["tools"]] == ["Read", "Grep"]
    assert "Be kind." in str(second.body["system"])
    assert len(str(second.body["system"])) > 2000
    assert second.body["thinking"] == {"type": "disabled"}
    assert not second.body.get("tools")


async def test_settings_files_count_as_far_as_their_sources_are_wanted(house: Open) -> None:
    here = house([reply("one"), reply("two"), reply("three")])
    here.file("CLAUDE.md", "The project is called Heron.")
    more = here.folder / "more"
    more.mkdir()

    await here.query("hi", add_dirs=[more], env={"CLAUDE_CODE_ENTRYPOINT": "sdk-mine"})
    await here.query("hi", setting_sources=["project"], settings='{"model": "claude-haiku-5-5"}')
    await here.query("hi", setting_sources=[])

    first, second, third = here.server.requests
    assert "Heron" in str(first.body["messages"])
    assert "Heron" in str(second.body["messages"])
    assert second.body["model"] == "claude-haiku-5-5"
    assert "Heron" not in str(third.body["messages"])


async def test_bounds_end_the_run_and_are_told_as_errors(house: Open) -> None:
    look = reply(tool_use("Glob", {"pattern": "*"}))
    here = house([look, look, look])

    with pytest.raises(ResultError) as turns:
        await here.query("go", max_turns=2)
    with pytest.raises(ResultError) as money:
        await here.query("go", max_budget_usd=0.000001)

    assert turns.value.data["subtype"] == "error_max_turns"
    assert turns.value.data["num_turns"] == 3
    assert money.value.data["subtype"] == "error_max_budget_usd"
    assert len(here.server.requests) == 3


async def test_agents_and_skills_of_the_caller_are_offered(house: Open) -> None:
    child = {"description": "look", "prompt": "look around", "subagent_type": "looker"}
    here = house([reply(tool_use("Agent", child)), reply("I looked"), reply("done")])
    for name in ("wanted", "unwanted"):
        text = f"---\nname: {name}\ndescription: about {name} things\n---\nDo it.\n"
        here.file(f".claude/skills/{name}/SKILL.md", text)

    messages = await here.query(
        "go",
        agents={"looker": _looker()},
        skills=["wanted"],
        forward_subagent_text=True,
    )

    assert "You look." in str(here.server.requests[1].body["system"])
    begun = of(SystemMessage, messages)[0].data
    assert "looker" in begun["agents"]
    assert begun["skills"] == ["wanted"]
    assert "unwanted things" not in str(here.server.requests[0].body)
    started = [one for one in of(SystemMessage, messages) if one.subtype == "task_started"]
    assert [one.data["task_type"] for one in started] == ["local_agent"]
    assert "I looked" in str(
        [one for one in messages if getattr(one, "parent_tool_use_id", None) is not None]
    )


async def test_what_is_written_is_mirrored_into_a_store_and_resumed_from_it(house: Open) -> None:
    from claude_agent_sdk import InMemorySessionStore

    here = house([reply("one"), reply("two")])
    store = InMemorySessionStore()

    first = result_of(await here.query("first", session_store=store))
    for path in here.home.glob("projects/*/*.jsonl"):
        path.unlink()
    second = await here.query("second", session_store=store, resume=first.session_id)

    assert result_of(second).result == "two"
    assert "first" in str(here.server.requests[1].body["messages"])


async def test_a_resume_that_would_drop_more_than_one_turn_is_refused(house: Open) -> None:
    here = house([reply("one"), reply("two")])
    first = result_of(await here.query("first", session_id=LEFT_OUT))
    await here.query("second", resume=LEFT_OUT)
    from claude_agent_sdk import get_session_messages

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CLAUDE_CONFIG_DIR", str(here.home))
        messages = get_session_messages(LEFT_OUT, directory=str(here.work))

    with pytest.raises(Exception, match="Resume rejected by --resume-drops-turn:"):
        await here.query(
            "third",
            resume=LEFT_OUT,
            fork_session=True,
            resume_session_at=messages[1].uuid,
            resume_drops_turn=str(first.uuid),
        )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"extra_args": {"no-such-flag": None}}, "unknown flag --no-such-flag"),
        ({"permission_mode": "auto"}, "auto"),
    ],
)
async def test_what_is_not_here_is_refused_in_one_line(
    house: Open, options: dict[str, Any], words: str
) -> None:
    here = house([])
    lines: list[str] = []

    with pytest.raises(ProcessError) as raised:
        await here.query("hi", stderr=lines.append, **options)

    assert raised.value.exit_code == 1
    assert words in lines[0]
    assert len(lines) == 1


def _looker() -> Any:
    from claude_agent_sdk import AgentDefinition

    return AgentDefinition(description="looks", prompt="You look.", tools=["Read"])
