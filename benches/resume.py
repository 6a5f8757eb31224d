"""Resume of a large session: time and memory against the file's size: `python benches/resume.py`.

Writes a transcript of 12,000 rounds, 200 MB, with a compaction near its end, as a long session
leaves one; another of the same end alone; and one without any compaction. Each is opened in a
process of its own, as the command line does it, up to where the first prompt could be sent; then
the prompts are listed that a rewind could go back to, those before a compaction among them.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

from interlock.home import project_key

ROOT = Path(__file__).parent.parent
KEPT_FROM = 11_900  # the round behind which the history was compacted

_OPENER = """
import anyio, json, resource, sys, time

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

from pathlib import Path
from interlock.assembly import open_agent
from interlock.model import preload
from interlock.options import Options, Resume
from interlock.permissions import NobodyAsks
from interlock.home import SessionPaths
from interlock.sessions import points_of
from interlock.settings import Settings

def agent_path(home, work, session):
    return SessionPaths.of(home, Path(work), session).transcript

preload().join()

async def main(home, work, session):
    settings = Settings.of({"INTERLOCK_HOME": home, "ANTHROPIC_API_KEY": "none"})
    async def opened(resume):
        options = Options(cwd=Path(work), model="claude-sonnet-4-5", resume=resume)
        began = time.perf_counter()
        async with open_agent(options, settings, asker=NobodyAsks()) as agent:
            return time.perf_counter() - began, len(agent._messages)
    fresh, _ = await opened(None)
    before = peak()
    took, messages = await opened(Resume(session=session))
    found = {"fresh": fresh, "s": took, "messages": messages, "mb": peak(),
             "more": peak() - before}
    before, began = peak(), time.perf_counter()
    points = points_of(agent_path(settings.home, work, session)).points
    found |= {"points": len(points), "listed": time.perf_counter() - began,
              "points_mb": peak() - before}
    print(json.dumps(found))

anyio.run(main, *sys.argv[1:])
"""


def uuid(number: int) -> str:
    return str(UUID(int=(4 << 76) | (8 << 60) | number))


def _line(kind: str, number: int, parent: int | None, **more: object) -> bytes:
    ids = {"uuid": uuid(number), "parentUuid": None if parent is None else uuid(parent)}
    return json.dumps({"type": kind, **ids, "sessionId": "s", **more}).encode() + b"\n"


def lines(rounds: range, *, compacted: bool) -> Iterator[bytes]:
    """Three lines a round: a question, a call, sixteen thousand characters of result."""
    parent: int | None = None
    for n in rounds:
        ask, call, answer = 10 * n + 1, 10 * n + 2, 10 * n + 3
        use = {"type": "tool_use", "id": f"toolu_{n}", "name": "Bash", "input": {"command": "x"}}
        got = {"type": "tool_result", "tool_use_id": f"toolu_{n}", "content": "z" * 16_000}
        yield _line("user", ask, parent, message={"role": "user", "content": f"q {n}"})
        body = {"id": f"m{n}", "role": "assistant", "content": [use], "stop_reason": "tool_use"}
        yield _line("assistant", call, ask, message=body)
        yield _line("user", answer, call, message={"role": "user", "content": [got]})
        parent = answer
        if compacted and n == KEPT_FROM:
            mark, summary = 10 * n + 4, 10 * n + 5
            yield _line(
                "system", mark, None, subtype="compact_boundary", logicalParentUuid=uuid(answer)
            )
            said = {"role": "user", "content": "all of it"}
            yield _line("user", summary, mark, isCompactSummary=True, message=said)
            parent = summary


def opened(home: Path, work: Path, session: str) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-c", _OPENER, str(home), str(work), session],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        check=True,
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main(folder: str | None) -> None:
    with tempfile.TemporaryDirectory(dir=folder) as name:
        home, work = Path(name) / "home", Path(name) / "work"
        work.mkdir()
        sessions = home / "projects" / project_key(work)
        sessions.mkdir(parents=True)
        kinds = {
            "compacted near its end": lines(range(12_000), compacted=True),
            "the same end alone": lines(range(KEPT_FROM, 12_000), compacted=True),
            "a tenth, never compacted": lines(range(1_200), compacted=False),
        }
        print(
            f"{'transcript':<26}{'file':>9}{'messages':>10}{'time':>9}{'beyond a new session':>24}"
            f"{'rewind: prompts':>24}"
        )
        for n, (what, written) in enumerate(kinds.items()):
            path = sessions / f"{uuid(10**9 + n)}.jsonl"
            with path.open("wb") as file:
                file.writelines(written)
            found = opened(home, work, path.stem)
            print(
                f"{what:<26}{path.stat().st_size / 1e6:>6.0f} MB{found['messages']:>10.0f}"
                f"{found['s'] * 1000:>6.0f} ms{(found['s'] - found['fresh']) * 1000:>8.0f} ms"
                f"{found['more']:>7.1f} of {found['mb']:.0f} MB"
                f"{found['points']:>9.0f} in {found['listed'] * 1000:.0f} ms,"
                f" {found['points_mb']:.1f} MB"
            )
            path.unlink()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", help="where to write the files")
    main(parser.parse_args().folder)
