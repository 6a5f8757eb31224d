"""Paths that the system does not let be followed: not known, so asked, and never an error."""

from __future__ import annotations

from pathlib import Path

import pytest

from interlock.options import PermissionMode
from interlock.permissions import Judge, Rules, Update, UpdateKind, explain
from interlock.permissions.paths import real, real_or_written
from interlock.permissions.updates import updated
from tests.permissions.questions import bash, judged


@pytest.fixture
def barred() -> Path:
    """A link that may not be read: those of the first process, as a rule."""
    link = Path("/proc/1/root")
    try:
        link.readlink()
    except PermissionError:
        return link / "x"
    except OSError:
        pass
    pytest.skip("every link of this machine may be read")


LINES = (
    "ls {}", "cat {}", "cp a {}", "cp {} a", "mv {} {}", "touch {}", "mkdir -p {}", "ls > {}",
    "wc < {}", "cp -- {} .", "cd {} && cat b", "cat {}/*", "grep x --file={}",
    "ls /proc/1/cwd/../x",
)  # fmt: skip


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("mode", [PermissionMode.DEFAULT, PermissionMode.ACCEPT_EDITS])
@pytest.mark.parametrize("deny", [(), ("Read(secrets/**)", "Edit(*.lock)")], ids=["", "rules"])
def test_a_command_that_names_one_is_asked(
    tmp_path: Path, barred: Path, line: str, mode: PermissionMode, deny: tuple[str, ...]
) -> None:
    question = bash(line.format(barred, barred), tmp_path)

    assert judged(question, tmp_path, mode=mode, deny=deny).verdict == "ask"


def test_where_reads_are_denied_showing_one_is_asked_though_all_is_allowed(
    tmp_path: Path, barred: Path
) -> None:
    question, allow = bash(f"cat {barred}", tmp_path), ("Bash",)

    assert judged(question, tmp_path, allow=allow).allowed
    assert judged(question, tmp_path, allow=allow, deny=("Read(a)",)).verdict == "ask"


def test_one_is_no_file_of_the_working_folder(barred: Path, tmp_path: Path) -> None:
    assert real(barred) is None
    assert real(tmp_path / "a\0b") is None
    assert real_or_written(barred / ".." / "y") == barred.parent / "y"


def test_explaining_a_call_about_one_and_adding_it_as_a_folder_are_no_errors(
    tmp_path: Path, barred: Path
) -> None:
    judge = Judge.of(tmp_path, Rules(), PermissionMode.DEFAULT, further=(barred,))

    assert judge.decide(explain.question_of(f"Read({barred})", Path("/usr"))).verdict == "allow"
    assert judge.decide(explain.question_of("Read(~nobody-here/x)", tmp_path)).allowed
    given = Update(kind=UpdateKind.ADD_DIRECTORIES, directories=(barred, Path("~nobody-here")))
    assert len(updated(judge, given).folders) == 3
