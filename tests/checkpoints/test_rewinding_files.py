"""Checkpoints of files, and the way back to them: what goes back, and what is left."""

from __future__ import annotations

import os
import signal
import stat
from pathlib import Path

import pytest

from interlock.checkpoints import Checkpoints, carry_over
from interlock.checkpoints.plan import Back, Left, Plan
from interlock.checkpoints.restore import present
from interlock.tools import disk
from tests.checkpoints.changes import change, checkpoints_in, plan_to, rewind


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = Path(os.path.realpath(tmp_path)) / "work"
    folder.mkdir()
    return folder


def test_a_file_goes_back_to_before_the_first_change_after_the_prompt(work: Path) -> None:
    kept, file = checkpoints_in(work), work / "a.txt"
    file.write_text("one")
    kept.begin("p1")
    change(kept, file, "two")
    kept.begin("p2")
    change(kept, file, "three")
    change(kept, file, "four")

    assert rewind(kept, "p2", "r1").left == ()
    assert file.read_text() == "two"
    assert rewind(kept, "p1", "r2").left == ()
    assert file.read_text() == "one"
    assert rewind(kept, "r1", "r3").left == ()
    assert file.read_text() == "four"


def test_a_file_keeps_its_mode_and_one_that_was_removed_gets_its_own_again(work: Path) -> None:
    kept, file = checkpoints_in(work), work / "run.sh"
    file.write_text("one")
    file.chmod(0o750)
    kept.begin("p1")
    change(kept, file, "two")
    file.unlink()  # by somebody else

    (left,) = rewind(kept, "p1", "r1").left
    assert left == Left(path=file, why="somebody else, or a command, removed it", can_force=True)
    rewind(kept, "p1", "r2", file)

    assert file.read_text() == "one"
    assert stat.S_IMODE(file.stat().st_mode) == 0o750


def test_a_file_that_the_agent_made_goes_with_the_folders_it_made(work: Path) -> None:
    kept, file = checkpoints_in(work), work / "new" / "deep" / "a.txt"
    kept.begin("p1")
    change(kept, file, "one")
    (work / "new" / "mine.txt").write_text("somebody else's")

    rewind(kept, "p1", "r1")

    assert (work / "new" / "mine.txt").read_text() == "somebody else's"
    assert not (work / "new" / "deep").exists()
    rewind(kept, "r1", "r2")
    assert file.read_text() == "one"


def test_what_somebody_wrote_between_two_changes_is_not_passed_over(work: Path) -> None:
    kept, file = checkpoints_in(work), work / "a.txt"
    file.write_text("one")
    kept.begin("p1")
    change(kept, file, "two")
    file.write_text("two, and mine")
    change(kept, file, "three, and mine")

    (left,) = rewind(kept, "p1", "r1").left

    assert "between the agent's own changes" in left.why
    assert file.read_text() == "three, and mine"
    rewind(kept, "p1", "r2", file)
    assert file.read_text() == "one"
    rewind(kept, "r2", "r3")
    assert file.read_text() == "three, and mine"


@pytest.mark.parametrize("made", [False, True], ids=["before the change", "after it"])
def test_a_kill_around_a_change_loses_nothing(work: Path, made: bool) -> None:
    """The process ends by kill -9 between two of its steps."""
    kept, file = checkpoints_in(work), work / "a.txt"
    file.write_text("one")
    child = os.fork()
    if child == 0:
        kept.begin("p1")
        kept.before_change(file, b"one", b"two")
        if made:
            disk.replace(file, b"two", b"one")
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    after = checkpoints_in(work)

    assert file.read_text() == ("two" if made else "one")
    after.begin("p2")
    change(after, file, "three")
    assert rewind(after, "p1", "r1").left == ()
    assert file.read_text() == "one"


def test_a_torn_line_at_the_end_of_the_log_costs_its_change_alone(work: Path) -> None:
    kept, file = checkpoints_in(work), work / "a.txt"
    file.write_text("one")
    kept.begin("p1")
    change(kept, file, "two")
    with kept.log.open("ab") as log:
        log.write(b'{"point": "p1", "pa')
    kept.begin("p2")
    change(kept, file, "three")

    assert rewind(kept, "p1", "r1").left == ()
    assert file.read_text() == "one"


def test_nothing_is_written_through_a_link_that_leads_elsewhere_now(work: Path) -> None:
    kept, file, other = checkpoints_in(work), work / "in" / "a.txt", work / "other"
    kept.begin("p1")
    file.parent.mkdir()
    file.write_text("one")
    change(kept, file, "two")
    file.parent.rename(work / "moved")
    other.mkdir()
    (other / "a.txt").write_text("two")
    (work / "in").symlink_to(other)

    (left,) = rewind(kept, "p1", "r1", file).left

    assert "leads elsewhere now" in left.why
    assert (other / "a.txt").read_text() == "two"
    assert (work / "moved" / "a.txt").read_text() == "two"


def test_a_file_that_became_a_folder_a_link_or_unreadable_is_left(work: Path) -> None:
    kept = checkpoints_in(work)
    kept.begin("p1")
    for name in ("folder", "link"):
        change(kept, work / name, "two")
        (work / name).unlink()
    (work / "folder").mkdir()
    (work / "mine").write_text("two")
    (work / "link").symlink_to(work / "mine")

    done = rewind(kept, "p1", "r1")

    assert done.back == ()
    assert [left.path.name for left in done.left] == ["folder", "link"]
    assert (work / "mine").read_text() == "two"


def test_a_file_that_is_too_large_is_told_and_left(work: Path) -> None:
    kept, file = checkpoints_in(work, max_file=10), work / "a.txt"
    file.write_text("0123456789 and more")
    kept.begin("p1")
    change(kept, file, "two")

    (left,) = rewind(kept, "p1", "r1", file).left

    assert left.why == "what it held was not kept: it is larger than 10 bytes"
    assert file.read_text() == "two"


def test_what_could_not_be_undone_is_not_done(work: Path) -> None:
    kept, file = checkpoints_in(work, max_file=10), work / "a.txt"
    file.write_text("one")
    kept.begin("p1")
    change(kept, file, "0123456789 and more")

    (left,) = rewind(kept, "p1", "r1").left

    assert "could not be undone" in left.why
    assert file.read_text() == "0123456789 and more"


def test_each_content_is_kept_once_and_for_its_owner_alone(work: Path) -> None:
    kept = checkpoints_in(work)
    for name in ("a.txt", "b.txt"):
        (work / name).write_text("the same")
    kept.begin("p1")
    change(kept, work / "a.txt", "two")
    change(kept, work / "b.txt", "two")
    change(kept, work / "a.txt", "three")  # what the agent itself left needs no keeping

    found = list(kept.folder.iterdir())

    assert len(found) == 2  # one content, and the log
    assert {stat.S_IMODE(path.stat().st_mode) for path in found} == {0o600}
    assert stat.S_IMODE(kept.folder.stat().st_mode) == 0o700


def test_the_checkpoints_of_a_session_have_a_bound(work: Path) -> None:
    kept = checkpoints_in(work, max_all=6)
    kept.begin("p1")
    for name in ("a.txt", "b.txt"):
        (work / name).write_text(f"{name}"[:4])
        change(kept, work / name, "two")

    plan = plan_to(kept, "p1")

    assert [back.path.name for back in plan.back] == ["a.txt"]
    (left,) = plan.left
    assert "the checkpoints of this session have reached" in left.why


def test_a_content_that_was_damaged_is_not_put_anywhere(work: Path) -> None:
    kept, file = checkpoints_in(work), work / "a.txt"
    file.write_text("one")
    kept.begin("p1")
    change(kept, file, "two")
    (content,) = (path for path in kept.folder.iterdir() if path != kept.log)
    content.write_text("oNe")

    (left,) = rewind(kept, "p1", "r1").left

    assert left.why == "its earlier content is damaged"
    assert file.read_text() == "two"


def test_a_name_that_is_no_text_is_found_again(work: Path) -> None:
    kept, file = checkpoints_in(work), work / os.fsdecode(b"\xff\xfe.txt")
    file.write_text("one")
    kept.begin("p1")
    change(kept, file, "two")

    (back,) = rewind(kept, "p1", "r1").back

    assert back.path == file
    assert file.read_text() == "one"


def test_a_point_that_nobody_kept_is_unknown(work: Path) -> None:
    kept = checkpoints_in(work)
    kept.begin("p1")

    assert plan_to(kept, "p0") == Plan(unknown=True)
    assert plan_to(kept, "p1") == Plan()


def test_where_nothing_can_be_kept_the_change_is_made_and_told(work: Path) -> None:
    (work / "session").write_text("in the way")
    kept, file, told = checkpoints_in(work), work / "a.txt", list[object]()
    watching = kept.watching(told.append)
    kept.begin("p1")
    change(kept, file, "one")
    watching("anything")  # type: ignore[arg-type]

    assert file.read_text() == "one"
    assert "checkpoints cannot be kept" in str(told)


def test_a_branch_has_names_of_its_own_for_the_contents(work: Path) -> None:
    kept, file = checkpoints_in(work), work / "a.txt"
    file.write_text("one")
    kept.begin("p1")
    change(kept, file, "two")
    carry_over(work / "session", work / "branch")
    branch = Checkpoints.of(work / "branch")
    change(kept, file, "three")

    # What the other session did since is somebody else's here.
    (left,) = plan_to(branch, "p1").left
    assert left.can_force
    assert plan_to(kept, "p1").back == (
        Back(
            path=file,
            now=present(file).digest,
            to=branch.contents.put(b"one"),
            mode=stat.S_IMODE(file.stat().st_mode),
        ),
    )
