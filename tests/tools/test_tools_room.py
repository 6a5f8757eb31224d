"""Outputs kept in files never take the last part of a disk."""

from __future__ import annotations

from pathlib import Path

from interlock.tools.background_log import Log
from interlock.tools.excerpt import Excerpt, shortened
from interlock.tools.room import has_room
from tests.sessions.disks import files_of_at_most


def nowhere(folder: Path, size: int) -> bool:
    return False


def at_first(folder: Path, size: int) -> bool:
    return not any(one.stat().st_size for one in folder.iterdir()) if folder.exists() else True


def test_a_disk_has_room_for_a_little_and_not_for_more_than_there_is(tmp_path: Path) -> None:
    assert has_room(tmp_path / "not" / "made yet", 1)
    assert not has_room(tmp_path, 1 << 62)


def test_where_no_room_is_no_file_is_begun_and_that_is_said(tmp_path: Path) -> None:
    excerpt = Excerpt(100, tmp_path / "new" / "out", room=nowhere)
    log = Log(tmp_path / "new" / "log", room=nowhere)

    excerpt.add("x" * 1_000)
    excerpt.close()
    log.add("x" * 1_000)

    why = "could not be saved: under 16 MiB are free on its disk"
    assert f"the whole {why}" in excerpt.text()
    assert why in log.since(0, 100).text
    assert list(tmp_path.iterdir()) == []


def test_where_room_runs_short_the_first_part_is_kept_and_named(tmp_path: Path) -> None:
    excerpt = Excerpt(100, tmp_path / "a" / "out", room=at_first)
    log = Log(tmp_path / "b" / "log", room=at_first)

    for kept in (excerpt, log):
        kept.add("x" * 100_000)
        kept.add("y" * 100_000)
    excerpt.close()

    why = "because under 16 MiB are free on its disk"
    assert f"the first 100000 characters of all are in {tmp_path}/a/out, no more {why}" in (
        excerpt.text()
    )
    assert f"{tmp_path}/b/log, more is not kept {why}" in log.since(0, 100).text
    assert (tmp_path / "a/out").read_text() == (tmp_path / "b/log").read_text() == "x" * 100_000
    log.close()


def test_a_file_that_could_not_be_written_whole_is_given_back(tmp_path: Path) -> None:
    log = Log(tmp_path / "log")
    with files_of_at_most(5_000):
        small = shortened("x" * 6_000, 1_000, tmp_path / "small")  # found out on closing only
        large = shortened("x" * 100_000, 1_000, tmp_path / "large")
        for _ in range(3):
            log.add("x" * 4_000)

    assert "the whole could not be saved: File too large" in small
    assert "the whole could not be saved: File too large" in large
    assert "could not be saved: File too large" in log.since(0, 100).text
    assert [(one.name, one.stat().st_size) for one in tmp_path.iterdir()] == [("log", 0)]
    log.close()
