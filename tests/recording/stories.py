"""Runs of the whole agent that are recorded: a hard one, with all that can happen to a run."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any

from interlock.options import Options, PermissionMode
from interlock.recording import Recording, beside, read_recording
from interlock.scripted import Answer, ScriptedServer, reply, status, thinking, tool_use
from interlock.testing import FakeClock
from phases.world.updates import TextArrived, ToolStarted, Update
from tests.agent.support import FALLBACK, MODEL, Room, Watcher

RECORD = {"INTERLOCK_RECORD": "1"}
OVERLOADED = status(529, "overloaded_error", "Overloaded")
TOO_LONG = status(
    400, "invalid_request_error", "prompt is too long: 205030 tokens > 200000 maximum"
)
PARALLEL = reply(
    "Both files.",
    tool_use("Read", {"file_path": "a.txt"}),
    tool_use("Bash", {"command": "echo one; sleep 0.02"}),
    tool_use("Read", {"file_path": "b.txt"}),
    tool_use("Read", {"file_path": "missing.txt"}),
)
HARD: list[Answer] = [
    reply(thinking("Both.", "c2lnLUE="), *PARALLEL.content),
    OVERLOADED,
    OVERLOADED,
    reply(tool_use("Bash", {"command": "echo two"})),
    TOO_LONG,
    reply("Short summary."),
    PARALLEL,
    reply("I carry on, and on, and on."),
]


async def hard(room: Room, *, prompts: int = 1) -> Recording:
    """A fallback, a reactive compaction, parallel tools, and an interrupt in mid-stream.

    With more prompts, the run that is recorded last is one that others came before.
    """
    options = Options(
        model=MODEL,
        fallback_models=(FALLBACK,),
        permission_mode=PermissionMode.BYPASS_PERMISSIONS,
    )
    more = {**RECORD, "MAX_THINKING_TOKENS": "2048", "INTERLOCK_MAX_RETRIES": "1"}
    earlier: list[Answer] = [reply("Hello.")] * (prompts - 1)
    async with (
        ScriptedServer([*earlier, *HARD]) as server,
        room.open(server, options=options, clock=FakeClock(), environ=more) as agent,
    ):
        for _ in earlier:
            await agent.prompt("hello", Watcher())

        def stop(update: Update, number: int) -> None:
            if isinstance(update, TextArrived) and "carry" in update.text:
                agent.interrupt()

        summary = await agent.prompt("a long task", Watcher(stop))
        assert (summary.reason, server.verdict()) == ("aborted_streaming", ())
        return read_recording(beside(agent.paths.trace(summary.run_id)))


async def second_prompt(room: Room) -> Recording:
    """The same behind two prompts of the same session."""
    return await hard(room, prompts=3)


async def stopped_in_tools(room: Room) -> Recording:
    """The user stops while calls run side by side."""
    options = Options(model=MODEL, permission_mode=PermissionMode.BYPASS_PERMISSIONS)
    calls = [tool_use("Bash", {"command": command}) for command in ("sleep 30", "echo done")]
    read = tool_use("Read", {"file_path": "a.txt"})
    async with (
        ScriptedServer([reply("I wait.", read, *calls)]) as server,
        room.open(server, options=options, environ=RECORD) as agent,
    ):

        def stop(update: Update, number: int) -> None:
            if isinstance(update, ToolStarted) and update.call.name == "Bash":
                agent.interrupt()

        summary = await agent.prompt("wait", Watcher(stop))
        assert summary.reason == "aborted_tools"
        return read_recording(beside(agent.paths.trace(summary.run_id)))


RUNS: Mapping[str, Callable[[Room], Coroutine[Any, Any, Recording]]] = {
    "every_fault": hard,
    "second_prompt": second_prompt,
    "stopped_in_tools": stopped_in_tools,
}


def recordings(home: Path) -> list[Path]:
    """Every recording of this home, oldest first."""
    found = home.rglob("*.recording.jsonl*")
    return sorted(found, key=lambda path: path.stat().st_mtime_ns)
