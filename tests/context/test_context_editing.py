"""The cached form of microcompact: the server forgets, asked by each request."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import pytest
import pytest_asyncio

from interlock.context.microcompact import context_edits
from interlock.model import AnthropicModel
from interlock.scripted import ScriptedServer, reply
from interlock.scripted.validate import problems
from phases.world.limits import Limits
from phases.world.ports import Failed, ModelEvent, Replied, Request
from tests.context.sessions import MODEL, user

BETA = "context-management-2025-06-27"
EDITS = context_edits(Limits(), ("Read", "Edit"))


async def ask(model: AnthropicModel) -> ModelEvent:
    request = Request(model=MODEL, messages=(user("hi"),), max_tokens=100)
    async with aclosing(model.ask(request)) as events:
        return [event async for event in events][-1]


@pytest_asyncio.fixture
async def server() -> AsyncIterator[ScriptedServer]:
    async with ScriptedServer([reply("hello")]) as server:
        yield server


async def last_of(server: ScriptedServer, **more: Any) -> ModelEvent:
    model = AnthropicModel(base_url=server.base_url, api_key="sk-test", **more)
    try:
        return await ask(model)
    finally:
        await model.aclose()


async def test_each_request_carries_the_edits_and_the_beta_that_allows_them(
    server: ScriptedServer,
) -> None:
    last = await last_of(server, context_management=EDITS)

    assert isinstance(last, Replied), last
    (sent,) = server.requests
    assert sent.body["context_management"] == EDITS
    assert sent.headers["anthropic-beta"] == BETA
    assert server.verdict() == ()


async def test_without_it_a_request_says_nothing_of_it(server: ScriptedServer) -> None:
    await last_of(server)

    assert "context_management" not in server.requests[0].body
    assert "anthropic-beta" not in server.requests[0].headers


async def test_betas_that_the_user_named_stay(server: ScriptedServer) -> None:
    headers = {"Anthropic-Beta": "one-2025, two-2025"}

    await last_of(server, context_management=EDITS, headers=headers)

    assert server.requests[0].headers["anthropic-beta"] == f"one-2025,two-2025,{BETA}"


async def test_a_server_without_context_editing_refuses_the_field() -> None:
    async with ScriptedServer([reply("hello")]) as server:
        model = AnthropicModel(
            base_url=server.base_url, api_key="sk-test", context_management={"edits": [{}]}
        )
        last = await ask(model)
        await model.aclose()

    assert isinstance(last, Failed)
    assert "context_management.edits.0: Input tag found using 'type'" in last.failure.message


CLEAR = "clear_tool_uses_20250919"


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        ({"type": CLEAR}, None),
        ({"type": "clear_thinking_20251015", "keep": "all"}, None),
        ({"type": CLEAR, "trigger": {"type": "tool_uses", "value": 3}}, None),
        ({"type": CLEAR, "clear_tool_inputs": True}, None),
        ({"type": "other"}, "Input tag found using 'type' does not match any of"),
        ({"type": CLEAR, "foo": 1}, f"{CLEAR}.foo: Extra inputs are not permitted"),
        ({"type": CLEAR, "keep": 3}, f"{CLEAR}.keep: Input should count one of tool_uses"),
        (
            {"type": CLEAR, "trigger": {"type": "input_tokens", "value": -1}},
            f"{CLEAR}.trigger: Input should count one of input_tokens, tool_uses",
        ),
        ({"type": CLEAR, "exclude_tools": [1]}, f"{CLEAR}.exclude_tools: Input should be a list"),
    ],
)
def test_the_scripted_server_judges_the_edits(edit: dict[str, Any], told: str | None) -> None:
    body = asking({"edits": [edit]})

    found = problems(body, betas={BETA})

    assert found == () if told is None else told in found[0]


@pytest.mark.parametrize(
    ("config", "betas", "told"),
    [
        (EDITS, set(), "context_management: Extra inputs are not permitted"),
        (EDITS, {"other"}, "context_management: Extra inputs are not permitted"),
        ([], {BETA}, "context_management: Input should be a valid dictionary"),
        ({"edits": {}}, {BETA}, "context_management: Input should be a valid dictionary"),
        ({"more": 1}, {BETA}, "context_management.more: Extra inputs are not permitted"),
    ],
)
def test_the_field_is_known_with_its_beta_only(config: Any, betas: set[str], told: str) -> None:
    assert problems(asking(config), betas=betas)[0].startswith(told)


def asking(config: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": "hi"}]
    return {
        "model": MODEL,
        "max_tokens": 100,
        "messages": messages,
        "context_management": config,
    }
