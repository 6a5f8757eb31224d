"""`interlock worktrees`: what agents have left is listed, and only the empty ones go."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest

from interlock.worktrees import Wanted, Worktree, ground_of, made, planned
from tests.worktrees.repositories import branches, repository, sh

ROOT = Path(__file__).parents[2]


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return repository(tmp_path / "repo")


async def tree(repo: Path, name: str) -> Worktree:
    wanted = Wanted(name=name, session_id="s", agent_id="a", description=f"Do {name}!")
    return await made(planned(repo.parent / "home", wanted, await ground_of(repo)))


def command(cwd: Path, *words: str) -> tuple[int, str, str]:
    home = Path(os.environ["PYTEST_HOME"])
    done = subprocess.run(
        [sys.executable, "-m", "interlock", "worktrees", *words],
        cwd=cwd,
        env={**os.environ, "INTERLOCK_HOME": str(home), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_HOME", str(tmp_path / "home"))


async def test_the_list_says_what_is_in_each_and_changes_nothing(repo: Path) -> None:
    empty, full = await tree(repo, "one"), await tree(repo, "two")
    (full.path / "new.txt").write_text("x")

    code, out, err = command(repo, "list")

    assert (code, err) == (0, "")
    assert "Do one!: Its worktree is" in out
    assert "nothing is in it, and `interlock worktrees clean` takes it" in out
    assert "untracked: new.txt" in out
    assert empty.path.exists()


async def test_clean_takes_the_empty_ones_with_their_branches(repo: Path) -> None:
    empty, full = await tree(repo, "one"), await tree(repo, "two")
    sh("echo x > x; git add x; git commit -qm kept", full.path)

    code, out, _ = command(repo, "clean", "--json")

    became: list[dict[str, Any]] = orjson.loads(out)
    assert code == 0
    assert [one["gone"] for one in became] == [True, False]
    assert became[1]["commits"][0]["subject"] == "kept"
    assert branches(repo) == [full.branch, "main"]
    assert not empty.path.exists()
    assert not empty.record.exists()


def test_outside_of_a_repository_it_says_so(tmp_path: Path) -> None:
    code, out, err = command(tmp_path)

    assert (code, out) == (1, "")
    assert err.count("\n") == 1
    assert "is in no git repository" in err
    assert command(tmp_path, "--all")[:2] == (0, "no agent has left a worktree\n")


async def test_one_that_a_program_was_killed_while_making_is_no_work(repo: Path) -> None:
    from interlock.worktrees.record import write

    wanted = Wanted(name="x")
    write(planned(repo.parent / "home", wanted, await ground_of(repo)))

    code, out, _ = command(repo, "clean")

    assert code == 0
    assert "it is gone" in out
    assert branches(repo) == ["main"]
