"""Prefetches: begun with the run, read once where they are ready, gone with the run."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from attrs import define, evolve, field

from interlock.agent import Agent
from interlock.assembly import open_agent
from interlock.inbox import Found, Inbox, Prefetch, Waiting
from interlock.options import Options, PermissionMode
from interlock.permissions import NobodyAsks
from interlock.scripted import ScriptedServer, reply, tool_use
from interlock.settings import Settings
from interlock.testing import SequentialIds, Stage
from interlock.tools import FileReads
from phases.world.loop import Loop
from phases.world.messages import Kind
from phases.world.updates import RequestStarted, Update
from tests.agent.support import MODEL, Room, sent, tell

NOTES = Found(title="how we test", text="Use make test.")


@define
class Memory:
    """A source that finds when it is let go."""

    found: tuple[Found, ...] = (NOTES,)
    fault: Exception | None = None
    name: str = "memory"
    go: anyio.Event = field(factory=anyio.Event)
    asked: list[str] = field(factory=list)
    ended: list[str] = field(factory=list)

    async def find(self, prompt: str) -> tuple[Found, ...]:
        self.asked.append(prompt)
        try:
            await self.go.wait()
            if self.fault is not None:
                raise self.fault
            return self.found
        finally:
            self.ended.append(prompt)


def loop_in(turn: int) -> Loop:
    loop = Stage().loop(SequentialIds())
    return evolve(loop, state=evolve(loop.state, turn_count=turn))


@asynccontextmanager
async def inbox(*sources: Memory, reads: FileReads | None = None) -> AsyncIterator[Inbox]:
    async with anyio.create_task_group() as tasks:
        made = Inbox(
            queue=Waiting(SequentialIds()),
            reads=reads or FileReads(),
            ids=SequentialIds(),
            prefetches=tuple(Prefetch(source) for source in sources),
        )
        for prefetch in made.prefetches:
            prefetch.start(tasks, "fix it")
        await anyio.wait_all_tasks_blocked()
        yield made
        tasks.cancel_scope.cancel()


async def test_it_is_read_in_the_turn_in_which_it_is_ready_and_never_again() -> None:
    memory = Memory()
    async with inbox(memory) as at:
        first = await at.gather(loop_in(1))
        memory.go.set()
        await anyio.wait_all_tasks_blocked()
        second = await at.gather(loop_in(2))
        third = await at.gather(loop_in(3))

        assert (first, len(second), third) == ((), 1, ())
        assert second[0].kind is Kind.NOTE
        assert second[0].text == (
            "<system-reminder>\nmemory: how we test\n\nUse make test.\n</system-reminder>"
        )
        assert at.prefetches[0].consumed_in == 2


async def test_files_that_were_read_meanwhile_are_left_out() -> None:
    seen, unseen = Path("/notes/a.md"), Path("/notes/b.md")
    memory = Memory(
        (
            Found(title="a", text="A", path=seen),
            Found(title="b", text="B", path=unseen),
        )
    )
    reads = FileReads()
    memory.go.set()
    async with inbox(memory, reads=reads) as at:
        reads.remember(seen, b"digest")

        gathered = await at.gather(loop_in(1))

        assert [message.text.splitlines()[1] for message in gathered] == [f"memory: b ({unseen})"]
        assert at.prefetches[0].consumed_in == 1


async def test_two_are_read_each_in_its_own_time() -> None:
    memory, skills = Memory(), Memory((Found(title="pdf", text="Reads PDF."),), name="skills")
    async with inbox(memory, skills) as at:
        skills.go.set()
        await anyio.wait_all_tasks_blocked()
        one = await at.gather(loop_in(1))
        memory.go.set()
        await anyio.wait_all_tasks_blocked()
        other = await at.gather(loop_in(2))

        assert ["pdf" in one[0].text, "how we test" in other[0].text] == [True, True]


async def test_a_lookup_that_breaks_has_found_nothing() -> None:
    memory = Memory(fault=RuntimeError("index is damaged"))
    memory.go.set()
    async with inbox(memory) as at:
        assert await at.gather(loop_in(1)) == ()
        assert at.prefetches[0].settled


# --- the whole agent ---------------------------------------------------------------------------


@asynccontextmanager
async def opened(room: Room, server: ScriptedServer, *sources: Memory) -> AsyncIterator[Agent]:
    environ = {
        "INTERLOCK_HOME": str(room.home),
        "ANTHROPIC_API_KEY": "key",
        "ANTHROPIC_BASE_URL": server.base_url,
    }
    options = Options(
        cwd=room.work, model=MODEL, permission_mode=PermissionMode.BYPASS_PERMISSIONS
    )
    async with open_agent(
        options, Settings.of(environ), asker=NobodyAsks(), prefetches=sources
    ) as agent:
        yield agent


async def test_what_is_ready_in_the_second_turn_is_in_the_third_request_and_stays_one(
    room: Room,
) -> None:
    memory = Memory()
    read = reply(tool_use("Read", {"file_path": str(room.work / "a.txt")}))

    def on(update: Update, number: int) -> None:
        if isinstance(update, RequestStarted) and update.turn == 2:
            memory.go.set()

    async with (
        ScriptedServer([read, read, read, reply("Done.")]) as server,
        opened(room, server, memory) as agent,
    ):
        await tell(agent, "fix it", on=on)

        counts = [str(sent(request)).count("Use make test.") for request in server.requests]
        assert counts == [0, 0, 1, 1]
        assert memory.asked == ["fix it"]
        assert server.verdict() == ()


@pytest.mark.parametrize("how", ["completed", "aborted_streaming", "model_error"])
async def test_one_that_never_settles_costs_nothing_and_ends_with_the_run(
    room: Room, how: str
) -> None:
    memory = Memory()
    read = reply(tool_use("Read", {"file_path": str(room.work / "a.txt")}))

    def on(update: Update, number: int) -> None:
        if isinstance(update, RequestStarted) and update.turn == 2:
            if how == "aborted_streaming":
                agent.interrupt()
            if how == "model_error":
                raise RuntimeError("the watcher broke")

    async with (
        ScriptedServer([read, reply("Done.")]) as server,
        opened(room, server, memory) as agent,
    ):
        told = await tell(agent, "fix it", on=on)

        assert told.summary.reason == how
        assert memory.ended == ["fix it"]
