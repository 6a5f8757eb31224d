"""Sessions with hooks, played to their end."""

from __future__ import annotations

from typing import Any

from interlock.scripted import Answer as Scripted
from interlock.scripted import ScriptedServer
from phases.world.updates import Notice
from tests.agent.support import Room, Told, tell


async def played(
    room: Room, answers: list[Scripted], prompt: str = "go", **opened: Any
) -> tuple[Told, ScriptedServer]:
    async with ScriptedServer(answers) as server, room.open(server, **opened) as agent:
        told = await tell(agent, prompt)
    assert server.verdict() == ()
    return told, server


def notices(told: Told) -> list[str]:
    return [one.text for one in told.updates if isinstance(one, Notice)]
