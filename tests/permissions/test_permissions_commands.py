"""Rules about Bash: what is allowed lets nothing else through, what is forbidden is found."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.options import PermissionMode
from interlock.permissions import Judge, Rules, Verdict, reads_only
from interlock.permissions.shell import read
from tests.permissions.questions import bash, judged

ALLOW, DENY = ("Bash(git status:*)", "Bash(ls:*)"), ("Bash(rm:*)",)


@pytest.mark.parametrize(
    ("line", "verdict"),
    [
        ("git status", "allow"),
        ("ls -la", "allow"),
        ("rm x", "deny"),
        ("git status && rm x", "deny"),
        ("git status; rm x", "deny"),
        ("git status | tee out.txt", "ask"),
        ("git status\nrm x", "deny"),
        ("git status & rm x", "deny"),
        ("ls $(rm x)", "deny"),
        ("ls `rm x`", "deny"),
        ("ls <(rm x)", "deny"),
        ("git status || rm x", "deny"),
        ("(rm x)", "deny"),
        ("{ rm x; }", "deny"),
        ("if true; then rm x; fi", "deny"),
        ("ls > .bashrc", "ask"),
        ("lsof", "ask"),
        ("git statusfoo", "ask"),
        ("git status # rm x", "allow"),
        ("git status #\nrm x", "deny"),
        ("echo 'rm x'", "ask"),
        ("ls 'a;rm x'", "allow"),
        ('r""m x', "deny"),
        ("\\rm x", "deny"),
        ("ls \\\n-la", "allow"),
        ("git status <<E\n$(rm x)\nE", "deny"),
        ("cd sub && git status", "ask"),
        ("rm\tx", "deny"),
        # Beyond the simple: what runs a command it is given.
        ("bash -c 'rm x'", "deny"),
        ("bash -c 'bash -c \"rm x\"'", "deny"),
        ("eval 'r''m x'", "deny"),
        ("echo x | xargs rm -f", "deny"),
        ("find . -name y -exec rm {} +", "deny"),
        ("sudo -u a rm x", "deny"),
        ("A=1 B=2 rm x", "deny"),
        ("2>f rm x", "deny"),
        ("/bin/rm x", "deny"),
        ("f() { rm x; }; f", "deny"),
        ("case x in a) rm x;; esac", "deny"),
        ('echo "`rm x`"', "deny"),
        ('echo "$( (true) ; rm x )"', "deny"),
        ("echo ${y:-$(rm x)}", "deny"),
        ("ls & ls && ! rm x", "deny"),
        ("for i in a; do rm $i; done", "deny"),
        ("trap 'rm x' EXIT", "deny"),
        # What cannot be told is asked.
        ("$X y", "ask"),
        ("{rm,x}", "ask"),
        ("r? x", "ask"),
        ("$'\\x72m' x", "deny"),
        ("cat <<E\n'\nE\nrm x\n: '", "deny"),
        ("ls 'open", "ask"),
        ('bash -c "$X"', "ask"),
        ("ls )", "ask"),
    ],
)
def test_every_command_of_a_line_is_judged(line: str, verdict: str) -> None:
    assert judged(bash(line), allow=ALLOW, deny=DENY).verdict == verdict


@pytest.mark.parametrize("line", ["rm x", "ls; rm x", "$X", "r? x", "ls 'open"], ids=repr)
def test_where_everything_runs_a_deny_rule_still_binds(line: str) -> None:
    mode = PermissionMode.BYPASS_PERMISSIONS

    assert not judged(bash(line), deny=DENY, mode=mode).allowed
    assert judged(bash(line), mode=mode).allowed


@pytest.mark.parametrize(
    ("rule", "line", "allowed"),
    [
        ("Bash", "anything | at all", True),
        ("Bash(*)", "anything | at all", True),
        ("Bash(npm test)", "npm test", True),
        ("Bash(npm test)", "npm  'test'", True),
        ("Bash(npm test)", "npm test now", False),
        ("Bash(npm run *)", "npm run build", True),
        ("Bash(npm run *)", "npm runaway", False),
        ("Bash(git * main)", "git push main", True),
        ("Bash(git * main)", "git push main; rm x", False),
        ("Bash(git:*)", "git", True),
        ("Bash(git:*)", "git log --format=%h", True),
        ("Bash(git:*)", "git log $(x)", False),
        ("Bash(git:*)", 'git commit -m "it costs $5"', True),
        ("Bash(git:*)", 'git commit -m "fine; really"', True),
        ("Bash(git:*)", "GIT_DIR=x git log", False),
        ("Bash(make && make install)", "make && make install", True),
    ],
)
def test_how_rules_are_written(rule: str, line: str, allowed: bool) -> None:
    assert judged(bash(line), allow=(rule,)).allowed is allowed


@pytest.mark.parametrize(
    ("line", "allowed"),
    [
        ("pwd", True),
        ("ls", True),
        ("ls -la sub", True),
        ("ls ..", False),
        ("ls /etc", False),
        ("ls --color=always", False),
        ("echo hello, world", True),
        ("echo $HOME", False),
        ("echo *", False),
        ("git status", False),  # runs what the repository's configuration names
        ("git diff", False),
        ("cat a.txt", False),
        ("pwd; pwd", True),
        ("pwd; ls ..", False),
        ("pwd > x", False),
    ],
)
def test_only_a_few_plain_commands_need_no_question(line: str, allowed: bool) -> None:
    from pathlib import Path

    folder = Path("/usr")

    assert judged(bash(line, folder), folder).allowed is allowed
    assert not judged(bash(line, Path("/etc")), folder).allowed


@given(st.text(max_size=40))
def test_no_line_breaks_the_reader(line: str) -> None:
    read(line)
    reads_only(line)


def test_letters_of_far_scripts_do_not_end_the_process() -> None:
    # In a process of its own: what is tried is whether it lives.
    lines = """
import random
from interlock.permissions.shell.syntax import parsed
r = random.Random(5)
for _ in range(30_000):
    parsed(("{" + chr(r.randrange(0x10000, 0x10FFFF)) + chr(r.randrange(0x80, 0xD7FF))).encode())
"""

    done = subprocess.run([sys.executable, "-c", lines], capture_output=True, check=False)

    assert (done.returncode, done.stderr) == (0, b"")


def test_a_word_of_another_script_is_the_word_that_was_written() -> None:
    (command,) = read("écho größe 'ß ü' > ñ.txt").commands

    assert command.literal == ("écho", "größe", "ß ü")
    assert [file.word.text for file in read("ls > ñ.txt").files] == ["ñ.txt"]


@pytest.mark.parametrize("line", ["time ls", "time -p ls", "time x=1 ls", "time x=1 y=2 ls"])
def test_what_is_timed_is_found_behind_assignments(line: str, tmp_path: Path) -> None:
    rules = Rules.parse(deny=["Bash(ls:*)"])

    judge = Judge.of(tmp_path, rules, PermissionMode.BYPASS_PERMISSIONS)

    assert judge.decide(bash(line, tmp_path)).verdict is Verdict.DENY


@pytest.mark.parametrize("line", ["time PS4='$(rm x)'; set -x; :", "time -p PATH=evil; ls"])
def test_what_is_set_behind_time_alone_is_set_for_all_that_follows(
    line: str, tmp_path: Path
) -> None:
    rules = Rules.parse(allow=["Bash(time:*)", "Bash(set:*)", "Bash(ls:*)"])

    judge = Judge.of(tmp_path, rules, PermissionMode.DEFAULT)

    assert judge.decide(bash(line, tmp_path)).verdict is Verdict.ASK
