"""Record the golden traces anew: `make golden`."""

from __future__ import annotations

from pathlib import Path

from fsm import TraceWriter
from interlock.testing import Played
from tests.golden.stories import STORIES

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


if __name__ == "__main__":
    main()
