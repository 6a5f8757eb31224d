"""A job of 3,000 turns with large outputs, in a window of 200,000 tokens.

One prompt, one session, against a strict scripted server in another process (`long_server.py`)
that refuses a request over the window. Tells whether the job came to its end, what kept it inside
the window, and whether a turn costs at the end what it cost at the beginning: in CPU, in memory.
Prints; judges nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import mean, median
from typing import Any

import orjson
from attrs import define, field, frozen

from interlock.assembly import open_agent
from interlock.cli.logs import configure
from interlock.options import Options, PermissionMode
from interlock.permissions import NobodyAsks
from interlock.settings import Settings
from interlock.summary import RunSummary
from phases.world.limits import Limits
from phases.world.updates import Compaction, Notice, Recorded, RequestStarted, Update

MODEL, WINDOW, FILES = "claude-sonnet-4-5", 200_000, 60
SMALLEST, LARGEST = 2_000, 30_000  # characters of a result
SYSTEM = "You read what you are told to read."
PROMPT = "Read every part of this program, several times over, and say when you are done."


@frozen
class Place:
    """Where the job is done, and the server that it is done with."""

    url: str
    cwd: Path
    home: Path
    server: subprocess.Popen[str]

    def seen(self) -> dict[str, Any]:
        """What the server has seen; ends it."""
        assert self.server.stdin is not None
        assert self.server.stdout is not None
        self.server.stdin.close()
        told: dict[str, Any] = json.loads(self.server.stdout.readline())
        return told


@define
class Watch:
    """Notes what happens; called with every update of the run."""

    cpu: list[float] = field(factory=list)  # when each request of the loop began
    memory: dict[int, int] = field(factory=dict)  # MB, by turns done
    fullest: int = 0  # tokens the server counted in a request
    compactions: list[Compaction] = field(factory=list)
    notices: Counter[str] = field(factory=Counter)
    every: int = 1_000

    def __call__(self, update: Update) -> None:
        match update:
            case RequestStarted():
                if len(self.cpu) % self.every == 0 and len(self.memory) < 3:
                    self.memory[len(self.cpu)] = resident()
                self.cpu.append(time.process_time())
            case Recorded(message) if message.origin is not None:
                self.fullest = max(self.fullest, message.origin.usage.prompt_tokens)
            case Compaction():
                self.compactions.append(update)
            case Notice():
                # How full the window is differs each time: those are only counted.
                self.notices[update.text if update.level != "info" else "hints to the user"] += 1

    def spent(self, first: int, last: int) -> list[float]:
        """CPU of these turns, in milliseconds."""
        return [1_000 * (self.cpu[at + 1] - self.cpu[at]) for at in range(first, last)]


def resident() -> int:
    """Memory of this process in MB, now."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:  # not on Linux
        from resource import RUSAGE_SELF, getrusage

        return getrusage(RUSAGE_SELF).ru_maxrss // 1_000_000  # at most so far; macOS has bytes
    return pages * 4_096 // 1_000_000


# --- doing it --------------------------------------------------------------------------------


@contextmanager
def place(turns: int, *, thinks: bool) -> Iterator[Place]:
    """A server, files to read and a home; all gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="interlock-bench-") as folder:
        cwd, home = Path(folder, "work"), Path(folder, "home")
        cwd.mkdir()
        chance = random.Random(2)
        for number in range(FILES):
            size = round(SMALLEST * (LARGEST / SMALLEST) ** chance.random())
            (cwd / f"part{number}.py").write_text(_code(size, chance))
        script = str(Path(__file__).with_name("long_server.py"))
        asked = [f"--turns={turns}", f"--files={FILES}", f"--window={WINDOW}"]
        server = subprocess.Popen(
            [sys.executable, script, *asked, *(["--thinks"] if thinks else [])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        with server:  # closes its standard input, and waits
            assert server.stdout is not None
            yield Place(server.stdout.readline().strip(), cwd, home, server)


def _code(size: int, chance: random.Random) -> str:
    """Something like source text, no two files alike."""
    lines: list[str] = []
    while size > 0:
        name, number = f"value_{chance.randrange(10**6)}", chance.randrange(10**9)
        lines.append(f"    {name} = compute({number}, limit={number % 97})  # of {name[6:]}")
        size -= len(lines[-1]) + 8  # and the number that Read puts in front
    return "\n".join(lines) + "\n"


async def job(here: Place, watch: Watch, *, thinks: bool) -> tuple[RunSummary, Path]:
    """Do the job once; its summary, and its trace."""
    options = Options(
        cwd=here.cwd,
        model=MODEL,
        tools=("Read", "Bash"),
        system_prompt=SYSTEM,
        permission_mode=PermissionMode.BYPASS_PERMISSIONS,
    )
    settings = Settings(
        home=here.home,
        limits=Limits(context_window=WINDOW),
        own_limits=frozenset({"context_window"}),
        api_key="none",
        base_url=here.url,
        max_thinking_tokens=2_000 if thinks else None,
    )
    async with open_agent(options, settings, asker=NobodyAsks()) as agent:
        summary = await agent.prompt(PROMPT, watch)
        return summary, agent.paths.trace(summary.run_id)


def freed(trace: Path) -> dict[str, tuple[int, int]]:
    """What each level freed: how often, and how many tokens."""
    times: Counter[str] = Counter()
    tokens: Counter[str] = Counter()
    with trace.open("rb") as lines:
        for line in lines:
            record = orjson.loads(line)
            if record.get("outcome") != "Prepared":
                continue
            for one in record["payload"].get("freed", ()):
                times[one["level"]] += 1
                tokens[one["level"]] += one["tokens"]
    return {level: (count, tokens[level]) for level, count in times.items()}


# --- telling ---------------------------------------------------------------------------------


def told(
    turns: int, summary: RunSummary, watch: Watch, seen: dict[str, Any], trace: Path
) -> Iterator[str]:
    """The report, line by line."""
    usage, whole = summary.usage, summary.ok and summary.turns == turns
    yield (
        f"{summary.turns:,} of {turns:,} turns in {summary.duration_s:.0f} s; "
        + ("came to its end" if whole else f"ENDED EARLY: {summary.reason}, {summary.error_text}")
    )
    yield (
        f"{seen['requests']:,} requests, {len(seen['refused'])} refused; the fullest had "
        f"{watch.fullest:,} of {WINDOW:,} tokens; {seen['counts']} counts"
    )
    for problem in seen["refused"][:3]:
        yield f"  refused: {problem}"
    share = usage.cache_read_input_tokens / max(1, usage.prompt_tokens)
    yield f"cache: {share:.1%} of {usage.prompt_tokens:,} input tokens were read from it"
    count = len(watch.compactions)
    each = f", {seen['summaries'] / count:.2f} requests each" if count else ""
    yield f"compactions by a summary: {count}{each}"
    for level, (times, tokens) in sorted(freed(trace).items()):
        yield f"  {level:<14} {times:>5} times {tokens:>12,} tokens freed"
    yield "client CPU per turn   mean    median  (ms)"
    for words, (first, last) in _parts(len(watch.cpu)).items():
        spent = watch.spent(first, last)
        yield f"  {words:<18} {mean(spent):>6.2f}  {median(spent):>6.2f}"
    yield "memory: " + ", ".join(f"{mb} MB after {at:,}" for at, mb in watch.memory.items())
    for words, times in watch.notices.most_common(5):
        yield f"told: {words} ({times})"


def _parts(turns: int) -> dict[str, tuple[int, int]]:
    """A tenth of the turns at the beginning, in the middle, and at the end."""
    tenth, last = max(1, turns // 10), turns - 1
    # The first tenth fills the window: a turn costs less there than ever again.
    return {
        "the first": (0, tenth),
        "at the beginning": (tenth, 2 * tenth),
        "in the middle": (turns // 2, turns // 2 + tenth),
        "at the end": (max(0, last - tenth), last),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=3_000, help="default 3000")
    parser.add_argument("--thinks", action="store_true", help="all turns hang on one thinking")
    asked = parser.parse_args()
    configure(debug=False)  # as the command line does
    watch = Watch(every=max(1, asked.turns // 3))
    with place(asked.turns, thinks=asked.thinks) as here:
        summary, trace = asyncio.run(job(here, watch, thinks=asked.thinks))
        watch.memory[len(watch.cpu)] = resident()
        for line in told(asked.turns, summary, watch, here.seen(), trace):
            print(line)


if __name__ == "__main__":
    main()
