"""What a tool of others raises ends its own call, and neither the run nor the caller's loop."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable

import anyio
import pytest

from interlock.tools import ToolContext, tool
from phases.world.messages import ToolUse
from tests.tools.places import Place
from tests.tools.running import bench, step


async def awaits_what_was_cancelled() -> str:
    """Awaits a task that somebody cancelled."""
    task = asyncio.create_task(asyncio.sleep(9))
    task.cancel()
    await task
    return "not reached"


async def cancels_itself() -> str:
    """Cancels the task it runs in."""
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await asyncio.sleep(9)
    return "not reached"


def raises_cancelled() -> str:
    """Raises it in a thread."""
    raise asyncio.CancelledError("by hand")


def exits() -> str:
    """Parses arguments it was not given, as argparse does."""
    sys.exit(2)


async def exits_in_the_loop() -> str:
    """The same, in the loop."""
    sys.exit(2)


def breaks_off() -> str:
    """Raises what Ctrl-C raises."""
    raise KeyboardInterrupt


async def breaks_off_in_the_loop() -> str:
    """The same, in the loop."""
    raise KeyboardInterrupt


async def times_out() -> str:
    """Waits too long, by its own clock."""
    async with asyncio.timeout(0):
        await asyncio.sleep(9)
    return "not reached"


def says_nothing() -> str:
    """Fails without a word."""
    raise ValueError


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (awaits_what_was_cancelled, "it was cancelled, and not from here (CancelledError)."),
        (cancels_itself, "it was cancelled, and not from here (CancelledError)."),
        (raises_cancelled, "it was cancelled, and not from here (CancelledError: by hand)."),
        (exits, "it called for the end of the whole program (SystemExit: 2)."),
        (exits_in_the_loop, "it called for the end of the whole program (SystemExit: 2)."),
        (breaks_off, "KeyboardInterrupt."),
        (breaks_off_in_the_loop, "KeyboardInterrupt."),
        (times_out, "TimeoutError."),
        (says_nothing, "ValueError."),
    ],
)
async def test_whatever_a_function_raises_fails_its_call_alone(
    place: Place, function: Callable[[], str], said: str
) -> None:
    made = tool(function)

    async with bench(place.folder, tools={made.name: made}) as run:
        failed, after = await run.run(
            ToolUse(id="toolu_1", name=made.name, input={}), step("beside")
        )

    assert (failed.is_error, failed.text) == (True, f"{made.name} failed: {said}")
    assert (after.is_error, after.text) == (False, "did beside")


async def test_an_exit_while_a_call_is_cancelled_ends_nothing_but_the_call(place: Place) -> None:
    began = anyio.Event()

    @tool
    async def exits_at_the_end(context: ToolContext) -> None:
        """Exits when it is cancelled."""
        try:
            began.set()
            await anyio.sleep_forever()
        finally:
            sys.exit(1)

    use = ToolUse(id="toolu_1", name="exits_at_the_end", input={})
    async with (
        bench(place.folder, tools={use.name: exits_at_the_end}) as run,
        anyio.create_task_group() as tasks,
    ):

        async def press() -> None:
            await began.wait()
            run.button.press()

        tasks.start_soon(press)
        (result,) = await run.run(use)

    assert result.is_error


async def test_a_call_that_is_over_time_is_still_told_as_such(place: Place) -> None:
    @tool(time_limit=0.01)
    async def waits() -> None:
        """Waits."""
        await asyncio.sleep(9)

    async with bench(place.folder, tools={"waits": waits}) as run:
        (result,) = await run.run(ToolUse(id="toolu_1", name="waits", input={}))

    assert result.text == "waits was ended: it took over 0.01 s."
