"""A hundred rules and a hundred folders with notes: each is told once, and looked at but once."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from interlock.memory import LazyNotes, Places


def test_a_hundred_deep_files_and_a_hundred_rules_are_told_at_once(tmp_path: Path) -> None:
    home, work = tmp_path / "home", tmp_path / "work"
    rules = work / ".claude" / "rules"
    rules.mkdir(parents=True)
    files = []
    for n in range(100):
        folder = work.joinpath(*(f"d{depth}" for depth in range(n % 25)), f"m{n}")
        folder.mkdir(parents=True)
        (folder / "CLAUDE.md").write_text(f"NOTE {n}.")
        (rules / f"{n}.md").write_text(f'---\npaths: "**/m{n}/*.py"\n---\nRULE {n}.')
        files.append(folder / "a.py")
    looked_at: Counter[Path] = Counter()

    def freely(path: Path) -> None:
        looked_at[path] += 1

    notes = LazyNotes.of(Places(cwd=work, home=home, withheld=freely))
    looked_at.clear()

    text = notes.touched(files) or ""

    assert [text.count(f"NOTE {n}.") for n in range(100)] == [1] * 100
    assert [text.count(f"RULE {n}.") for n in range(100)] == [1] * 100
    # As it is looked for, and as it is told; not for each of the files.
    assert max(looked_at.values()) <= 2
