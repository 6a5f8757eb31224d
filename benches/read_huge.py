"""Read of a huge file's lines: time and memory, beside `tail`: `python benches/read_huge.py`.

Writes a file of real lines and deletes it. Each way of asking runs in a process of its own, whose
peak memory is measured against one that reads a small file. The goal: under 50 MB more.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import anyio

_READER = """
import anyio, json, resource, sys, time
from pathlib import Path
from interlock.tools import FileReads, ToolContext
from interlock.tools.read import Read
from phases.world.limits import Limits

async def main(path, arguments):
    folder = Path(path).resolve().parent
    context = ToolContext(
        cwd=folder, root=folder, limits=Limits(), reads=FileReads(), spill=folder / "spill"
    )
    began = time.perf_counter()
    output = await Read().run({"file_path": path, **arguments}, context)
    took = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"s": took, "mb": peak, "last": output.content.split("\\n")[0][:40]}))

anyio.run(main, sys.argv[1], json.loads(sys.argv[2]))
"""


def write(path: Path, size: int) -> int:
    """Lines of 80 bytes; how many."""
    block = 50_000
    with path.open("wb") as file:
        number = 0
        while number * 80 < size:
            file.write(b"".join(b"%012d %066d\n" % (n, n) for n in range(number, number + block)))
            number += block
    return number


async def ask(path: Path, **arguments: int) -> dict[str, float]:
    done = await anyio.run_process(
        [sys.executable, "-c", _READER, str(path), json.dumps(arguments)],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)},
        stderr=None,
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def tail(path: Path, *options: str) -> float:
    began = time.perf_counter()
    subprocess.run(["tail", *options, str(path)], stdout=subprocess.PIPE, check=True)
    return time.perf_counter() - began


async def main(gigabytes: float, folder: str) -> None:
    with tempfile.TemporaryDirectory(dir=folder) as name:
        small, huge = Path(name, "small.txt"), Path(name, "huge.txt")
        small.write_text("one\n")
        count = write(huge, int(gigabytes * (1 << 30)))
        print(f"{huge.stat().st_size / 1e9:.2f} GB, {count:,} lines")
        floor = (await ask(small))["mb"]
        questions: dict[str, dict[str, int]] = {
            "first lines": {"limit": 20},
            "last 20 lines": {"offset": -20},
            "20 lines near the end, by number": {"offset": count - 19, "limit": 20},
        }
        for what, arguments in questions.items():
            found = await ask(huge, **arguments)
            print(f"{what:34} {found['s']:8.3f} s   {found['mb'] - floor:+6.1f} MB")
        print(f"{'tail -n 20':34} {tail(huge, '-n', '20'):8.3f} s")
        print(f"{'tail -n +N':34} {tail(huge, '-n', f'+{count - 19}'):8.3f} s")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=2.0)
    parser.add_argument("--folder", default=tempfile.gettempdir(), help="where the file goes")
    chosen = parser.parse_args()
    anyio.run(main, chosen.gigabytes, chosen.folder)
