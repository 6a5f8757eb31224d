"""Grep against the bare ripgrep process on a large tree: `python benches/grep_tree.py`.

Builds a tree of real files, then asks both the same questions in turn, so that both find the
files in the page cache, and compares the medians. The goal is a ratio of 1.2.
"""

from __future__ import annotations

import argparse
import random
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import anyio

from interlock.tools import FileReads, ToolContext
from interlock.tools.grep import Grep
from interlock.tools.search import COMMON, find_rg
from phases.world.limits import Limits

_WORDS = [
    "alpha",
    "beta",
    "gamma",
    "delta",
    "session",
    "transcript",
    "recovery",
    "reducer",
    "guard",
    "phase",
]


def tree(folder: Path, files: int) -> int:
    """Make the files; their bytes."""
    letters, size = random.Random(7), 0
    for number in range(files):
        path = folder / f"p{number % 97:02}" / f"q{number % 13:02}" / f"m{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [" ".join(letters.choices(_WORDS, k=8)) for _ in range(60)]
        if number % 400 == 0:
            lines[30] = "def needle(haystack):"
        path.write_text("\n".join(lines))
        size += path.stat().st_size
    return size


def bare(folder: Path, *options: str) -> float:
    began = time.perf_counter()
    subprocess.run(
        [find_rg(), *COMMON, *options, "./"], cwd=folder, stdout=subprocess.PIPE, check=True
    )
    return time.perf_counter() - began


async def ours(folder: Path, **arguments: Any) -> float:
    context = ToolContext(
        cwd=folder, root=folder, limits=Limits(), reads=FileReads(), spill=folder / "spill"
    )
    began = time.perf_counter()
    await Grep().run(arguments, context)
    return time.perf_counter() - began


async def main(files: int, rounds: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        size = tree(folder, files)
        print(f"{files:,} files, {size / 1e6:.0f} MB, medians of {rounds}")
        questions: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
            "files with matches": (
                ("--files-with-matches", "-e", "needle"),
                {"pattern": "needle"},
            ),
            "lines": (
                ("--line-number", "--with-filename", "--no-heading", "-e", "needle"),
                {"pattern": "needle", "output_mode": "content"},
            ),
            "a great many lines": (
                ("--line-number", "-e", "alpha|nowhere_at_all_x"),
                {"pattern": "alpha|nowhere_at_all_x", "output_mode": "content"},
            ),
        }
        for what, (options, arguments) in questions.items():
            theirs, own = [], []
            for _ in range(rounds + 1):  # the first warms the cache
                theirs.append(bare(folder, *options))
                own.append(await ours(folder, **arguments))
            bare_s, own_s = statistics.median(theirs[1:]), statistics.median(own[1:])
            print(f"{what:20} rg {bare_s:.3f} s   Grep {own_s:.3f} s   {own_s / bare_s:.2f} x")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=7)
    chosen = parser.parse_args()
    anyio.run(main, chosen.files, chosen.rounds)
