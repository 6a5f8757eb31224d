"""Edits of large files: bounded in memory, told plainly, and given up when nobody wants them."""

from __future__ import annotations

import threading
import tracemalloc
from pathlib import Path

import anyio
import anyio.from_thread
import pytest

from interlock.tools import Arguments, ToolContext
from interlock.tools.change import Change
from interlock.tools.edit import Edit
from tests.tools.places import Place

LINES = 1_000_000
LARGE = b"line 1\n" * LINES


async def test_a_miss_in_a_large_file_is_told_without_a_search_for_likely_lines(
    place: Place,
) -> None:
    place.put("large.txt", LARGE)
    await place.said("Read", file_path="large.txt")

    tracemalloc.start()
    said = await place.refused(
        "Edit", file_path="large.txt", old_string="lime 1\nline", new_string="x"
    )
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert said == (
        "old_string was not found in the file. Nothing was changed. The file is too large to look"
        " for lines like it: find the place with Grep."
    )
    assert peak < 4 * len(LARGE)


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
async def test_every_place_of_a_large_file_is_replaced(place: Place, end: bytes) -> None:
    path = place.put("large.txt", LARGE.replace(b"\n", end))
    await place.said("Read", file_path="large.txt")

    said = await place.said(
        "Edit",
        file_path="large.txt",
        old_string="line 1",
        new_string="row",
        replace_all=True,
    )

    assert f"in {LINES} places" in said
    assert path.read_bytes() == (b"row" + end) * LINES


class Thoughtful(Edit):
    """One that works its change out for as long as it is let."""

    def __init__(self) -> None:
        self.began, self.go_on = anyio.Event(), threading.Event()

    def plan(self, path: Path, arguments: Arguments, context: ToolContext) -> Change:
        anyio.from_thread.run_sync(self.began.set)
        self.go_on.wait(20)
        return super().plan(path, arguments, context)


async def test_an_interrupt_does_not_wait_for_a_change_to_be_worked_out(place: Place) -> None:
    path = place.put("a.txt", "one\n")
    await place.said("Read", file_path="a.txt")
    tool = place.tools["Edit"] = Thoughtful()

    try:
        with anyio.fail_after(10):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_edited, place)
                await tool.began.wait()
                tasks.cancel_scope.cancel()
    finally:
        tool.go_on.set()

    assert path.read_text() == "one\n"


async def _edited(place: Place) -> None:
    await place.said("Edit", file_path="a.txt", old_string="one", new_string="two")
