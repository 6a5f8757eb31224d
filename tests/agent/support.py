"""Sessions of the whole agent against a scripted server, and what they leave behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import attrs
import orjson
from attrs import define, field, frozen

from fsm import Trace, read_trace
from interlock.agent import Agent
from interlock.assembly import open_agent
from interlock.durability import Disk
from interlock.hooks import Hook, HookMatcher
from interlock.options import Options, PermissionMode
from interlock.permissions import Asker, NobodyAsks
from interlock.scripted import Reply, ScriptedServer, SentRequest, stream
from interlock.settings import Settings
from interlock.summary import RunSummary
from interlock.tools import Person, Tool
from phases.world.messages import Message
from phases.world.ports import Clock
from phases.world.updates import Recorded, TextArrived, Update

MODEL = "claude-sonnet-4-5"
FALLBACK = "claude-haiku-4-5"
# Short waits; a test that is about one of them sets it.
_QUICK = {
    "INTERLOCK_BACKOFF_FIRST_S": "0.001",
    "INTERLOCK_BACKOFF_CAP_S": "0.01",
    "INTERLOCK_FIRST_EVENT_S": "10",
    "INTERLOCK_STREAM_IDLE_S": "10",
}


@frozen(kw_only=True)
class Told:
    """One prompt that came to an end."""

    summary: RunSummary
    updates: tuple[Update, ...]
    trace: Trace

    @property
    def ending(self) -> tuple[str, str | None]:
        return self.summary.reason, self.summary.error

    @property
    def shown(self) -> tuple[Message, ...]:
        """The messages that a watcher was shown."""
        return tuple(one.message for one in self.updates if isinstance(one, Recorded))

    @property
    def typed(self) -> str:
        """All text that arrived, failed attempts included."""
        return "".join(one.text for one in self.updates if isinstance(one, TextArrived))


@define
class Watcher:
    """Keeps every update, and tells `on` with its number, the first is 1."""

    on: Callable[[Update, int], None] | None = None
    updates: list[Update] = field(factory=list)

    def __call__(self, update: Update) -> None:
        self.updates.append(update)
        if self.on is not None:
            self.on(update, len(self.updates))


@frozen(kw_only=True)
class Room:
    """Where a session lives."""

    home: Path
    work: Path

    @classmethod
    def made(cls, folder: Path) -> Room:
        """A room in this folder, with two small files to work on."""
        room = cls(home=folder / "home", work=folder / "work")
        room.work.mkdir(parents=True)
        (room.work / "a.txt").write_text("alpha\n")
        (room.work / "b.txt").write_text("beta\n")
        return room

    @asynccontextmanager
    async def open(
        self,
        server: ScriptedServer | str,
        *,
        options: Options | None = None,
        asker: Asker | None = None,
        person: Person | None = None,
        clock: Clock | None = None,
        environ: Mapping[str, str] | None = None,
        tools: Sequence[Tool] = (),
        hooks: Sequence[HookMatcher] = (),
        configured_hooks: Sequence[Hook] = (),
        disk: Disk | None = None,
    ) -> AsyncIterator[Agent]:
        """An agent that may do everything, unless `options` say otherwise."""
        allowed = Options(permission_mode=PermissionMode.BYPASS_PERMISSIONS, model=MODEL)
        given = {
            "INTERLOCK_HOME": str(self.home),
            "ANTHROPIC_API_KEY": "key",
            "ANTHROPIC_BASE_URL": server if isinstance(server, str) else server.base_url,
            **_QUICK,
            **(environ or {}),
        }
        settings = Settings.of(given)
        opened = open_agent(
            attrs.evolve(options or allowed, cwd=self.work, hooks=tuple(configured_hooks)),
            settings if disk is None else attrs.evolve(settings, disk=disk),
            asker=asker or NobodyAsks(),
            person=person,
            clock=clock,
            tools=tools,
            hooks=hooks,
        )
        async with opened as agent:
            yield agent


@define
class Line:
    """A line to a server on which an answer is held back until it is released."""

    url: str
    _released: asyncio.Event = field(factory=asyncio.Event)

    def release(self) -> None:
        self._released.set()

    async def wait(self) -> None:
        await self._released.wait()


@asynccontextmanager
async def held(server: ScriptedServer, words: bytes) -> AsyncIterator[Line]:
    """A way to the server on which no answer comes further than to the first of these words."""

    async def forward(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter, stop_at: bytes = b"\0"
    ) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(1 << 20):
                before, found, after = data.partition(stop_at)
                writer.write(before)
                if found:
                    await line.wait()
                    writer.write(found + after)
        writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answers, asks = await asyncio.open_connection("127.0.0.1", server.port)
        try:
            await asyncio.gather(forward(reader, asks), forward(answers, writer, words))
        finally:
            for each in (asks, writer):
                each.close()
                with suppress(ConnectionError):
                    await each.wait_closed()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        lines.append(asyncio.ensure_future(serve(reader, writer)))

    lines: list[asyncio.Future[None]] = []
    listening = await asyncio.start_server(connected, "127.0.0.1", 0)
    line = Line(f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}")
    try:
        yield line
    finally:
        listening.close()
        for each in lines:
            each.cancel()
        await asyncio.gather(*lines, return_exceptions=True)


async def tell(
    agent: Agent, words: str, *, on: Callable[[Update, int], None] | None = None
) -> Told:
    """Give the agent one prompt and wait for its end."""
    watcher = Watcher(on)
    summary = await agent.prompt(words, watcher)
    trace = read_trace(agent.paths.trace(summary.run_id))
    return Told(summary=summary, updates=tuple(watcher.updates), trace=trace)


def events_of(answer: Reply) -> int:
    """How many events the whole of this answer has: where it can be cut."""
    sent = stream.events(answer, stream.settled(answer, 1), message_id="", model="", usage={})
    return len(sent)


def entries(path: Path, *, torn: bool = False) -> list[dict[str, Any]]:
    """Every line of a transcript; each must be whole JSON, unless some may be torn."""
    data = path.read_bytes()
    assert data.endswith(b"\n")
    found = []
    for line in data.splitlines():
        try:
            found.append(orjson.loads(line))
        except orjson.JSONDecodeError:
            assert torn, line
    return found


def blocks(transcript: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The content blocks of these transcript entries or request messages."""
    found: list[dict[str, Any]] = []
    for entry in transcript:
        content = entry.get("message", entry).get("content") or []
        if isinstance(content, list):
            found += [block for block in content if isinstance(block, dict)]
    return found


def unanswered(path: Path, *, torn: bool = False) -> list[str]:
    """What is wrong with the calls of a transcript: each must have exactly one result."""
    told = [entry for entry in entries(path, torn=torn) if entry["type"] in ("user", "assistant")]
    said = blocks(told)
    asked = [block["id"] for block in said if block["type"] == "tool_use"]
    answered = [block["tool_use_id"] for block in said if block["type"] == "tool_result"]
    return sorted(
        f"{id_}: {answered.count(id_)} results, {asked.count(id_)} calls"
        for id_ in {*asked, *answered}
        if (answered.count(id_), asked.count(id_)) != (1, 1)
    )


def sent(request: SentRequest) -> list[dict[str, Any]]:
    """The content blocks of a request's messages, without cache marks."""
    return [
        {key: value for key, value in block.items() if key != "cache_control"}
        for block in blocks(request.body["messages"])
    ]


def results(request: SentRequest) -> list[tuple[str, str, bool]]:
    """The tool results of a request's last message: id, text, is_error."""
    return [
        (
            block["tool_use_id"],
            "\n".join(part["text"] for part in block.get("content", [])),
            block.get("is_error", False),
        )
        for block in blocks(request.body["messages"][-1:])
        if block["type"] == "tool_result"
    ]


def living(folder: Path) -> list[str]:
    """Processes that work in this folder, or were started to: state and command line."""
    found = []
    for process in Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        try:
            state = (process / "stat").read_bytes().rpartition(b")")[2].split()[0].decode()
            inside = (process / "cwd").readlink().is_relative_to(folder)
            environment = (process / "environ").read_bytes()
            command = (process / "cmdline").read_bytes()
        except OSError:
            continue  # gone since, or not ours to look at
        # One that ends has given its memory back before it is a zombie.
        dying = state in ("Z", "X") or not command
        if not dying and (inside or bytes(folder) in command + environment):
            found.append(f"{process.name} {state} {command.decode(errors='replace')}")
    return found
