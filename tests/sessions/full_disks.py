"""Sessions on disks that take no more, and what they tell of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import attrs

from interlock.agent import Agent
from interlock.errors import TranscriptError
from interlock.options import Options, PermissionMode, Resume
from interlock.scripted import ScriptedServer, reply, tool_use
from interlock.sessions import read_messages
from interlock.tools import tool
from phases.world.messages import Kind
from phases.world.updates import Notice
from tests.agent.support import MODEL, Room, Told, tell

FREE = Options(permission_mode=PermissionMode.BYPASS_PERMISSIONS, model=MODEL)
GO_ON = attrs.evolve(FREE, resume=Resume())


def warnings(told: Told) -> list[str]:
    notices = [one for one in told.updates if isinstance(one, Notice)]
    return [one.text for one in notices if one.level != "info" and "bypassed" not in one.text]


def kinds(path: Path) -> list[Kind]:
    return [message.kind for message in read_messages(path)]


async def refusal(agent: Agent, prompt: str) -> str:
    """Why a prompt could not be run, told by its ending or before there was one."""
    try:
        told = await tell(agent, prompt)
    except TranscriptError as error:
        return str(error)
    return told.summary.error_text or ""


async def stopped_by(room: Room, trouble: Callable[[Path], object]) -> Told:
    """A run whose home gets into trouble while its one call runs; its result has no place."""

    @tool
    def change() -> str:
        """Changes something."""
        trouble(room.home.parent)
        return "changed " * 2_000

    answers = [reply("I do.", tool_use("change", {}, id="toolu_1")), reply("Never asked.")]
    async with (
        ScriptedServer(answers) as server,
        room.open(server, options=FREE, tools=[change]) as agent,
    ):
        told = await tell(agent, "change it")
        assert len(server.requests) == 1
    return told
