"""Bash printing gigabytes: extra memory and time, beside a reader that does nothing.

    python benches/bash_flood.py [--gib 4] [--json]

The floor is a bare loop over `os.read` on the same pipe, which throws everything away; Bash
decodes, cleans up, keeps both ends and saves the first 64 MiB. Each runs in a process of its
own, so that the peak of its memory is its own.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

_COMMANDS = {
    "ASCII lines": "yes 'one line of a build that says the same all the time' | head -c {size}",
    "no line end": "head -c {size} /dev/zero | tr '\\0' x",
    "UTF-8 lines": "yes 'eine Zeile mit ä, ö und 你好, wie sie auch vorkommt' | head -c {size}",
}


def peak() -> int:
    """Bytes of memory this process has had at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def bare(command: str) -> dict[str, float]:
    before, begun = peak(), time.perf_counter()
    with subprocess.Popen(["bash", "-c", command], stdout=subprocess.PIPE, bufsize=0) as process:
        assert process.stdout is not None
        read = 0
        while chunk := os.read(process.stdout.fileno(), 1 << 16):
            read += len(chunk)
    return {"bytes": read, "seconds": time.perf_counter() - begun, "extra": peak() - before}


def ours(command: str) -> dict[str, float]:
    from interlock.tools import Bash, FileReads, ShellSettings, ToolContext
    from phases.world.limits import Limits

    shown = 0

    def progress(text: str) -> None:
        nonlocal shown
        shown += len(text)

    async def run() -> dict[str, float]:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            context = ToolContext(
                cwd=folder,
                root=folder,
                limits=Limits(),
                reads=FileReads(),
                spill=folder,
                progress=progress,
            )
            bash = Bash(ShellSettings(max_timeout=3_600))
            await bash.run({"command": "true"}, context)
            before, begun = peak(), time.perf_counter()
            output = await bash.run({"command": command, "timeout": 3_600_000}, context)
            seconds = time.perf_counter() - begun
            bash.close()
            assert not output.is_error, output.content
            return {"seconds": seconds, "extra": peak() - before, "shown": shown}

    return asyncio.run(run())


def measured(way: str, command: str) -> dict[str, float]:
    """What one way measures, in a fresh process."""
    argv = [sys.executable, __file__, "--way", way, "--command", command]
    told = subprocess.run(argv, check=True, capture_output=True, text=True)
    result: dict[str, float] = json.loads(told.stdout)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gib", type=float, default=4)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--way", choices=("bare", "ours"), help=argparse.SUPPRESS)
    parser.add_argument("--command", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.way:
        print(json.dumps({"bare": bare, "ours": ours}[asked.way](asked.command)))
        return
    size = int(asked.gib * (1 << 30))
    rows = {}
    for name, command in _COMMANDS.items():
        line = command.format(size=size)
        rows[name] = {way: measured(way, line) for way in ("bare", "ours")}
    if asked.json:
        print(json.dumps(rows))
        return
    print(f"{asked.gib:g} GiB printed by one command; memory beyond what the process had before")
    print("| output | bare reader | Bash | extra memory |")
    print("| --- | --- | --- | --- |")
    for name, row in rows.items():
        floor, own = row["bare"], row["ours"]
        print(
            f"| {name} | {floor['seconds']:.2f} s | {own['seconds']:.2f} s"
            f" | {own['extra'] / (1 << 20):.1f} MiB |"
        )


if __name__ == "__main__":
    main()
