"""What it costs to write a session down: `python benches/append.py`.

Appends the messages of 50 rounds to a transcript, a prompt, a reply with a call, its result, as
the agent does it, under each fsync policy in turn. The floor writes the very same bytes, line by
line, with a bare `os.write`; the second floor waits for the disk after each of these lines.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter
from uuid import UUID

from interlock.durability import Disk, Fsync, Moment
from interlock.sessions import Transcript
from phases.world.messages import Kind, Message, Origin, Text, ToolResult, ToolUse
from phases.world.usage import Usage

RESULT = "a line of a file, of usual length\n" * 30
_MARK = Origin(api_id="msg", model="m", stop_reason="tool_use", usage=Usage())


def _id(number: int) -> str:
    return str(UUID(int=(4 << 76) | (8 << 60) | number))


def messages(rounds: int) -> list[Message]:
    """As many rounds as asked for: three messages each, four lines."""
    made = []
    for n in range(1, rounds + 1):
        reply = _id(3 * n + 1)
        use = ToolUse(f"toolu_{n}", "Read", {"file_path": f"/srv/file_{n}.py"})
        answer = ToolResult(use.id, (Text(RESULT),))
        made += [
            Message(id=_id(3 * n), role="user", kind=Kind.PROMPT, content=(Text(f"look at {n}"),)),
            Message(
                id=reply,
                role="assistant",
                kind=Kind.REPLY,
                content=(Text("I look at it."), use),
                origin=_MARK,
            ),
            Message(
                id=_id(3 * n + 2), role="user", kind=Kind.RESULT, content=(answer,), source=reply
            ),
        ]
    return made


async def appended(path: Path, policy: Fsync, said: list[Message]) -> float:
    """Seconds it took to append `said` as the agent does: each as it comes, each request asked."""
    transcript = Transcript(path, session_id=_id(1), cwd=path.parent, disk=Disk(policy))
    history: list[Message] = []
    began = perf_counter()
    for message in said:
        history.append(message)
        await transcript.record(tuple(history[-3:]) if len(history) > 3 else tuple(history))
        if message.kind in (Kind.PROMPT, Kind.RESULT):  # the model is asked then
            transcript.settle(Moment.REQUEST)
    took = perf_counter() - began
    transcript.close()
    return took


def written(path: Path, lines: list[bytes], after: Callable[[int], None]) -> float:
    """Seconds it took to write the same lines with nothing around them."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    began = perf_counter()
    for line in lines:
        os.write(file, line)
        after(file)
    took = perf_counter() - began
    os.close(file)
    return took


def main(folder: str | None, rounds: int, repetitions: int) -> None:
    said = messages(rounds)
    with tempfile.TemporaryDirectory(dir=folder) as name:
        sample = Path(name) / "sample.jsonl"
        asyncio.run(appended(sample, Fsync.NEVER, said))
        lines = sample.read_bytes().splitlines(keepends=True)[:-1]  # the last names the prompt
        size = sum(map(len, lines)) / len(lines)
        costs: dict[str, list[float]] = {}
        for again in range(repetitions):
            floors = {"floor: os.write": _nothing, "floor: os.write, os.fsync": os.fsync}
            for what, after in floors.items():
                path = Path(name) / f"{what[-5:]}{again}"
                costs.setdefault(what, []).append(written(path, lines, after))
            for policy in Fsync:
                path = Path(name) / f"{policy}{again}.jsonl"
                took = asyncio.run(appended(path, policy, said))
                costs.setdefault(f"transcript, {policy}", []).append(took)
    print(f"{len(lines)} lines of {size:.0f} bytes on the average, {repetitions} times each")
    print(f"{'':<28}{'median':>12}{'least':>12}   a line")
    for what, seconds in costs.items():
        each = [1e6 * one / len(lines) for one in seconds]
        print(f"{what:<28}{median(each):>9.1f} µs{min(each):>9.1f} µs")


def _nothing(file: int) -> None:
    """Leave it to the operating system."""


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", help="where to write: on the disk to be measured")
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--repetitions", type=int, default=3)
    asked = parser.parse_args()
    main(asked.folder, asked.rounds, asked.repetitions)
