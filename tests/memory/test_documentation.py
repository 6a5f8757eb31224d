"""docs/memory.md names the numbers and files of the code."""

from __future__ import annotations

from pathlib import Path

import pytest

from interlock.memory import auto, files, note_file, reading
from interlock.memory.relevant import LARGEST, MOST_FOUND

TOLD = (Path(__file__).parents[2] / "docs" / "memory.md").read_text()


@pytest.mark.parametrize(
    "words",
    [
        *(f"`{name}`" for name in (*files.NAMES, files.LOCAL, auto.INDEX)),
        f"the first {note_file.LARGEST:,} bytes are told, of all together {reading.MOST:,}",
        f"followed {reading.DEEPEST} deep",
        f"the first {auto.MOST_LINES} lines or {auto.MOST_BYTES:,} bytes",
        f"At most {MOST_FOUND} are told",
        f"{LARGEST:,} bytes\n  of each",
    ],
)
def test_it_says_what_the_code_says(words: str) -> None:
    assert words in TOLD
