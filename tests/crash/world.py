"""What lives on while processes die: the model's server, in a process of its own.

It judges each request, whichever life of the session it comes from.
"""

from __future__ import annotations

import asyncio
import os
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import frozen

from interlock.scripted import Answer, ScriptedServer, SentRequest, tool_use
from tests.agent.support import sent
from tests.crash.fork import Child, fork
from tests.faults.model import Dealt, Effect, Model
from tests.faults.script import Script

AFTERWARDS = "And now go on"  # how the prompt after a crash begins


class PatientModel(Model):
    """Knows commands that are spelled out, and says something good to the prompt afterwards."""

    def __call__(self, request: SentRequest) -> Answer:
        said = [str(block.get("text")) for block in sent(request)]
        if any(words.startswith(AFTERWARDS) for words in said):
            self.begin(())
            self._summaries = iter(())
        return super().__call__(request)

    def _call(self, call: str, mark: str, at: int) -> Mapping[str, Any]:
        if call == "read a nul":
            return tool_use("Read", {"file_path": "a\0.txt"})
        if not call.startswith("$ "):
            return super()._call(call, mark, at)
        line = call.removeprefix("$ ").replace("{mark}", mark).replace("{work}", str(self.work))
        return tool_use("Bash", {"command": line})


@frozen(kw_only=True)
class Seen:
    """What the server has seen when all is over."""

    requests: tuple[SentRequest, ...]
    verdict: tuple[str, ...]
    dealt: tuple[Dealt, ...]
    effects: tuple[Effect, ...]


@frozen
class World:
    """The server's process, from outside."""

    url: str
    _child: Child
    _hold: int  # the server serves until this pipe closes
    _notes: Path

    @classmethod
    def begun(cls, script: Script, work: Path, folder: Path) -> World:
        waits, hold = os.pipe()
        reads, tells = os.pipe()
        notes = folder / "seen.pickle"

        def serve() -> None:
            os.close(hold)
            asyncio.run(_serve(script, work, waits, tells, notes))

        child = fork(serve, folder / "world.log")
        os.close(waits)
        os.close(tells)
        url = os.read(reads, 1000).decode()
        os.close(reads)
        return cls(url, child, hold, notes)

    def ended(self) -> Seen:
        os.close(self._hold)
        self._child.wait()
        seen: Seen = pickle.loads(self._notes.read_bytes())
        return seen


async def _serve(script: Script, work: Path, waits: int, tells: int, notes: Path) -> None:
    model = PatientModel(script, work)
    model.begin([step for prompt in script.prompts for step in prompt.says])
    over = asyncio.Event()
    asyncio.get_running_loop().add_reader(waits, over.set)
    async with ScriptedServer(model) as server:
        os.write(tells, server.base_url.encode())
        await over.wait()
    seen = Seen(
        requests=server.requests,
        verdict=server.verdict(),
        dealt=tuple(model.dealt),
        effects=model.effects,
    )
    notes.write_bytes(pickle.dumps(seen))
