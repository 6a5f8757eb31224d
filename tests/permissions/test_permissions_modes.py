"""Modes: what plan keeps back, what acceptEdits grants to a shell, what dontAsk denies."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from interlock.options import PermissionMode
from interlock.permissions import Decision, Judge, Rules, Verdict, reads_only
from tests.permissions.questions import about, bash, call, judged

PLAN, EDITS = PermissionMode.PLAN, PermissionMode.ACCEPT_EDITS


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = Path(os.path.realpath(tmp_path)) / "ws"
    (folder / "sub").mkdir(parents=True)
    (folder.parent / "outside").mkdir()
    (folder / "out").symlink_to("../outside")
    return folder


# --- plan ------------------------------------------------------------------------------------


def test_in_plan_mode_reads_run_and_changes_are_denied_with_the_reason(folder: Path) -> None:
    assert judged(about("Read", "a.txt", folder), folder, mode=PLAN).allowed

    decision = judged(about("Write", "a.txt", folder), folder, allow=("Write", "Edit"), mode=PLAN)

    assert decision.verdict == "deny"
    assert "plan mode" in decision.reason


@pytest.mark.parametrize(
    ("line", "verdict"),
    [
        ("ls", "allow"),
        ("git status", "ask"),  # reads only; whether it may run is a question all the same
        ("cat a.txt | wc -l", "ask"),
        ("make", "deny"),
        ("ls > a.txt", "deny"),
        ("git push", "deny"),
        ("$X", "deny"),
    ],
)
def test_in_plan_mode_a_line_runs_only_if_all_of_it_reads(
    folder: Path, line: str, verdict: str
) -> None:
    assert judged(bash(line, folder), folder, mode=PLAN).verdict == verdict


def test_an_allow_rule_does_not_end_the_plan_but_serves_it(folder: Path) -> None:
    assert judged(bash("git status", folder), folder, allow=("Bash(git:*)",), mode=PLAN).allowed
    assert judged(bash("git push", folder), folder, allow=("Bash",), mode=PLAN).verdict == "deny"


@pytest.mark.parametrize("tool", ["Task", "TodoWrite", "AskUserQuestion"])
def test_tools_that_touch_only_the_session_run_while_planning(folder: Path, tool: str) -> None:
    assert judged(call(tool), folder, mode=PLAN).allowed


def test_leaving_plan_mode_is_asked(folder: Path) -> None:
    assert judged(call("ExitPlanMode"), folder, mode=PLAN).verdict == "ask"


# --- dontAsk ---------------------------------------------------------------------------------


def test_dont_ask_denies_what_would_be_asked_and_runs_what_is_allowed(folder: Path) -> None:
    mode = PermissionMode.DONT_ASK

    assert judged(bash("make", folder), folder, mode=mode).verdict == "deny"
    assert judged(bash("make", folder), folder, allow=("Bash(make:*)",), mode=mode).allowed
    asks = judged(bash("make", folder), folder, allow=("Bash",), ask=("Bash(make:*)",), mode=mode)
    assert asks.verdict == "deny"
    assert "dontAsk" in asks.reason


def test_dont_ask_hears_a_hook_that_allows(folder: Path) -> None:
    judge = Judge.of(folder, Rules(), PermissionMode.DONT_ASK)
    said = Decision(verdict=Verdict.ALLOW, reason="a hook")

    assert judge.decide(bash("make", folder), said).allowed


# --- acceptEdits -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "allowed"),
    [
        ("mkdir -p a/b", True),
        ("touch a sub/b", True),
        ("cp a sub", True),
        ("mv a b && mkdir c", True),
        ("rm a", False),
        ("cp a ../outside/a", False),
        ("cp a out", False),
        ("touch out/new", False),
        ("cp /etc/passwd a", False),
        ("mv a .git/hooks/pre-commit", False),
        ("touch .bashrc", False),
        ("mkdir $X", False),
        ("cd sub && touch a", False),
        ("cp -t .. a", False),
        ("echo hi > notes.txt", True),
        ("echo hi > ../notes.txt", False),
        ("echo hi > .git/config", False),
    ],
)
def test_accepted_edits_are_file_commands_too(folder: Path, line: str, allowed: bool) -> None:
    assert judged(bash(line, folder), folder, mode=EDITS).allowed is allowed
    assert not judged(bash(line, folder), folder).allowed


def test_a_copy_into_a_folder_is_judged_by_the_name_it_gets_there(folder: Path) -> None:
    (folder / "sub/a").symlink_to("../../outside/a")

    assert not judged(bash("cp a sub", folder), folder, mode=EDITS).allowed


def test_further_folders_are_worked_in_too(folder: Path) -> None:
    outside = folder.parent / "outside"
    judge = Judge.of(folder, Rules(), EDITS, further=(outside,))

    assert judge.decide(about("Read", "../outside/a", folder)).allowed
    assert judge.decide(about("Edit", "out/a", folder)).allowed


# --- reading only ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        "ls -la", "cat a b", "git status", "git -C sub log -3", "git diff", "head -5 a | wc -l",
        "ls > /dev/null 2>&1", "timeout 5 ls", "find . -name '*.py'", "sort a | uniq -c",
        "grep -r x . || true", "ls $X", "date +%s", "[ -f a ] && cat a", "ls *.py",
    ],
)  # fmt: skip
def test_lines_that_only_read(line: str) -> None:
    assert reads_only(line)


@pytest.mark.parametrize(
    "line",
    [
        "", "make", "git push", "git diff --output=a", "git branch x", "ls > a", "sort -o a a",
        "sort --outp=a a", "find . -delete", "find . -exec rm {} +", "date -s 0", "uniq a b",
        "cat $(make)", "ls; rm a", "X=1 ls", "PATH=. ; ls", "cd .. && ls", "sort $X", "git $X",
        "tree -o a", "rg --pre x y", "printf -v PATH x", "f() { rm a; }; f", "ls &&",
        "alias ls=rm; ls", "git grep -Ovi x", "tee a",
    ],
)  # fmt: skip
def test_lines_that_may_change_something(line: str) -> None:
    assert not reads_only(line)
