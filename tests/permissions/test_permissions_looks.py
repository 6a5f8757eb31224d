"""Which command lines only read, and so may run beside others."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.permissions import reads_only, runs_nothing

READ = [
    "ls",
    "ls -la src tests",
    "cat a.txt b.txt",
    "head -n 5 a.txt",
    "grep -rn 'a b' src",
    "rg --files src",
    "find . -name '*.py' -print",
    "sort a.txt",
    "wc -l *.py",
    "git status",
    "git status --short",
    "git log --oneline -5",
    "git -C sub diff HEAD~1",
    "git --no-pager show HEAD",
    "git status && git diff | head -20",
    "for f in a b; do cat $f; done",
    "sleep 1",
]
CHANGE = [
    "make",
    "python -m pytest",
    "cd src",
    "export A=1",
    "ls; rm a",
    "ls && make",
    "ls | tee b",
    "cat a > b",
    "cat <(make)",
    "ls $(make)",
    "ls `make`",
    "PATH=. ls",
    "./ls",
    "/tmp/ls",
    "sort -o b a",
    "sort -uo b a",
    "sort --output=b a",
    "sort --compress-program=x a",
    "find . -delete",
    "find . -exec rm {} +",
    "find . -okdir rm x",
    "find . -fprint b",
    "rg --pre=make a",
    "rg --pre make a",
    "rg -z a",
    "file -C -m magic",
    "git",
    "git commit -m x",
    "git branch x",
    "git checkout .",
    "git -c core.fsmonitor=make status",
    "git --exec-path=. status",
    "git diff --output=b",
    "git log --outp b",
    "git diff --ext-diff",
    "git grep -O a",
    "git grep --open-files-in-pager=x a",
    "",
    "   ",
    "'",
]


@pytest.mark.parametrize("line", READ)
def test_a_line_that_only_reads(line: str) -> None:
    assert reads_only(line)


@pytest.mark.parametrize("line", CHANGE)
def test_a_line_that_may_do_more(line: str) -> None:
    assert not reads_only(line)
    assert not runs_nothing(line)


def test_git_reads_but_runs_what_a_repository_names() -> None:
    assert reads_only("git status")
    assert not runs_nothing("git status")
    assert runs_nothing("ls -l")


@given(st.sampled_from(READ), st.text(alphabet="abcdefgh-/=", min_size=1, max_size=6))
def test_what_runs_nothing_reads_only(line: str, word: str) -> None:
    longer = f"{line} {word}"

    assert reads_only(longer) or not runs_nothing(longer)
