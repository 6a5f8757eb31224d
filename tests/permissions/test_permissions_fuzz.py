"""The judge against real bash: what it lets through is what bash then runs, and nothing else.

Lines are grown from a small grammar, and cut, joined and sprinkled with the signs that shells
treat specially. The hole looked for is a line that the judge reads in one way and bash in another.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from interlock.options import PermissionMode
from interlock.permissions.shell import Command, read
from tests.permissions.questions import bash, judged
from tests.permissions.shells import RealBash

_ALLOWED = """
ls|git status|cat|x|a|eval|echo|time|f|test|[|[[|printf|let|read|unset|export|wait|declare|mapfile
|compgen|jobs|alias|hash|shopt|set|trap|:|.|env|bash
"""
ALLOW = tuple(f"Bash({name}:*)" for name in _ALLOWED.replace("\n", "").split("|"))
FORBIDDEN = ("rm", "make", "sudo")

SIMPLE = st.sampled_from(
    ["ls", "ls -la 'a b'", "git status", "cat f", "rm x", "make", 'ls "$x"', "ls $x", "x=1 ls"]
)


def _compound(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    forms = (
        "{} && {}", "{}; {}", "{} | {}", "{} || {}", "{}\n{}", "{} & {}", "({})", "{{ {}; }}",
        "ls $({})", "ls `{}`", "cat <({})", 'ls "$({})"', "if {}; then {}; fi", "! {}",
        "for i in a b; do {}; done", "case a in a) {};; esac", "cat <<E\n$({})\nE", "{} > f 2>&1",
        "cat <<'E' | {}\ntext '\nE\n{}", "bash -c '{}'", "eval '{}'", "time {}",
        "f() {{ {}; }}; f",
        "test -v 'a[$({})]'", "[ x -eq 'a[$({})]' ]", "printf -v 'a[$({})]' x", "let 'a[$({})]'",
        "read 'a[$({})]' <<< x", "unset 'a[$({})]'", "export 'a[$({})]=1'", "wait -p 'a[$({})]'",
        "[[ -v 'a[$({})]' ]]", "[[ 'a[$({})]' -eq 0 ]]", "declare 'a[`{}`]=1'", "[ -f \"$({})\" ]",
        "x='a[$({})]'; unset a[x]", "x='$({})'; test -v \"a[$x]\"", "mapfile 'a[$({})]' <<< x",
        "env -S'{}'", ". <(echo '{}')", "bash /dev/stdin <<< '{}'", "mapfile -C '{};:' -c 1 <<< x",
        "compgen -C '{}'", "jobs -x {}", "shopt -s expand_aliases; alias q='{}'\nq", "coproc {}",
        "PS4='$({})'; set -x; :", "PS4='$({})' bash -xc :", "trap '{}' EXIT", "echo '{}' | bash",
        "BASH_ENV=<(echo '{}') bash -c :", "export PS4='$({})'; set -x; :", "echo {} | xargs",
        "echo '{}' | xargs -n1 env", "hash -p {} ls; ls", "env -iS'{}'",
        "PROMPT_COMMAND='{}' bash -i",
        "timeout 5 {}", "env {}", "xargs {}", "{} # {}", "{} \\\n -a",
    )  # fmt: skip
    return st.builds(
        lambda form, one, other: form.format(one, other), st.sampled_from(forms), inner, inner
    )


WHOLE = st.recursive(SIMPLE, _compound, max_leaves=4)
SIGNS = st.sampled_from(
    [
        " ", "\t", "\n", ";", "&", "|", "'", '"', "\\", "\\\n", "$(", "`", "<(", "#", ")", "(",
        "{ ",
        " }", "<<E\n", "\nE\n", "<<-E\n", "$x", "${x}", "$'", '$"', ">f", "2>&1", ">&", "&>", "~",
        "*", "[", "]", "[[ ", " ]]", "((", "))", "$((", "=", "x=1", "if ", "then ", "fi", "do ",
        "done", ";;", "esac", "! ", "time ", "eval ", "coproc ", "{a,b}", "\r", "\x0b", "é",
        "\u00a0", "1", "rm x", "ls", "-",
    ]
)  # fmt: skip


@st.composite
def mangled(draw: st.DrawFn) -> str:
    """A line with something put in or taken out at up to three places."""
    line = draw(WHOLE)
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(line)))
        line = line[:at] + draw(SIGNS | st.just("")) + line[at + draw(st.integers(0, 2)) :]
    return line


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> RealBash:
    found = RealBash.within(tmp_path_factory.mktemp("bash"))
    if found is None:
        pytest.skip("no bash here to compare with")
    return found


fuzzed = settings(
    max_examples=120,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def _is(command: Command, ran: tuple[str, ...]) -> bool:
    """Whether this is the command that ran, as far as its words are known."""
    if command.name != ran[0]:
        return False
    return command.literal is None or command.literal[1:] == ran[1:]


@given(line=mangled())
@example(line="ls -la2>&1")
@example(line="ls >& -la")
@example(line="cat <<E ls\nx\nE")
@example(line="r\\\nm x")
@example(line="ls \\ rm")
@fuzzed
def test_bash_runs_no_command_that_was_not_found(real: RealBash, line: str) -> None:
    reading = read(line)
    assume(reading.doubt is None and reading.altered is None and reading.hidden is None)
    found = reading.everything()
    assume(all(each.hidden is None for each in found))

    for ran in _ran(real, line):
        assert any(_is(command, ran) for command in found), (ran, [str(each) for each in found])


@given(line=mangled())
@fuzzed
def test_what_is_allowed_runs_only_what_rules_allow(real: RealBash, line: str) -> None:
    assume(judged(bash(line), allow=ALLOW, mode=PermissionMode.ACCEPT_EDITS).allowed)

    for ran in _ran(real, line):
        assert ran[0] not in FORBIDDEN, ran
        assert ran[:1] != ("git",) or ran[1:2] == ("status",)


@given(line=mangled())
@fuzzed
def test_what_a_deny_rule_names_never_runs_unasked(real: RealBash, line: str) -> None:
    deny = tuple(f"Bash({name}:*)" for name in FORBIDDEN)
    everything = PermissionMode.BYPASS_PERMISSIONS
    assume(judged(bash(line), allow=("Bash",), deny=deny, mode=everything).allowed)

    assert not [ran for ran in _ran(real, line) if ran[0] in FORBIDDEN]


def _ran(real: RealBash, line: str) -> list[tuple[str, ...]]:
    try:
        return real.ran(line)
    except (subprocess.TimeoutExpired, ValueError):
        assume(False)  # a loop without an end, or a line that no argument can hold
        return []


def test_the_comparison_would_notice(tmp_path: Path) -> None:
    real = RealBash.within(tmp_path)
    if real is None:
        pytest.skip("no bash here to compare with")

    assert sorted(real.ran("ls 'a b' | cat; /bin/true; rm $(ls x)")) == [
        ("cat",), ("ls", "a b"), ("ls", "x"), ("rm",),
    ]  # fmt: skip
