"""A whole server, old protocol and new, on pipes and over HTTP: all that it may offer or ask."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from attrs import define, field

from interlock.mcp import Definition, Host, Patience, Scope, Servers, in_process, parsed
from interlock.mcp.prompts import commands
from interlock.mcp.tools import ReadMcpResource
from interlock.tools import FileReads, Output, Person, ToolContext, ToolError, UserAnswer
from interlock.tools.ask_user import UserQuestion
from phases.world.limits import Limits
from phases.world.messages import Media, Text
from phases.world.updates import Notice, Update
from tests.mcp.support import WHOLE, fake, listening

PATIENCE = Patience(start_s=60, call_s=60, restarts=2)


@pytest.fixture(scope="module")
def base() -> Iterator[str]:
    """A server over HTTP, as a process of its own."""
    with listening(WHOLE, "http") as base:
        yield base


@pytest.fixture(scope="module")
def sse_base() -> Iterator[str]:
    """The same over the older way, of one stream of events and posts beside it."""
    with listening(WHOLE, "sse") as base:
        yield base


@pytest.fixture(params=["stdio", "stdio legacy", "http", "http legacy", "sse legacy"])
def definition(request: pytest.FixtureRequest) -> Definition:
    kind, _, legacy = request.param.partition(" ")
    raw: dict[str, Any] = {"command": sys.executable, "args": [str(WHOLE), "stdio"]}
    if kind == "http":
        raw = {"type": "http", "url": f"{request.getfixturevalue('base')}/mcp"}
    if kind == "sse":
        raw = {"type": "sse", "url": f"{request.getfixturevalue('sse_base')}/sse"}
    return parsed("whole", {**raw, "protocol": legacy or "auto"}, scope=Scope.USER, environ={})


@define
class Saying:
    """A person who answers in this order: labels, or words in brackets."""

    said: list[str] = field(factory=list)
    asked: list[UserQuestion] = field(factory=list)

    async def answer(self, questions: Sequence[UserQuestion]) -> Sequence[UserAnswer] | None:
        self.asked += questions
        found = []
        for _ in questions:
            words = self.said.pop(0)
            typed = words.startswith("[")
            found.append(UserAnswer(words=words[1:-1]) if typed else UserAnswer(chosen=(words,)))
        return found


@asynccontextmanager
async def running(
    *definitions: Definition, person: Person | None = None
) -> AsyncIterator[Servers]:
    servers = Servers(
        definitions=definitions, patience=PATIENCE, environ={}, notify=lambda text: None
    )
    host = Host(
        roots=(Path.cwd(),),
        person=person,
        tell=servers.tell,
        moved=servers.moved,
        note=servers.note,
    )

    async def nothing(servers: Servers) -> None:
        """Nobody is asked."""

    async with servers.running(host, nothing):
        await servers.settled()
        assert [one.status for one in servers.status()] == ["connected"], servers.status()
        yield servers


def surroundings(folder: Path) -> ToolContext:
    return ToolContext(
        cwd=folder, root=folder, limits=Limits(), reads=FileReads(), spill=folder / "spill"
    )


async def called(servers: Servers, tool: str, folder: Path, **arguments: Any) -> Output:
    return await servers.tools[f"mcp__whole__{tool}"].run(arguments, surroundings(folder))


def text(output: Output) -> str:
    assert not isinstance(output.content, str)
    return "\n".join(part.text for part in output.content if isinstance(part, Text))


async def test_everything_works_over_each_transport_and_protocol(
    definition: Definition, tmp_path: Path
) -> None:
    async with running(definition, person=Saying(["Answer", "[green]", "[7]"])) as servers:
        (status,) = servers.status()
        asked = await called(servers, "ask", tmp_path)
        picture = await called(servers, "picture", tmp_path)
        broken = await called(servers, "no_picture", tmp_path)
        facts = await called(servers, "facts", tmp_path)
        failed = await called(servers, "fail", tmp_path)
        note = await servers.tools[ReadMcpResource.name].run(
            {"server": "whole", "uri": "note://one"}, surroundings(tmp_path)
        )

    assert status.protocol == ("2025-11-25" if definition.legacy else "2026-07-28")
    assert "colour='green' count=7" in text(asked)
    assert any(isinstance(part, Media) for part in picture.content)
    assert not any(isinstance(part, Media) for part in broken.content)
    assert "cannot be shown" in text(broken)
    assert "42" in text(facts)
    assert failed.is_error
    assert "the note says hello" in text(note)


async def test_a_new_tool_is_there_once_the_server_told_of_it(
    definition: Definition, tmp_path: Path
) -> None:
    joined = anyio.Event()

    def told(update: Update) -> None:
        if isinstance(update, Notice) and " joined" in update.text:
            joined.set()

    async with running(definition) as servers:
        await servers.ready()
        servers.show = told
        with anyio.fail_after(60):
            while not joined.is_set():  # it may not hear us listen yet, and tells only then
                await called(servers, "grow", tmp_path)
                with anyio.move_on_after(2):
                    await joined.wait()

        assert any(name.startswith("mcp__whole__grown_") for name in servers.tools)


async def test_changes_of_resources_are_told_to_who_listens(base: str, tmp_path: Path) -> None:
    """Over the newer protocol; the older one has a server of its own, in test_mcp_resources."""
    raw = {"type": "http", "url": f"{base}/mcp"}
    notes: list[str] = []

    def noted(words: str) -> bool:
        return any(words in note for note in notes)

    async with running(parsed("whole", raw, scope=Scope.USER, environ={})) as servers:
        await servers.ready()
        servers.notify = notes.append
        await servers.tools[ReadMcpResource.name].run(
            {"server": "whole", "uri": "note://one"}, surroundings(tmp_path)
        )
        with anyio.fail_after(60):
            while not (noted("note://one of the MCP server whole has changed") and noted("grown")):
                await called(servers, "edit", tmp_path)  # it may not hear us listen yet

    assert noted("has new resources now: note://grown-")


# --- what does not depend on the way to it: in this process -----------------------------------


@pytest.fixture
def inside() -> Definition:
    from tests.mcp.whole_server import server

    return in_process("whole", server)


async def test_a_server_of_this_process_is_one_like_others(
    inside: Definition, tmp_path: Path
) -> None:
    async with running(inside) as servers:
        assert "42" in text(await called(servers, "facts", tmp_path))


async def test_without_a_person_a_question_is_dismissed(base: str, tmp_path: Path) -> None:
    raw = {"type": "http", "url": f"{base}/mcp"}
    async with running(parsed("whole", raw, scope=Scope.USER, environ={})) as servers:
        dismissed = await called(servers, "ask", tmp_path)
    trusted = parsed("whole", {**raw, "trusted": True}, scope=Scope.USER, environ={})
    async with running(trusted) as servers:
        by_default = await called(servers, "ask", tmp_path)

    assert text(dismissed).strip() == "cancel"
    assert "colour='blue' count=3" in text(by_default)


async def test_a_prompt_is_a_slash_command(inside: Definition, tmp_path: Path) -> None:
    async with running(inside) as servers:
        (command,) = commands(servers.by_name.values())
        said = await command.text("a.py", surroundings(tmp_path))
        styled = await command.text("'a b.py' very harsh", surroundings(tmp_path))
        with pytest.raises(ToolError, match=r"wants <path> \[style\]: path is missing"):
            await command.text("", surroundings(tmp_path))

    assert (command.name, command.hint) == ("mcp__whole__review", "<path> [style]")
    assert said == (Text("Review a.py in a kind way."),)
    assert styled == (Text("Review a b.py in a very harsh way."),)


async def test_bytes_of_a_resource_are_saved_and_named(inside: Definition, tmp_path: Path) -> None:
    async with running(inside) as servers:
        sound = await servers.tools[ReadMcpResource.name].run(
            {"server": "whole", "uri": "data://sound"}, surroundings(tmp_path)
        )

    (saved,) = (tmp_path / "spill").iterdir()
    assert saved.read_bytes() == b"RIFFsound"
    assert str(saved) in text(sound)


async def test_a_server_is_switched_off_and_on_and_made_anew(inside: Definition) -> None:
    async with running(inside) as servers:
        await servers.toggle("whole", enabled=False)
        off = servers.status()[0].status, "mcp__whole__facts" in servers.tools
        await servers.toggle("whole", enabled=True)
        on = servers.status()[0].status, "mcp__whole__facts" in servers.tools
        await servers.reconnect("whole")
        anew = servers.status()[0].status

    assert (off, on, anew) == (("disabled", False), ("connected", True), "connected")


async def test_what_a_tool_says_of_itself_opens_nothing_unless_its_server_is_trusted() -> None:
    for trusted in (False, True):
        definition = fake("readonly", name="whole", trusted=trusted)
        async with running(definition) as servers:
            tool = servers.tools["mcp__whole__echo"]

            assert tool.effects({}) is not trusted
            assert tool.concurrency_safe({})
