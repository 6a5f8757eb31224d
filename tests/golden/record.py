"""Record the golden traces anew: `make golden`. With `recordings` those of whole runs as well.

A recording holds the ids and times of its day, so one is made anew only where the ports, or what
is written, have changed.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

from fsm import TraceWriter
from interlock.recording.form import written
from interlock.testing import Played
from tests.agent.support import Room
from tests.golden.stories import STORIES
from tests.recording.stories import RUNS

FOLDER = Path(__file__).parent


def write(run: Played, path: Path) -> None:
    """Write the trace of `run` to a fresh file."""
    path.unlink(missing_ok=True)
    with TraceWriter(run.trace.header, path) as writer:
        for record in run.trace:
            writer.write(record)


def main() -> None:
    for name, story in STORIES.items():
        write(story(), FOLDER / f"{name}.trace.jsonl")
        print(f"recorded {name}")
    for name, run in RUNS.items() if "recordings" in sys.argv else ():
        with tempfile.TemporaryDirectory() as folder:
            room = Room.made(Path(folder))
            recording = asyncio.run(run(room))
        # Of the same length, so that no size in it changes: where it was made says nothing.
        elsewhere = "/home/sample/project".ljust(len(str(room.work)), "1")
        text = written(recording).replace(str(room.work).encode(), elsewhere.encode())
        (FOLDER / f"{name}.recording.jsonl").write_bytes(text)
        print(f"recorded the run {name}")


if __name__ == "__main__":
    main()
