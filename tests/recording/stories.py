"""Runs of the whole agent that are recorded: a hard one, with all that can happen to a run."""

from __future__ import annotations

from pathlib import Path

from interlock.options import Options, PermissionMode
from interlock.recording import Recording, beside, read_recording
from interlock.scripted import Answer, ScriptedServer, reply, status, thinking, tool_use
from interlock.testing import FakeClock
from phases.world.updates import TextArrived, Update
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


def recordings(home: Path) -> list[Path]:
    """Every recording of this home, oldest first."""
    found = home.rglob("*.recording.jsonl")
    return sorted(found, key=lambda path: path.stat().st_mtime_ns)
