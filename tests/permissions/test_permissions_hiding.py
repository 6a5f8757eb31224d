"""Where rules forbid commands, what may run others by its own options ends in a question."""

from __future__ import annotations

from pathlib import Path

import pytest

from interlock.options import PermissionMode
from interlock.permissions import Judge, Rules, explain
from tests.permissions.questions import bash, judged

DENY = ("Bash(rm:*)",)
HIDING = [
    # the shell's own
    "env -S'rm keep'",
    "env -iS'rm keep'",
    "let 'a[$(rm keep)]'",
    ". <(echo rm keep)",
    "source /dev/stdin <<< 'rm keep'",
    "bash /dev/stdin <<< 'rm keep'",
    "bash /dev/fd/3 3<<< 'rm keep'",
    "mapfile -C 'rm keep;:' -c 1 <<< x",
    "readarray -tC 'rm keep;:' -c 1 <<< x",
    "compgen -C 'rm keep'",
    "complete -C 'rm keep' x",
    "jobs -x rm keep",
    "fc -e 'rm keep'",
    "shopt -s expand_aliases; alias q='rm keep'\nq",
    "hash -p /bin/rm q; q keep",
    "enable -f ./x.so x",
    "PS4='$(rm keep)'; set -x; :",
    "PS4='$(rm keep)' bash -xc :",
    "export PS4='$(rm keep)'; set -x; :",
    "env PS4='$(rm keep)' bash -xc :",
    "BASH_ENV=x.sh bash -c :",
    "printf -v PS4 %s x; set -x",
    # programs
    "awk 'BEGIN{system(\"rm keep\")}'",
    "awk 'BEGIN{\"rm keep\"|getline}'",
    "awk '{print $0 | \"sh\"}' f",
    "gawk -v x=1 -F: '@f(x)' f",
    'awk "$program" f',
    "sed -n '1e rm keep' f",
    "sed '1s/.*/rm keep/e' f",
    "sed -ne 's|a|rm keep|ge' f",
    "sed '/x/e rm keep' f",
    "git -c alias.x='!rm keep' x",
    "git -c core.pager='rm keep' log",
    'git -c "$x" log',
    "git config alias.x '!rm keep'",
    "git rebase -x 'rm keep' main",
    "git bisect run rm keep",
    "git submodule foreach 'rm keep'",
    "git fetch 'ext::rm keep'",
    "git push --receive-pack='rm keep' x",
    "tar xf a.tar --to-command='rm keep'",
    "tar cf a.tar --checkpoint=1 --checkpoint-action=exec='rm keep' f",
    "tar cf a.tar -I 'rm keep' f",
    "tar cIf rm a.tar f",
    "ssh -o ProxyCommand='rm keep' h",
    "scp -S rm a b:c",
    "rsync -e 'rm keep' a b:c",
    "make --eval='x:;rm keep' x",
    "make -f - <<< 'x:;rm keep'",
    "make SHELL=rm",
    "make 'X=$(shell rm keep)'",
    "python -c 'import os; os.remove(\"keep\")'",
    "python3 -Bc 'pass'",
    "python <<< 'pass'",
    "python -",
    "perl -ne 'unlink' f",
    "ruby -e 'x'",
    "node -e 'x'",
    "php -r 'x'",
    "vim -c '!rm keep' -c q",
    "ed <<< '!rm keep'",
    "less '+!rm keep' f",
    "man -P 'rm keep' ls",
    "sort --compress-program=rm f",
    "split --filter='rm keep' f",
    "find . -exec awk 'BEGIN{system(\"rm keep\")}' \\;",
    "npx -c 'rm keep'",
    "gdb -ex 'shell rm keep'",
    "GIT_SSH_COMMAND='rm keep' git fetch",
    "PAGER='rm keep' man ls",
    "echo rm keep | xargs env",
    "echo keep | xargs -n1 bash",
]
FOUND = [
    "setarch x86_64 rm keep",
    "linux64 rm keep",
    "prlimit --nofile=9 rm keep",
    "setpriv --no-new-privs rm keep",
    "runuser -u a -- rm keep",
    "runuser -c 'rm keep'",
    "capsh -- -c 'rm keep'",
    "chroot / rm keep",
    "unshare -r rm keep",
    "nsenter -t 1 rm keep",
    "chrt -o 0 rm keep",
    "taskset 1 rm keep",
    "ionice -c 3 rm keep",
    "/lib64/ld-linux-x86-64.so.2 /bin/rm keep",
    "uv run rm keep",
    "uv run --with x rm keep",
    "npx rm keep",
    "trap 'rm keep' EXIT",
]
PLAIN = [
    "pytest -q",
    "python -m pytest tests",
    "python script.py -c x",
    "python --version",
    "npm test",
    "npx eslint -c rc src",
    "git status",
    'git commit -qm "the $x"',
    "git -c user.name=x -c core.quotepath=off commit -m e",
    "git config user.name x",
    "git rebase main",
    "make -j4 test",
    "make CC=gcc",
    "awk -F: '/a|b/ && !c {print $1}' f",
    "awk 'NR > 3 || x {s += $1} END {printf \"%d\\n\", s}' f",
    "sed -i 's/the end/e/; 3d' f",
    "sed -n '/a/,/b/p' f",
    "sed -E -e 's|(a|e)$|x|g' f",
    "tar xzf a.tgz",
    "find . -name '*.py' | xargs grep foo",
    "ssh -o BatchMode=yes h ls",
    "rsync -avz -e 'ssh -p 22' a h:b",
    "export PATH=$PATH:/x PAGER=cat",
    "GIT_PAGER=cat GIT_EDITOR=true git log",
    "source venv/bin/activate && pytest",
    "sort -k2 f",
    "perl script.pl -e",
    "uv run pytest rm",
    "alias",
]


@pytest.mark.parametrize("line", HIDING)
def test_what_hides_is_asked_though_everything_else_may_run(line: str) -> None:
    bypass = PermissionMode.BYPASS_PERMISSIONS

    assert judged(bash(line), allow=("Bash",), deny=DENY).verdict != "allow"
    assert judged(bash(line), allow=("Bash",), ask=DENY).verdict == "ask"
    assert judged(bash(line), deny=DENY, mode=bypass).verdict != "allow"


@pytest.mark.parametrize("line", HIDING)
def test_where_no_rule_forbids_a_command_nothing_is_asked_for_it(line: str) -> None:
    assert judged(bash(line), allow=("Bash",), deny=("WebFetch",)).allowed


@pytest.mark.parametrize("line", FOUND)
def test_what_is_run_in_other_surroundings_is_found(line: str) -> None:
    assert judged(bash(line), allow=("Bash",), deny=DENY).verdict == "deny"


@pytest.mark.parametrize("line", PLAIN)
def test_ordinary_lines_are_not_asked(line: str) -> None:
    assert judged(bash(line), allow=("Bash",), deny=DENY).allowed


@pytest.mark.parametrize(
    ("rule", "line", "allowed"),
    [
        ("Bash(python -c:*)", "python -c 'x'", True),
        ("Bash(python:*)", "python -c 'x'", False),
        ("Bash(python:*)", "python x.py", True),
        ("Bash(awk 'BEGIN{system()}')", "awk 'BEGIN{system()}'", True),
        ("Bash(git:*)", "git -c alias.x=!y x", False),
    ],
)
def test_a_rule_that_names_the_option_lets_it_through(rule: str, line: str, allowed: bool) -> None:
    assert judged(bash(line), allow=(rule,), deny=DENY).allowed is allowed
    assert judged(bash(line), allow=(rule,)).allowed


def test_explaining_says_what_no_rule_sees(tmp_path: Path) -> None:
    question = bash("make", tmp_path)

    def told(*deny: str) -> str:
        judge = Judge.of(tmp_path, Rules.parse(deny=deny), PermissionMode.DEFAULT)
        return "\n".join(explain.told(question, judge.decide(question), judge))

    assert "a script, a Makefile or a program under another name" in told(*DENY)
    assert "a Makefile" not in told()
