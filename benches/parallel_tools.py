"""Eight calls of half a second in one reply: how near to half a second, and to the stream's end.

Twice: a stream that ends with its last call, where the batch should cost what its longest call
does; and one that goes on until all are done, where the next request should leave at its end.
Beside ours a bare loop on the same SDK: a task for each call as its block ends, then
`asyncio.gather`. Both take turns at one scripted server. Prints; judges nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, cast

import anyio
from anthropic import AsyncAnthropic
from anthropic.types import MessageParam, ToolParam
from attrs import define, field, frozen

from interlock.assembly import open_agent
from interlock.cli.logs import configure
from interlock.options import Options
from interlock.permissions import NobodyAsks
from interlock.scripted import Reply, SentRequest, ServerThread, Settings, reply, text, tool_use
from interlock.settings import Settings as AgentSettings
from interlock.tools import Arguments, Output, Tool, ToolContext
from phases.world.limits import Limits
from phases.world.updates import RequestStarted, StreamEvent, ToolStarted, Update

MODEL, PROMPT = "claude-sonnet-5-5", "Wait eight times at once."
CALLS, SECONDS = 8, 0.5
# The server cuts text into deltas of 24 characters; this many, and this slowly, outlast a call.
DELTAS, DRIP_S = 60, 0.015


class Wait(Tool):
    """Reads nothing, for half a second."""

    name = "Wait"
    description = "Waits."
    # A call without input counts only once its reply is whole: it could have been cut.
    input_schema = {"type": "object", "properties": {"n": {"type": "integer"}}}  # noqa: RUF012

    def effects(self, arguments: Arguments) -> bool:
        return False

    def concurrency_safe(self, arguments: Arguments) -> bool:
        return True

    async def run(self, arguments: Arguments, context: ToolContext) -> Output:
        await anyio.sleep(SECONDS)
        return Output("waited")


@define
class Marks:
    """Moments of one session, in seconds."""

    begun: list[float] = field(factory=list)  # calls
    stopped: list[float] = field(factory=list)  # streams
    asked: list[float] = field(factory=list)  # requests

    @property
    def batch(self) -> float:
        """From the first call to the next request."""
        return self.asked[1] - min(self.begun)

    @property
    def gap(self) -> float:
        """From the end of the first stream to the next request."""
        return self.asked[1] - self.stopped[0]


Loop = Callable[[str, Path], Awaitable[Marks]]


async def interlock(url: str, folder: Path) -> Marks:
    """The agent as the command line builds it, with one tool more."""
    marks = Marks()

    def show(update: Update) -> None:
        match update:
            case RequestStarted():
                marks.asked.append(time.perf_counter())
            case StreamEvent({"type": "message_stop"}):
                marks.stopped.append(time.perf_counter())
            case ToolStarted():
                marks.begun.append(time.perf_counter())

    options = Options(cwd=folder, model=MODEL, include_partial_messages=True)
    settings = AgentSettings(home=folder / "home", limits=Limits(), api_key="none", base_url=url)
    async with open_agent(options, settings, asker=NobodyAsks()) as agent:
        agent._worker.tools = {**agent._worker.tools, Wait.name: Wait()}
        summary = await agent.prompt(PROMPT, show)
    if not summary.ok or len(marks.begun) != CALLS:
        raise SystemExit(f"{len(marks.begun)} calls ran; {summary.reason}: {summary.error_text}")
    return marks


async def bare(url: str, folder: Path) -> Marks:
    """What one writes by hand where nothing can go wrong."""
    marks = Marks()

    async def wait(call: str) -> Mapping[str, str]:
        marks.begun.append(time.perf_counter())
        await asyncio.sleep(SECONDS)
        return {"type": "tool_result", "tool_use_id": call, "content": "waited"}

    async with AsyncAnthropic(base_url=url, api_key="none", max_retries=0) as client:
        messages: list[dict[str, object]] = [{"role": "user", "content": PROMPT}]
        for _ in range(2):
            marks.asked.append(time.perf_counter())
            stream: Any = await client.messages.create(
                model=MODEL,
                max_tokens=8_000,
                messages=cast(list[MessageParam], messages),
                tools=[ToolParam(name="Wait", input_schema={"type": "object"})],
                stream=True,
            )
            ids: dict[int, str] = {}
            tasks = []
            async for event in stream:
                if event.type == "content_block_start" and event.content_block.type == "tool_use":
                    ids[event.index] = event.content_block.id
                elif event.type == "content_block_stop" and event.index in ids:
                    tasks.append(asyncio.create_task(wait(ids[event.index])))
                elif event.type == "message_stop":
                    marks.stopped.append(time.perf_counter())
            results = await asyncio.gather(*tasks)
            uses = [
                {"type": "tool_use", "id": id_, "name": "Wait", "input": {}}
                for id_ in ids.values()
            ]
            messages += [
                {"role": "assistant", "content": uses},
                {"role": "user", "content": results},
            ]
    return marks


def answer(goes_on: bool) -> Callable[[SentRequest], Reply]:
    """Eight calls first, and a word once they have results."""

    def given(request: SentRequest) -> Reply:
        if "tool_result" in json.dumps(request.body["messages"][-1]):
            return reply("Done.")
        calls = [tool_use(Wait.name, {"n": n}, id=f"toolu_{n}") for n in range(CALLS)]
        if not goes_on:
            return reply(*calls)
        return reply(*calls, text("x" * 24 * DELTAS), drip_s=DRIP_S)

    return given


# --- measuring -------------------------------------------------------------------------------

LOOPS: Mapping[str, Loop] = {"interlock": interlock, "bare": bare}


@frozen
class Row:
    """One number of both loops, all repetitions, in milliseconds."""

    name: str
    goal: str
    values: Mapping[str, list[float]]

    def __str__(self) -> str:
        told = [f"{median(self.values[name]):10.1f}" for name in LOOPS]
        least = [f"{min(self.values[name]):10.1f}" for name in LOOPS]
        return f"{self.name:<42}{''.join(told)}{''.join(least)}   {self.goal}"


async def measured(goes_on: bool, repetitions: int) -> dict[str, list[Marks]]:
    found: dict[str, list[Marks]] = {name: [] for name in LOOPS}
    settings = Settings(strict=False, cache=False, record_bodies=False)
    for number in range(repetitions + 1):
        for name, loop in LOOPS.items():
            with (
                ServerThread(answer(goes_on), settings) as server,
                tempfile.TemporaryDirectory() as folder,
            ):
                marks = await loop(server.base_url, Path(folder))
            if number:  # imports and first times are nobody's
                found[name].append(marks)
    return found


def rows(ends: Mapping[str, list[Marks]], goes_on: Mapping[str, list[Marks]]) -> Sequence[Row]:
    batch = {name: [1_000 * one.batch for one in marks] for name, marks in ends.items()}
    gap = {name: [1_000 * one.gap for one in marks] for name, marks in goes_on.items()}
    return (
        Row("first call to next request", "under 600", batch),
        Row("end of a longer stream to next request", "under 5", gap),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=5)
    asked = parser.parse_args()
    configure(debug=False)

    async def run() -> Sequence[Row]:
        return rows(
            await measured(False, asked.repetitions), await measured(True, asked.repetitions)
        )

    found = asyncio.run(run())
    print(
        f"{CALLS} calls of {SECONDS:g} s in one reply; milliseconds, {asked.repetitions} times\n"
    )
    heads = "".join(f"{name:>10}" for name in LOOPS)
    print(f"{'':<42}{heads}{heads}   goal")
    print(f"{'':<42}{'median':>20}{'least':>20}")
    for row in found:
        print(row)


if __name__ == "__main__":
    main()
