"""A real model, however small, drives the loop: through Bash, through a server of MCP, unforced.

What it says is nobody's business here. What is asserted is the protocol (each call answered once,
in its place) and the loop (it ends as the table has it, and decides the same once more).
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from interlock.agent import Agent
from interlock.mcp import McpSettings, Scope, parsed
from interlock.options import Options, PermissionMode
from phases.world.updates import TextArrived, Update
from tests.agent.support import Room, Told, tell
from tests.local_model.between import Between, between
from tests.local_model.serving import ALIAS, WINDOW

pytestmark = pytest.mark.local_model

# A small window, short answers, patience for a busy machine.
SMALL = {
    "INTERLOCK_CONTEXT_WINDOW": str(WINDOW),
    "INTERLOCK_WINDOW_RESERVE": "1000",
    "CLAUDE_CODE_MAX_OUTPUT_TOKENS": "100",
    "MCP_TIMEOUT": "120000",
    "INTERLOCK_MCP_GRACE_S": "120",
}
ENDINGS = {"completed", "max_turns"}


def options(**more: Any) -> Options:
    given: dict[str, Any] = {
        "model": ALIAS,
        "permission_mode": PermissionMode.BYPASS_PERMISSIONS,
        "system_prompt": "You are a helpful agent.",
        "auto_memory": False,
        "max_turns": 4,
        **more,
    }
    return Options(**given)


def blocks(message: Any, kind: str) -> list[Any]:
    content = message["content"]
    return [] if isinstance(content, str) else [one for one in content if one["type"] == kind]


def insist_on_the_protocol(line: Between) -> None:
    """Every request holds each call once, answered once in the message behind it."""
    assert line.seen
    for body in line.seen:
        messages = body["messages"]
        for at, message in enumerate(messages):
            called = [one["id"] for one in blocks(message, "tool_use")]
            behind = messages[at + 1] if at + 1 < len(messages) else {"content": []}
            assert [one["tool_use_id"] for one in blocks(behind, "tool_result")] == called


def insist_on_the_same_decisions(agent: Agent, told: Told) -> None:
    """The trace, decided once more by the table, comes to the same end."""
    trace = agent.paths.trace(told.summary.run_id)
    command = [sys.executable, "-m", "interlock", "replay", str(trace)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def tools_called(line: Between) -> list[str]:
    """By the history of the last request, which holds all but the last reply."""
    last: Sequence[Any] = line.seen[-1]["messages"]
    return [one["name"] for message in last for one in blocks(message, "tool_use")]


def results_of(line: Between) -> list[Any]:
    last: Sequence[Any] = line.seen[-1]["messages"]
    return [one for message in last for one in blocks(message, "tool_result")]


async def test_a_run_with_bash(room: Room, model_url: str) -> None:
    async with (
        between(model_url, begins_calls=True) as line,
        room.open(line.url, options=options(tools=("Bash",)), environ=SMALL) as agent,
    ):
        told = await tell(agent, "Run the command pwd.")

        assert told.summary.reason in ENDINGS
        assert "Bash" in tools_called(line)
        assert results_of(line)
        assert set(line.statuses) == {200}
        insist_on_the_protocol(line)
        insist_on_the_same_decisions(agent, told)


async def test_a_run_with_a_server_of_mcp(room: Room, model_url: str) -> None:
    command = Path(sysconfig.get_path("scripts")) / "mcp-server-time"
    if not command.exists():
        pytest.skip("mcp-server-time is not installed (dependency group dev)")
    raw = {"command": str(command), "args": ["--local-timezone", "UTC"]}
    server = parsed("time", raw, scope=Scope.USER, environ={})
    mcp = McpSettings(definitions=(server,))
    async with (
        between(model_url, begins_calls=True) as line,
        room.open(line.url, options=options(tools=(), mcp=mcp), environ=SMALL) as agent,
    ):
        told = await tell(agent, "What time is it in UTC? Call get_current_time.")

        assert told.summary.reason in ENDINGS
        called = tools_called(line)
        assert called
        assert all(name.startswith("mcp__time__") for name in called)
        insist_on_the_protocol(line)
        insist_on_the_same_decisions(agent, told)


async def test_whatever_it_says_unforced_the_loop_comes_to_an_end(
    room: Room, model_url: str
) -> None:
    async with (
        between(model_url) as line,
        room.open(line.url, options=options(tools=("Bash", "Read")), environ=SMALL) as agent,
    ):
        first = await tell(agent, "Say hello, then list the files here.")
        second = await tell(agent, "Thank you. What did you see?")

        assert {first.summary.reason, second.summary.reason} <= ENDINGS
        insist_on_the_protocol(line)
        insist_on_the_same_decisions(agent, first)
        insist_on_the_same_decisions(agent, second)


async def test_a_prompt_that_its_window_cannot_hold_ends_without_a_circle(
    room: Room, model_url: str
) -> None:
    async with (
        between(model_url) as line,
        room.open(line.url, options=options(tools=()), environ=SMALL) as agent,
    ):
        told = await tell(agent, "word " * 3 * WINDOW)

        assert told.summary.reason in {"prompt_too_long", "blocking_limit"}
        assert len(line.seen) < 10
        insist_on_the_same_decisions(agent, told)


async def test_an_interrupt_ends_its_stream_and_the_next_prompt_is_answered(
    room: Room, model_url: str
) -> None:
    def stop(update: Update, _: int) -> None:
        if isinstance(update, TextArrived):
            agent.interrupt()

    async with (
        between(model_url) as line,
        room.open(line.url, options=options(tools=()), environ=SMALL) as agent,
    ):
        first = await tell(agent, "Tell me a long story.", on=stop)
        second = await tell(agent, "Say hello.")

        assert first.summary.reason == "aborted_streaming"
        assert second.summary.reason in ENDINGS
        insist_on_the_same_decisions(agent, second)
