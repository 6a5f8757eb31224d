"""What a turn costs on this machine: Interlock, a bare loop on the same SDK, and a raw socket.

All three talk to the same scripted server (`server.py`, a process of its own), one session of
each after another, so that noise hits them alike. A turn is timed from the start of one request
to the start of the next; CPU is that of this process, threads included. Prints; judges nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any, cast
from urllib.parse import urlsplit

import orjson
from anthropic import AsyncAnthropic
from anthropic.types import MessageParam, ToolParam
from attrs import Factory, frozen

from interlock.assembly import open_agent
from interlock.cli.logs import configure
from interlock.options import Options
from interlock.permissions import NobodyAsks
from interlock.settings import Settings
from interlock.tools.read import Read
from phases.world.limits import Limits
from phases.world.updates import RequestStarted, Update

MODEL, SYSTEM, PROMPT = "claude-sonnet-5-5", "You read notes.", "Read the notes, again and again."
NOTES = "Milk\nBread\nTwo dozen eggs\nA stamp for the letter to Ada\nThe bicycle lamp\n"
FILE = "notes.txt"
MAX_TOKENS = 8_000


@frozen
class Window:
    """Turns that stand for one, and how many sessions of that length a repetition has.

    Wide enough that one collection of garbage, or one visit of another process, does not decide
    the median. A longer session passes the shorter windows too.
    """

    turns: range
    sessions: int


WINDOWS = {
    10: Window(range(7, 14), sessions=8),
    100: Window(range(95, 106), sessions=3),
    400: Window(range(390, 401), sessions=1),
}
RESERVE_S = 10.0  # for the start, and for repetitions that take longer than the first


@frozen
class Place:
    """Where sessions take place."""

    url: str
    cwd: Path
    home: Path


@frozen
class Marks:
    """When each request began, on both clocks, in seconds."""

    cpu: list[float] = Factory(list)
    wall: list[float] = Factory(list)

    def note(self) -> None:
        self.cpu.append(time.process_time())
        self.wall.append(time.perf_counter())

    def spent(self, turns: Sequence[int]) -> Costs:
        """Milliseconds of each of these turns; the first one is 1."""
        cpu = [1_000 * (self.cpu[turn] - self.cpu[turn - 1]) for turn in turns]
        wall = [1_000 * (self.wall[turn] - self.wall[turn - 1]) for turn in turns]
        return Costs(cpu, wall)


@frozen
class Costs:
    """Milliseconds per turn, of all turns that were timed."""

    cpu: list[float] = Factory(list)
    wall: list[float] = Factory(list)

    def add(self, other: Costs) -> None:
        self.cpu.extend(other.cpu)
        self.wall.extend(other.wall)


# --- the three loops -------------------------------------------------------------------------


async def interlock(place: Place, turns: int, *, record: bool = False) -> Marks:
    """The agent as the command line builds it: trace, transcript, permissions and all checks."""
    marks = Marks()

    def show(update: Update) -> None:
        if isinstance(update, RequestStarted):
            marks.note()

    options = Options(
        cwd=place.cwd,
        model=MODEL,
        tools=("Read",),
        system_prompt=SYSTEM,
        max_turns=turns,
        record=record,
    )
    settings = Settings(
        home=place.home, limits=Limits(), api_key="none", base_url=place.url, output_cap=MAX_TOKENS
    )
    async with open_agent(options, settings, asker=NobodyAsks()) as agent:
        summary = await agent.prompt(PROMPT, show)
    if summary.reason != "max_turns":
        raise SystemExit(f"the run ended in {summary.reason}: {summary.error_text}")
    return marks


async def bare(place: Place, turns: int) -> Marks:
    """What one writes by hand: ask, gather the reply, run its call, append both, ask again."""
    marks = Marks()
    tool = cast(ToolParam, Read().wire())
    messages: list[MessageParam] = [{"role": "user", "content": PROMPT}]
    async with AsyncAnthropic(base_url=place.url, api_key="none", max_retries=0) as client:
        for _ in range(turns):
            marks.note()
            stream = await client.messages.create(
                model=MODEL,
                max_tokens=MAX_TOKENS,
                system=SYSTEM,
                tools=[tool],
                messages=messages,
                stream=True,
            )
            text, call, arguments = "", None, ""
            async for event in stream:
                if event.type == "content_block_start" and event.content_block.type == "tool_use":
                    call = event.content_block
                elif event.type == "content_block_delta":
                    if event.delta.type == "text_delta":
                        text += event.delta.text
                    elif event.delta.type == "input_json_delta":
                        arguments += event.delta.partial_json
            if call is None:
                raise SystemExit("an answer without a call")
            given = json.loads(arguments)
            result = _numbered((place.cwd / given["file_path"]).read_text())
            messages += cast(list[MessageParam], _turn(text, call.id, given, result))
    return marks


async def floor(place: Place, turns: int) -> Marks:
    """The same bytes over a socket, with nothing that understands them."""
    marks = Marks()
    address = urlsplit(place.url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    head = {"model": MODEL, "max_tokens": MAX_TOKENS, "stream": True, "system": SYSTEM}
    start = orjson.dumps({**head, "tools": [Read().wire()]})[:-1] + b',"messages":['
    messages = [orjson.dumps({"role": "user", "content": PROMPT})]
    added = _turn("x" * 480, "toolu_000001_1", {"file_path": FILE}, _numbered(NOTES))
    for _ in range(turns):
        marks.note()
        body = b"".join((start, b",".join(messages), b"]}"))
        writer.write(b"POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-type: application/json")
        writer.write(b"\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body))
        await reader.readuntil(b"\r\n0\r\n\r\n")
        messages += map(orjson.dumps, added)
    writer.close()
    await writer.wait_closed()
    return marks


def _numbered(text: str) -> str:
    """As Read shows a file, so that all histories weigh the same."""
    return "".join(f"{at}\t{line}\n" for at, line in enumerate(text.splitlines(), 1))


def _turn(text: str, id_: str, given: Mapping[str, Any], result: str) -> list[dict[str, Any]]:
    call = {"type": "tool_use", "id": id_, "name": "Read", "input": given}
    answer = {"type": "tool_result", "tool_use_id": id_, "content": result}
    return [
        {"role": "assistant", "content": [{"type": "text", "text": text}, call]},
        {"role": "user", "content": [answer]},
    ]


# --- measuring -------------------------------------------------------------------------------

LOOPS: dict[str, Callable[[Place, int], Awaitable[Marks]]] = {
    "interlock": interlock,
    "bare": bare,
    "floor": floor,
}
Table = dict[str, dict[int, Costs]]


@contextmanager
def place(drip: float) -> Iterator[Place]:
    """A server, and fresh folders; all gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="interlock-bench-") as folder:
        cwd, home = Path(folder, "work"), Path(folder, "home")
        cwd.mkdir()
        (cwd / FILE).write_text(NOTES)
        script = Path(__file__).with_name("server.py")
        server = subprocess.Popen(
            [sys.executable, str(script), f"--file={FILE}", f"--drip={drip}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        with server:  # closes its standard input, and waits
            assert server.stdout is not None
            yield Place(server.stdout.readline().strip(), cwd, home)


async def measured(asked: argparse.Namespace, began: float) -> tuple[Table, int]:
    """All loops, again and again while there is time; and how often that was."""
    windows = {turn: window for turn, window in WINDOWS.items() if turn <= asked.turns}
    table: Table = {name: {turn: Costs() for turn in windows} for name in LOOPS}
    done, longest = 0, 0.0
    with place(asked.drip / 1_000) as here:
        for loop in LOOPS.values():  # imports and first times are nobody's overhead
            await loop(here, 12)
        while done < asked.repetitions:
            started = time.monotonic()
            if done and started - began + longest > asked.seconds - RESERVE_S:
                break
            for window in windows.values():
                for _ in range(window.sessions):
                    await _session_of_each(here, window.turns[-1] + 1, windows, table)
            done += 1
            longest = max(longest, time.monotonic() - started)
    return table, done


async def _session_of_each(
    here: Place, turns: int, windows: Mapping[int, Window], table: Table
) -> None:
    for name, loop in LOOPS.items():
        gc.collect()
        marks = await loop(here, turns)
        for turn, window in windows.items():
            if window.turns[-1] < turns:
                table[name][turn].add(marks.spent(window.turns))


# --- telling ---------------------------------------------------------------------------------


def as_text(table: Table) -> str:
    """A line for each turn. The least is what is left when nothing disturbs."""
    columns = "".join(f"{name:>7}" for name in ("ours", "bare", "ratio", "floor"))
    titles = ("CPU ms, median", "CPU ms, least", "wall ms, median")
    lines = [" " * 6 + "   ".join(f"{title:>28}" for title in titles)]
    lines.append(f"{'turn':>6}" + "   ".join(columns for _ in titles))
    for turn in table["interlock"]:
        costs = [table[name][turn] for name in LOOPS]
        sides = (
            _side([median(each.cpu) for each in costs]),
            _side([min(each.cpu) for each in costs]),
            _side([median(each.wall) for each in costs]),
        )
        lines.append(f"{turn:>6}" + "   ".join(sides))
    return "\n".join(lines)


def _side(costs: Sequence[float]) -> str:
    ours, bare_, floor_ = costs
    return f"{ours:7.2f}{bare_:7.2f}{ours / bare_:7.2f}{floor_:7.2f}"


def as_json(table: Table, repetitions: int) -> str:
    told = {
        name: {
            str(turn): {
                "cpu_ms": round(median(costs.cpu), 3),
                "cpu_ms_least": round(min(costs.cpu), 3),
                "wall_ms": round(median(costs.wall), 3),
                "wall_ms_least": round(min(costs.wall), 3),
                "turns_timed": len(costs.cpu),
            }
            for turn, costs in rows.items()
        }
        for name, rows in table.items()
    }
    return json.dumps({"repetitions": repetitions, "loops": told}, indent=2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=3, help="at most; default 3")
    parser.add_argument("--turns", type=int, default=400, help="the longest session; default 400")
    parser.add_argument("--seconds", type=float, default=80.0, help="time to keep within")
    parser.add_argument(
        "--drip", type=float, default=0.0, help="ms between two events, which then come singly"
    )
    parser.add_argument("--json", action="store_true", help="JSON instead of a table")
    asked = parser.parse_args()
    configure(debug=False)  # as the command line does
    table, done = asyncio.run(measured(asked, time.monotonic()))
    if asked.json:
        print(as_json(table, done))
        return
    print(f"per turn, of {done} repetitions; each turn streams 20 deltas and runs one Read\n")
    print(as_text(table))


if __name__ == "__main__":
    main()
