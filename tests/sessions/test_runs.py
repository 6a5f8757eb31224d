"""Finding recorded runs by name."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from interlock.errors import RunNotFound
from interlock.home import SessionPaths
from interlock.sessions.runs import find_runs, one_run


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Two sessions of this folder with runs ab1, ab2 and cd1, and one of another folder."""
    (tmp_path / "here").mkdir()
    made = [("here", "s1", "ab1"), ("here", "s1", "ab2"), ("here", "t2", "cd1")]
    for age, (folder, session, run) in enumerate([*made, ("there", "u3", "ef1")]):
        path = SessionPaths.of(tmp_path / "home", tmp_path / folder, session).trace(run)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}\n")
        os.utime(path, (1000 + age, 1000 + age))
    return tmp_path / "home"


def ids(home: Path, name: str, cwd: Path | None = None) -> list[str]:
    return [run.run_id for run in find_runs(home, name, cwd or home.parent / "here")]


def test_a_run_is_found_by_its_id_or_a_beginning_that_fits_it_alone(home: Path) -> None:
    assert ids(home, "cd1") == ["cd1"]
    assert ids(home, "c") == ["cd1"]


def test_a_session_means_all_its_runs_in_order(home: Path) -> None:
    assert ids(home, "s1") == ids(home, "s") == ["ab1", "ab2"]


def test_last_is_the_newest_of_this_folder_else_of_all(home: Path) -> None:
    assert ids(home, "last") == ["cd1"]
    assert ids(home, "last", home) == ["ef1"]


def test_a_path_needs_no_home(home: Path, tmp_path: Path) -> None:
    path = next(home.glob("projects/*/t2/runs/*"))

    (run,) = find_runs(tmp_path / "nowhere", str(path), tmp_path)

    assert (run.run_id, run.session_id, run.path) == ("cd1", "t2", path)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("ab", "fits 2 runs or sessions: ab1, ab2"),
        ("zz", "there is none; the newest are: ef1, cd1, ab2, ab1"),
        ("./gone", "there is no such file"),
    ],
)
def test_any_other_name_is_one_clear_error(home: Path, name: str, words: str) -> None:
    with pytest.raises(RunNotFound, match=words):
        ids(home, name)


def test_one_run_is_asked_for_where_a_session_has_several(home: Path) -> None:
    with pytest.raises(RunNotFound, match="is a session of 2 runs, name one: ab2, ab1"):
        one_run(home, "s1", home.parent / "here")


def test_an_empty_home_says_how_a_run_is_made(tmp_path: Path) -> None:
    with pytest.raises(RunNotFound, match=r"no run is recorded under .*; make one with"):
        find_runs(tmp_path, "last", tmp_path)
