"""What of the memory is looked up beside the first request: by words or by a small model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from interlock.captioner import Chooser, small_models
from interlock.home import project_key
from interlock.interrupt import InterruptSignal
from interlock.ledger import Ledger
from interlock.memory import AutoMemory, Topic, relevant
from interlock.options import Options, PermissionMode, Resume
from interlock.scripted import Answer, ScriptedServer, SentRequest, cut, reply, tool_use
from interlock.settings import Settings
from interlock.world import RandomIds
from tests.agent.support import MODEL, Room, sent, tell

SMALL = "claude-3-5-haiku"
NOTES = {
    "MEMORY.md": "- [Deploying](deploying.md)",
    "deploying.md": "# How the shop is deployed\nRun `make ship` from the release branch.",
    "database.md": "---\ndescription: migrations of the orders database\n---\nUse alembic.",
    "taste.md": "# What the user prefers\nShort answers.",
}


@pytest.fixture
def memory(tmp_path: Path) -> AutoMemory:
    for name, text in NOTES.items():
        (tmp_path / name).write_text(text)
    return AutoMemory(folder=tmp_path)


async def names(memory: AutoMemory, prompt: str) -> list[str]:
    return [topic.name for topic in await relevant(memory, prompt, None)]


@pytest.mark.parametrize(
    ("prompt", "found"),
    [
        ("Please deploy the shop", ["deploying.md"]),
        ("write a migration for the table of orders", ["database.md"]),
        ("Why does the login test fail?", []),
        ("fix the file and add the change", []),
        ("", []),
    ],
)
async def test_by_words_what_shares_rare_ones_is_found(
    memory: AutoMemory, prompt: str, found: list[str]
) -> None:
    assert await names(memory, prompt) == found


async def test_a_small_model_chooses_by_name_and_invented_names_are_nothing(
    memory: AutoMemory,
) -> None:
    async def choose(prompt: str, topics: Sequence[Topic]) -> Sequence[str]:
        return ["taste.md", "invented.md", "taste.md"]

    found = await relevant(memory, "hello", choose)

    assert [(topic.name, topic.about) for topic in found] == [
        ("taste.md", "What the user prefers")
    ]


async def test_where_it_does_not_answer_words_decide(memory: AutoMemory) -> None:
    async def choose(prompt: str, topics: Sequence[Topic]) -> None:
        return None

    found = await relevant(memory, "deploy the shop", choose)

    assert [topic.name for topic in found] == ["deploying.md"]


async def test_a_long_file_is_told_in_part(memory: AutoMemory) -> None:
    (memory.folder / "deploying.md").write_text("# Deploying\n" + "x" * 5_000)

    (found,) = await relevant(memory, "deploying", None)

    assert "(the first 4,000 of 5,012 bytes; Read the file for the rest)" in found.text


async def test_an_empty_memory_costs_no_request(tmp_path: Path) -> None:
    async def choose(prompt: str, topics: Sequence[Topic]) -> None:
        raise AssertionError("asked for nothing")

    assert await relevant(AutoMemory(folder=tmp_path / "none"), "deploy", choose) == ()


# --- in the loop ---


@pytest.fixture
def room(tmp_path: Path) -> Room:
    room = Room.made(tmp_path / "room")
    folder = room.home / "projects" / project_key(room.work) / "memory"
    folder.mkdir(parents=True)
    for name, text in NOTES.items():
        (folder / name).write_text(text)
    return room


def calling(path: Path | str) -> dict[str, str]:
    return {"file_path": str(path)}


async def test_it_stands_behind_the_turn_that_finds_it_once_in_a_session(room: Room) -> None:
    """Nobody waits for the lookup, so the model works on until it sees what was found."""
    turns = iter(range(200))

    def answer(request: SentRequest) -> Answer:
        works_on = "Run `make ship`" not in str(sent(request))
        return reply(tool_use("Read", calling(f"{next(turns)}.txt"))) if works_on else reply("Ok.")

    async with ScriptedServer(answer) as server, room.open(server) as agent:
        await tell(agent, "deploy the shop")
        found = len(server.requests)
        await tell(agent, "deploy the shop again")

    counts = [str(sent(request)).count("Run `make ship`") for request in server.requests]
    assert counts[0] == 0
    assert counts[found - 1 :] == [1] * (len(counts) - found + 1)
    assert server.verdict() == ()


async def test_after_a_resume_it_is_not_told_again(room: Room) -> None:
    turns = iter(range(200))

    def until_told(words: str) -> Callable[[SentRequest], Answer]:
        def answer(request: SentRequest) -> Answer:
            if words in str(sent(request)):
                return reply("Ok.")
            return reply(tool_use("Read", calling(f"{next(turns)}.txt")))

        return answer

    bypassing = PermissionMode.BYPASS_PERMISSIONS
    again = Options(model=MODEL, permission_mode=bypassing, resume=Resume())
    async with ScriptedServer(until_told("Run `make ship`")) as server, room.open(server) as agent:
        await tell(agent, "deploy the shop")
    async with ScriptedServer(until_told("Use alembic")) as server:
        async with room.open(server, options=again) as agent:
            await tell(agent, "deploy the shop and migrate the database of orders")
        last = str(sent(server.requests[-1]))

    assert (last.count("Run `make ship`"), last.count("Use alembic")) == (1, 1)


async def test_what_the_model_has_read_by_then_is_left_out(room: Room) -> None:
    file = room.home / "projects" / project_key(room.work) / "memory" / "deploying.md"
    read = reply(tool_use("Read", calling(file)))
    async with ScriptedServer([read, reply("Shipped.")]) as server, room.open(server) as agent:
        await tell(agent, "deploy the shop")

    assert str(sent(server.requests[1])).count("How the shop is deployed") == 1


async def test_the_small_model_is_asked_with_names_and_lines_and_answers_with_names(
    memory: AutoMemory, room: Room
) -> None:
    async with ScriptedServer([reply("- `database.md`\ntaste.md")]) as server:
        environ = {
            "INTERLOCK_HOME": str(room.home),
            "ANTHROPIC_API_KEY": "key",
            "ANTHROPIC_BASE_URL": server.base_url,
            "INTERLOCK_SMALL_MODEL": SMALL,
        }
        models = small_models(Settings.of(environ))
        ledger = Ledger(models["memory"])
        choose = Chooser(model=ledger, name=SMALL, ids=RandomIds(), interrupt=InterruptSignal())

        found = await relevant(memory, "what about the orders?", choose)
        for model in models.values():
            await model.aclose()

    (request,) = server.requests
    assert [topic.name for topic in found] == ["database.md", "taste.md"]
    assert "- database.md: migrations of the orders database" in str(sent(request))
    assert "tools" not in request.body
    assert ledger.accounts[SMALL].usage.output_tokens > 0
    assert server.verdict() == ()


async def test_a_small_model_that_never_answers_delays_no_request(room: Room) -> None:
    read = reply(tool_use("Read", calling("a.txt")))
    main = iter([read, reply("Shipped.")])

    def answer(request: SentRequest) -> Answer | None:
        if request.body["model"] == SMALL:
            return cut("I", after=1, end="stall")
        return next(main, None)

    async with (
        ScriptedServer(answer) as server,
        room.open(server, environ={"INTERLOCK_SMALL_MODEL": SMALL}) as agent,
    ):
        told = await tell(agent, "deploy the shop")

    assert told.ending == ("completed", None)
    assert not any("make ship" in str(sent(request)) for request in server.requests)
