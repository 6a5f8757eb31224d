"""docs/durability.md promises what a power cut leaves under each policy: every cell is cut."""

from __future__ import annotations

from pathlib import Path

import attrs
import orjson
import pytest

from interlock.durability import Fsync
from interlock.home import project_key
from interlock.open_calls import NOT_STARTED, STARTED, closed
from interlock.options import Options, PermissionMode, Resume
from interlock.scripted import Answer, ScriptedServer, SentRequest, reply, tool_use
from interlock.sessions import read_messages
from interlock.settings import Settings
from interlock.tools import tool
from phases.world.messages import Kind
from phases.world.updates import Recorded, Update
from tests.agent.support import MODEL, Room, tell
from tests.sessions.power import Image, Power

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "durability.md").read_text()
FREE = Options(permission_mode=PermissionMode.BYPASS_PERMISSIONS, model=MODEL)


def cells() -> dict[tuple[str, Fsync], str]:
    """What the page says is left: by the moment, and the policy."""
    lines = PAGE.split("| the power goes |")[1].splitlines()
    policies = [Fsync(word.strip(" `")) for word in lines[0].strip("| ").split("|")]
    found: dict[tuple[str, Fsync], str] = {}
    for line in lines[2:]:
        if not line.startswith("|"):
            break
        moment, *said = (cell.strip() for cell in line.strip("|").split("|"))
        found |= {(moment, policy): word for policy, word in zip(policies, said, strict=True)}
    return found


CELLS = cells()


async def cut_everywhere(room: Room, policy: Fsync) -> dict[str, Image]:
    """One run with one call; what the disk held at each moment that the page names."""
    power = Power()
    images: dict[str, Image] = {}

    @tool
    def change() -> str:
        """Changes something."""
        images["while a call that changes something runs"] = power.goes()
        return "changed"

    def answer(request: SentRequest) -> Answer:
        which = "first" if request.index == 1 else "second"
        images[f"while the {which} answer comes"] = power.goes()
        return reply("I do.", tool_use("change", {})) if request.index == 1 else reply("Done.")

    def on(update: Update, number: int) -> None:
        if isinstance(update, Recorded) and update.message.kind is Kind.RESULT:
            images["when its result was written"] = power.goes()

    async with (
        ScriptedServer(answer) as server,
        room.open(server, options=FREE, tools=[change], disk=power.disk(policy)) as agent,
    ):
        await tell(agent, "change it", on=on)
        images["when the run is over"] = power.goes()
    return images


def left(home: Path, cwd: Path) -> str:
    """What a resume finds, in the words of the page."""
    folder = home / "projects" / project_key(cwd)
    paths = list(folder.glob("*.jsonl"))
    if not paths:
        return "nothing"
    messages = read_messages(paths[0])
    made = closed(messages, folder / paths[0].stem / "runs")
    words = [message.kind.value for message in messages]
    words += ["call begun" for one in made if STARTED in str(one.result)]
    words += ["call lost" for one in made if NOT_STARTED in str(one.result)]
    return ", ".join(words) or "nothing"


@pytest.mark.parametrize("policy", Fsync)
async def test_what_a_power_cut_leaves_is_as_documented(policy: Fsync, tmp_path: Path) -> None:
    room = Room.made(tmp_path / "room")

    images = await cut_everywhere(room, policy)

    found = {}
    for number, (moment, image) in enumerate(images.items()):
        home = tmp_path / f"after {number}"
        image.restored(room.home, home)
        found[moment] = left(home, room.work)
    assert found == {moment: word for (moment, one), word in CELLS.items() if one is policy}


async def test_after_a_power_cut_in_a_call_the_session_goes_on_and_runs_nothing_again(
    tmp_path: Path,
) -> None:
    room = Room.made(tmp_path / "room")
    images = await cut_everywhere(room, Fsync.REQUEST)
    after = attrs.evolve(room, home=tmp_path / "after")
    images["while a call that changes something runs"].restored(room.home, after.home)

    async with ScriptedServer([reply("I look first.")]) as server:
        options = attrs.evolve(FREE, resume=Resume())
        async with after.open(server, options=options) as agent:
            told = await tell(agent, "go on")

    assert told.ending == ("completed", None)
    assert STARTED in str(server.requests[0].body["messages"])
    assert server.verdict() == ()


def test_the_page_has_a_promise_for_every_policy() -> None:
    rows = PAGE.split("| `fsync` |")[1].split("\n\n")[0].splitlines()[2:]

    assert [row.strip("| ").split("`")[1] for row in rows] == list(Fsync)
    assert f"`{Settings.of({'HOME': '/'}).disk.policy}` is the default" in PAGE


@pytest.mark.parametrize("other", ["../README.md", "settings.md"])
def test_the_page_is_linked(other: str) -> None:
    assert "durability.md)" in (DOCS / other).read_text()


async def test_nothing_is_forced_onto_the_disk_twice(tmp_path: Path) -> None:
    """Two requests with nothing written in between cost one wait."""
    power = Power()
    room = Room.made(tmp_path / "room")
    answers = [reply("One."), reply("Two.")]

    async with (
        ScriptedServer(answers) as server,
        room.open(server, options=FREE, disk=power.disk(Fsync.REQUEST)) as agent,
    ):
        await tell(agent, "hi")
        path = agent.transcript_path

    assert power.synced.count(path) == 2  # with the prompt, and at the end of the run


def paid(home: Path) -> int:
    """How many requests the record of the cost tells of."""
    files = list(home.glob("projects/*/*/costs.jsonl"))
    lines = [line for path in files for line in path.read_bytes().splitlines()]
    return len({orjson.loads(line)["request"] for line in lines})


@pytest.mark.parametrize(
    ("policy", "known"),
    [
        (Fsync.NEVER, [0, 0, 0, 0, 0]),
        (Fsync.PROMPT, [0, 0, 0, 0, 0]),
        (Fsync.REQUEST, [0, 1, 1, 1, 2]),
        (Fsync.ALWAYS, [0, 1, 1, 1, 2]),
    ],
)
async def test_what_was_paid_is_as_safe_as_what_was_said(
    policy: Fsync, known: list[int], tmp_path: Path
) -> None:
    room = Room.made(tmp_path / "room")

    images = await cut_everywhere(room, policy)

    found = []
    for number, image in enumerate(images.values()):
        image.restored(room.home, tmp_path / f"after {number}")
        found.append(paid(tmp_path / f"after {number}"))
    assert found == known


async def test_a_line_of_the_cost_is_on_the_disk_at_once_where_that_is_wanted_of_each(
    tmp_path: Path,
) -> None:
    room, power = Room.made(tmp_path / "room"), Power()

    async with (
        ScriptedServer([reply("One.")]) as server,
        room.open(server, options=FREE, disk=power.disk(Fsync.ALWAYS)) as agent,
    ):
        await tell(agent, "hi")
        costs = agent.paths.costs

    lines = costs.read_bytes().count(b"\n")
    assert power.synced.count(costs) == lines > 1
