"""Files that are no text, on their whole way: from the disk into a request the API takes."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import Any

from PIL import Image

from interlock.errors import UsageError
from interlock.scripted import Answer, Reply, ScriptedServer, SentRequest, reply, tool_use
from interlock.tools import tool
from phases.world.media import picture
from phases.world.updates import TodosChanged
from tests.agent.support import Room, tell
from tests.tools.documents import pdf


def png(path: Path, width: int, height: int) -> None:
    into = io.BytesIO()
    Image.new("RGB", (width, height)).save(into, "PNG")
    path.write_bytes(into.getvalue())


def results_in(request: SentRequest) -> list[dict[str, Any]]:
    """The results that the last message of a request holds."""
    content = request.body["messages"][-1]["content"]
    return [block for block in content if block["type"] == "tool_result"]


def reading(*names: str) -> Reply:
    return reply(*(tool_use("Read", {"file_path": name}) for name in names))


async def test_files_that_are_not_what_their_names_say(room: Room) -> None:
    """A wide picture, text called a picture, an empty file, one line called a PDF."""
    png(room.work / "wide.png", 9_000, 1)
    (room.work / "fake.png").write_text('<svg width="10" height="10"/>\n')
    (room.work / "empty.jpeg").touch()
    (room.work / "fake.pdf").write_text("%PDF-1.4 not really a document\n")
    asked: list[SentRequest] = []

    def answer(request: SentRequest) -> Answer:
        asked.append(request)
        if len(asked) == 1:
            return reading("wide.png", "fake.png", "empty.jpeg", "fake.pdf")
        return reply("I have seen them.")

    async with ScriptedServer(answer) as server, room.open(server) as agent:
        await tell(agent, "look at them")

    wide, text, empty, document = results_in(asked[1])
    assert server.verdict() == ()
    assert picture(base64.b64decode(wide["content"][1]["source"]["data"])).width == 1_568
    assert "<svg" in str(text["content"])
    assert "is empty" in str(empty["content"])
    assert "not really a document" in str(document["content"])  # text, whatever it is called


async def test_many_pictures_in_one_conversation_all_stay(room: Room) -> None:
    """With more than 20 in a request each may have 2000 pixels a side."""
    names = [f"{number}.png" for number in range(24)]
    for name in names:
        png(room.work / name, 2_400, 30)
    asked: list[SentRequest] = []

    def answer(request: SentRequest) -> Answer:
        asked.append(request)
        return reading(*names) if len(asked) == 1 else reply("Seen.")

    async with ScriptedServer(answer) as server, room.open(server) as agent:
        await tell(agent, "look at them all")

    shown = [block["type"] for result in results_in(asked[1]) for block in result["content"]]
    assert server.verdict() == ()
    assert shown.count("image") == 24


async def test_scanned_pages_are_sent_as_a_document(room: Room) -> None:
    (room.work / "scan.pdf").write_bytes(pdf("", ""))
    asked: list[SentRequest] = []

    def answer(request: SentRequest) -> Answer:
        asked.append(request)
        return reading("scan.pdf") if len(asked) == 1 else reply("Seen.")

    async with ScriptedServer(answer) as server, room.open(server) as agent:
        await tell(agent, "look at it")

    (result,) = results_in(asked[1])
    assert server.verdict() == ()
    assert result["content"][1]["type"] == "document"


async def test_a_tool_of_the_callers_own_is_on_offer_and_runs(room: Room) -> None:
    @tool
    def weather(city: str) -> str:
        """The weather in a city."""
        return f"Rain in {city}."

    asked: list[SentRequest] = []

    def answer(request: SentRequest) -> Answer:
        asked.append(request)
        call = tool_use("weather", {"city": "Bergen"})
        return reply(call) if len(asked) == 1 else reply("It rains.")

    async with ScriptedServer(answer) as server, room.open(server, tools=[weather]) as agent:
        await tell(agent, "how is the weather?")

    assert server.verdict() == ()
    assert weather.wire() in asked[0].body["tools"]
    assert "Rain in Bergen." in str(results_in(asked[1])[0]["content"])


async def test_a_tool_that_takes_over_a_name_is_refused_at_the_door(room: Room) -> None:
    @tool(name="Read")
    def reads(city: str) -> str:
        """Reads nothing."""
        return city

    said = ""
    try:
        async with room.open("http://127.0.0.1:9", tools=[reads]):
            pass
    except UsageError as error:
        said = str(error)

    assert "cannot be called Read" in said


async def test_the_watcher_is_told_the_todo_list(room: Room) -> None:
    todos = [{"content": "look", "status": "in_progress", "activeForm": "Looking"}]
    asked: list[SentRequest] = []

    def answer(request: SentRequest) -> Answer:
        asked.append(request)
        return reply(tool_use("TodoWrite", {"todos": todos})) if len(asked) == 1 else reply("Yes.")

    async with ScriptedServer(answer) as server, room.open(server) as agent:
        told = await tell(agent, "make a list")

    changed = [update for update in told.updates if isinstance(update, TodosChanged)]
    assert [[todo.content for todo in update.todos] for update in changed] == [["look"]]
