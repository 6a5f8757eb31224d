"""Many calls of Bash at once, ended in every way: nothing is left of them.

`INTERLOCK_STRESS=5000` makes as many calls; the suite makes 300.
"""

from __future__ import annotations

import os
import random
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import pytest

from interlock.tools import FileReads, Output, ToolContext
from tests.tools.places import Place, text
from tests.tools.test_tools_bash import running
from tests.waiting import until

CALLS = int(os.environ.get("INTERLOCK_STRESS", "300"))
AT_ONCE = 8
STUBBORN = "(trap '' TERM; while :; do sleep 0.05; done) & setsid sleep 100 & sleep 100"

Call = Callable[["Caller"], Awaitable[None]]


class Caller:
    """One of those who call at the same time; the tools are shared, the surroundings are not."""

    def __init__(self, place: Place, seed: int) -> None:
        self.place = place
        self.chance = random.Random(seed)
        self.number = 0
        self.seed = seed

    async def bash(self, command: str, **more: object) -> Output:
        self.number += 1
        context = ToolContext(
            cwd=self.place.folder,
            root=self.place.folder,
            limits=self.place.limits,
            reads=FileReads(),
            spill=self.place.folder.parent / "spill",
            call_id=f"call-{self.seed}-{self.number}",
        )
        return await self.place.tools["Bash"].run({"command": command, **more}, context)


async def plain(caller: Caller) -> None:
    value = caller.chance.randrange(1000)
    said = text(await caller.bash(f"echo $(({value} + 1)); exit {value % 3}"))

    assert said.startswith(f"{value + 1}")


async def exporting(caller: Caller) -> None:
    assert not (await caller.bash(f"export X{caller.seed}={caller.number}")).is_error


async def loud(caller: Caller) -> None:
    said = text(await caller.bash("seq 30000; printf '\\201\\n'"))

    assert said.endswith("30000\n\ufffd")


async def leaving_a_child(caller: Caller) -> None:
    said = text(await caller.bash("(sleep 0.05; echo late) & echo early"))

    assert said.startswith("early")


async def out_of_time(caller: Caller) -> None:
    stubborn = STUBBORN if caller.chance.random() < 0.3 else "sleep 100"
    output = await caller.bash(f"echo x; {stubborn}", timeout=caller.chance.randrange(1, 60))

    assert "time limit" in text(output)
    assert "could not be ended" not in text(output)


async def interrupted(caller: Caller) -> None:
    command = caller.chance.choice(["true", "sleep 0.01", "sleep 0.02 & true", STUBBORN])
    with anyio.move_on_after(caller.chance.uniform(0, 0.03)):
        await caller.bash(command)


async def in_the_background(caller: Caller) -> None:
    output = await caller.bash("echo begun; sleep 0.01", run_in_background=True)

    assert not output.is_error


KINDS: tuple[tuple[Call, int], ...] = (
    (plain, 6),
    (exporting, 2),
    (loud, 1),
    (leaving_a_child, 2),
    (out_of_time, 2),
    (interrupted, 4),
    (in_the_background, 1),
)


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def test_after_many_calls_no_process_no_descriptor_and_no_file_is_left(
    place: Place, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    mark = f"stress-{os.getpid()}-mark"
    monkeypatch.setenv("MARK", mark)
    monkeypatch.setenv("TMPDIR", str(place.folder.parent / "tmp"))
    (place.folder.parent / "tmp").mkdir()
    await place.said("Bash", command="true")
    before = open_descriptors()

    async def call(seed: int) -> None:
        caller = Caller(place, seed)
        kinds, weights = zip(*KINDS, strict=True)
        for _ in range(CALLS // AT_ONCE):
            (kind,) = caller.chance.choices(kinds, weights)
            await kind(caller)

    async with anyio.create_task_group() as tasks:
        for seed in range(AT_ONCE):
            tasks.start_soon(call, seed)

    while_open = open_descriptors()
    place.tools["Bash"].close()
    await until(lambda: running(mark) == [])
    assert while_open <= before + 16  # the loop of the background, and commands still in it
    assert open_descriptors() <= before
    assert names(place.folder) == []
    assert names(place.folder.parent / "tmp") == []
    kept = names(place.folder.parent / "spill")  # output that was named to the model
    assert all(name.startswith("call-") for name in kept)
    assert capfd.readouterr() == ("", "")
