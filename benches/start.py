"""What it takes to start: `interlock -p` and `--help` beside a bare script on the same SDK.

The model answers from this very process, which so knows the moment a first request arrives and
asks the kernel what its sender has used until then. All programs take turns, so that noise hits
them alike. Prints; judges nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from attrs import frozen

ROOT = Path(__file__).parent.parent
MODEL, PATIENCE_S = "claude-sonnet-5-5", 60.0

# What one writes by hand to ask once and see the answer come.
BARE = f"""
import asyncio
from anthropic import AsyncAnthropic

async def main():
    async with AsyncAnthropic() as client:
        stream = await client.messages.create(
            model={MODEL!r}, max_tokens=1000, stream=True,
            messages=[{{"role": "user", "content": "hi"}}],
        )
        async for event in stream:
            if event.type == "content_block_delta":
                print(event.delta.text)

asyncio.run(main())
"""
EVENTS = (
    {
        "type": "message_start",
        "message": {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": MODEL,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        },
    },
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hello"}},
    {"type": "content_block_stop", "index": 0},
    {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn", "stop_sequence": None},
        "usage": {"output_tokens": 1},
    },
    {"type": "message_stop"},
)
ASKING: Mapping[str, Sequence[str]] = {
    "bare": (sys.executable, "-c", BARE),
    "interlock": (sys.executable, "-m", "interlock", "-p", "hi"),
}
SILENT: Mapping[str, Sequence[str]] = {
    "python": (sys.executable, "-c", "pass"),
    "--help": (sys.executable, "-m", "interlock", "--help"),
}


@frozen
class Cost:
    """What a process has used: milliseconds, and at most so many megabytes at once."""

    wall: float
    cpu: float
    memory: float


@frozen
class Run:
    """A process until its first request, if it makes one, and until its end."""

    whole: Cost
    first: Cost | None = None


@frozen
class World:
    """A model's server, and folders for who talks to it."""

    server: socket.socket
    cwd: Path
    home: Path

    def run(self, command: Sequence[str], *, asks: bool) -> Run:
        began = time.perf_counter()
        process = subprocess.Popen(
            command,
            cwd=self.cwd,
            env=self._environ(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        first = self._answered(process.pid, began) if asks else None
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"{command[1:3]} ended with {process.returncode}")
        wall = 1_000 * (time.perf_counter() - began)
        cpu = 1_000 * (used.ru_utime + used.ru_stime)
        return Run(Cost(wall, cpu, used.ru_maxrss / 1024), first)

    def _answered(self, pid: int, began: float) -> Cost:
        connection, _ = self.server.accept()
        with connection, connection.makefile("rb") as request:
            head = iter(request.readline, b"\r\n")
            length = next(int(line[15:]) for line in head if line[:15].lower() == _LENGTH)
            first = _used(pid, began)
            for _ in head:
                pass
            request.read(length)
            body = "".join(
                f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in EVENTS
            )
            connection.sendall(
                b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n"
                b"content-length: %d\r\n\r\n%b" % (len(body), body.encode())
            )
        return first

    def _environ(self) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "PYTHONPATH": str(ROOT),
            "ANTHROPIC_API_KEY": "none",
            "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{self.server.getsockname()[1]}",
        }


_LENGTH = b"content-length:"
_BODY = "".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in EVENTS)
_ANSWER = (
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n"
    f"content-length: {len(_BODY)}\r\n\r\n{_BODY}"
).encode()


def _used(pid: int, began: float) -> Cost:
    """What a living process has used: its own clock, which counts all its threads."""
    wall = time.perf_counter() - began
    cpu = time.clock_gettime((~pid << 3) | 2)  # as clock_getcpuclockid(3) says it, Linux only
    peak = re.search(r"VmHWM:\s*(\d+)", Path(f"/proc/{pid}/status").read_text())
    return Cost(1_000 * wall, 1_000 * cpu, int(peak[1]) / 1024 if peak else 0.0)


def _line(what: str, costs: Sequence[Cost], floor: Sequence[Cost] | None = None) -> str:
    fields = (("wall", "ms"), ("cpu", "ms"), ("memory", "MB"))
    told = [f"{what:<28}"]
    for name, unit in fields:
        middle = _middle(name, costs)
        told.append(f"{middle:>8.0f} {unit}")
        times = "" if floor is None else f" ({middle / _middle(name, floor):.2f})"
        told.append(f"{times:<8}")
    return "".join(told)


def _middle(name: str, costs: Sequence[Cost]) -> float:
    return float(median(getattr(each, name) for each in costs))


def main(repetitions: int) -> None:
    found: dict[str, list[Run]] = {name: [] for name in (*ASKING, *SILENT)}
    with (
        tempfile.TemporaryDirectory(prefix="interlock-bench-") as folder,
        socket.create_server(("127.0.0.1", 0)) as server,
    ):
        server.settimeout(PATIENCE_S)
        cwd, home = Path(folder, "work"), Path(folder, "home")
        cwd.mkdir()
        home.mkdir()
        world = World(server, cwd, home)
        for at in range(repetitions + 1):
            for name, command in (*ASKING.items(), *SILENT.items()):
                run = world.run(command, asks=name in ASKING)
                if at:  # the first time bytecode is written, and files come from the disk
                    found[name].append(run)
    first = {name: [run.first for run in found[name] if run.first] for name in ASKING}
    whole = {name: [run.whole for run in runs] for name, runs in found.items()}
    print(f"median of {repetitions}; in parentheses times the bare script\n")
    print(f"{'':<28}{'wall':>11}{'cpu':>19}{'memory':>19}")
    print(_line("bare, to its first request", first["bare"]))
    print(_line("interlock -p, to its first", first["interlock"], first["bare"]))
    print(_line("bare, whole", whole["bare"]))
    print(_line("interlock -p, whole", whole["interlock"], whole["bare"]))
    print(_line("python -c pass", whole["python"]))
    print(_line("interlock --help", whole["--help"]))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=10)
    main(parser.parse_args().repetitions)
