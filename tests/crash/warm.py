"""All that is slow the first time, done once, before anything is forked: imports and their like.

It needs an event loop, and the SDK is imported in a thread: neither is left when it returns.
"""

from __future__ import annotations

import asyncio
import gc
import tempfile
import threading
from pathlib import Path

from interlock.scripted import ScriptedServer, reply, tool_use
from tests.agent.support import Room, Watcher


def warm_up() -> None:
    """Play one short session here, whole."""
    with tempfile.TemporaryDirectory(prefix="crash-") as name:
        asyncio.run(_session(Room.made(Path(name) / "room")))
    for thread in threading.enumerate():
        if thread is not threading.current_thread():
            thread.join()
    gc.freeze()  # else the first collection in each child would copy all of its pages


async def _session(room: Room) -> None:
    calls = (tool_use("Bash", {"command": "true"}), tool_use("Read", {"file_path": "a.txt"}))
    async with (
        ScriptedServer([reply("", *calls), reply("done")]) as server,
        room.open(server, environ={"INTERLOCK_RECORD": "1"}) as agent,
    ):
        await agent.prompt("warm up", Watcher())
