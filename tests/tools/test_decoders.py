"""Decoders run apart: whatever a file does to them, the agent goes on and nothing stays behind."""

from __future__ import annotations

import os
from pathlib import Path

import anyio
import pytest

from interlock.decoders.apart import Decoder, Undecodable, decoded
from tests.tools.test_tools_pictures import made
from tests.waiting import until

SLOW = b"<p>hello <b>x</b> <a href=y>z</a></p>\n" * 200_000
PICTURE = {"side": 1_568, "most": 1_000_000}


def children() -> set[int]:
    """Processes of ours that run, or have ended and nobody has asked how."""
    me, found = os.getpid(), set()
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == me:
            found.add(int(status.parent.name))
    return found


needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")


@needs_proc
async def test_a_call_that_is_cancelled_leaves_no_process() -> None:
    before = children()

    with anyio.move_on_after(0.3) as scope:
        await decoded(Decoder.PAGE, SLOW, {"url": "http://a/"})

    assert scope.cancelled_caught
    assert children() <= before


@needs_proc
async def test_one_that_takes_too_long_is_ended_and_that_is_told() -> None:
    before = children()

    with pytest.raises(Undecodable, match=r"took over 0\.3 s"):
        await decoded(Decoder.PAGE, SLOW, {"url": "http://a/"}, time_limit=0.3)
    assert children() <= before


async def test_one_that_is_killed_is_told_as_a_crash() -> None:
    before = children()
    problems: list[str] = []

    async def decode() -> None:
        try:
            await decoded(Decoder.PAGE, SLOW, {"url": "http://a/"})
        except Undecodable as error:
            problems.append(str(error))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(decode)
        await until(lambda: bool(children() - before))
        for process in children() - before:
            os.kill(process, 9)

    assert problems == ["the program that decodes it crashed on it"]


async def test_a_picture_that_wants_too_much_memory_is_refused() -> None:
    with pytest.raises(Undecodable, match="20000 x 20000 pixels, which is too much to decode"):
        await decoded(Decoder.PICTURE, made("1", (20_000, 20_000), "PNG"), PICTURE)


async def test_it_gets_nothing_of_our_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A module of the working folder is not taken for one of ours, either."""
    monkeypatch.setenv("PYTHONSTARTUP", "/nonexistent")
    monkeypatch.setenv("PYTHONHOME", "/nonexistent")

    assert (await decoded(Decoder.PICTURE, made("L", (2, 2), "PNG"), PICTURE)).facts["same"]
