"""What is put back beside a summary."""

from __future__ import annotations

import os
from pathlib import Path

from attrs import frozen

from interlock.context.keepsakes import Keepsake, RecentFiles
from interlock.context.smaller import weight
from interlock.testing import says as writes
from phases.world.limits import Limits
from phases.world.messages import Kind
from tests.context.sessions import rounds
from tests.context.summaries import summarised, words


@frozen
class Listed:
    """Keepsakes as a list."""

    items: tuple[Keepsake, ...]

    async def keepsakes(self, budget: int) -> tuple[Keepsake, ...]:
        return self.items


def test_keepsakes_follow_the_summary_in_one_note() -> None:
    plan = Listed((Keepsake("Plan", "1. mend it"),))

    made = summarised(rounds(1), writes("s"), keepsakes=(plan,))

    summary, kept = made.view
    assert (summary.kind, kept.kind) == (Kind.SUMMARY, Kind.NOTE)
    assert "Plan:\n1. mend it" in words((kept,))


def test_keepsakes_have_a_budget() -> None:
    many = Listed(tuple(Keepsake(f"Part {at}", "k" * 30_000) for at in range(50)))

    made = summarised(rounds(1), writes("s"), keepsakes=(many,))

    assert "Part 0" in words(made.view)
    assert "Part 49" not in words(made.view)
    assert weight(made.view) < Limits().keepsake_budget + 2_000


def test_the_files_that_were_read_last_are_put_back(tmp_path: Path) -> None:
    (tmp_path / "new.py").write_text("NEW = 1\n")
    (tmp_path / "old.py").write_text("OLD = 1\n" + "#" * 90_000)
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\0\0")
    (tmp_path / "forbidden.py").write_text("FORBIDDEN = 1\n")
    os.mkfifo(tmp_path / "pipe.py")
    names = ("new.py", "gone.py", "picture.png", "forbidden.py", "pipe.py", "old.py")
    files = RecentFiles(
        lambda: [tmp_path / name for name in names],
        Limits(),
        hides=lambda path: path.name == "forbidden.py",
    )

    kept = words(summarised(rounds(1), writes("s"), keepsakes=(files,)).view)

    assert "NEW = 1" in kept
    assert kept.index("new.py") < kept.index("old.py")
    assert "[cut here; read the file for the rest]" in kept
    assert "gone.py" not in kept
    assert "picture.png" not in kept
    assert "forbidden.py" not in kept
    assert "pipe.py" not in kept
