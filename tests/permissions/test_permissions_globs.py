"""Path patterns mean what they mean in a .gitignore; git itself is asked."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from interlock.permissions import BadRule, Rules
from interlock.permissions.globs import BadPattern, compiled, expanded
from tests.permissions.questions import about, judged


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("repository")
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder


def ignored_by_git(repository: Path, pattern: str, path: str) -> bool:
    (repository / ".gitignore").write_text(f"{pattern}\n")
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    asked = subprocess.run(
        ["git", "check-ignore", "-q", "--no-index", "--", path], cwd=repository, env=environment
    )
    assert asked.returncode in (0, 1)
    return asked.returncode == 0


LETTERS = "abc]-^!["
sets = st.builds(
    lambda negation, first, rest: f"[{negation}{first}{rest}]",
    st.sampled_from(["", "!", "^"]),
    st.sampled_from(["]", "a", "b", "-", r"\]", r"\\", "a-b", "c-a", r"\a-\c", "[:alpha:]", "["]),
    st.text("abc-^!", max_size=3),
)
pieces = st.one_of(
    st.sampled_from(["a", "b", "c", "-", "*", "?", r"\*", r"\?", r"\[", r"\]", r"\a", r"\\", "]"]),
    sets,
)
names = st.lists(pieces, min_size=1, max_size=5).map("".join)
patterns = st.lists(names | st.just("**"), min_size=1, max_size=3).map("/".join)
paths = st.lists(st.text(LETTERS + "\\*?", min_size=1, max_size=3), min_size=1, max_size=3).map(
    "/".join
)


@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(pattern=patterns, path=paths)
def test_a_pattern_covers_what_git_would_ignore(repository: Path, pattern: str, path: str) -> None:
    covered = compiled(pattern).covers(tuple(path.split("/")))

    assert covered == ignored_by_git(repository, pattern, path)


@pytest.mark.parametrize(
    ("pattern", "path", "covered"),
    [
        (r"app/\[id\]/**", "app/[id]/s.txt", True),
        (r"app/\[id\]/**", "app/i/s.txt", False),
        ("[^p]s.txt", "xs.txt", True),
        ("[^p]s.txt", "ps.txt", False),
        ("[!p]s.txt", "xs.txt", True),
        (r"\*.txt", "*.txt", True),
        (r"\*.txt", "a.txt", False),
        (r"a\ b", "a b", True),
        (r"a\/b", "a/b", True),
        ("[[:digit:]]x", "7x", True),
        ("[]a]x", "]x", True),
        (r"[\]a]x", "]x", True),
        ("[ax", "[ax", True),
        (r"\{a,b\}", "{a,b}", True),
        (r"\{a,b\}", "a", False),
        (r"{a\,b,c}", "a,b", True),
        ("a\nb", "a\nb", True),
        ("a", "a\n", False),
    ],
)
def test_what_is_escaped_means_itself(pattern: str, path: str, covered: bool) -> None:
    assert compiled(pattern).covers(tuple(path.split("/"))) is covered


def test_braces_are_multiplied_out_unless_escaped() -> None:
    assert set(expanded("{a,b{c,d}}")) == {"a", "bc", "bd"}
    assert expanded(r"\{a,b}") == (r"\{a,b}",)


@pytest.mark.parametrize(
    ("rule", "path"),
    [
        (r"Read(./app/\[id\]/**)", "app/[id]/s.txt"),
        ("Read(./app/[id]/**)", "app/[id]/s.txt"),
        ("Read(./[^p]s.txt)", "xs.txt"),
        ("Read(./[!p]s.txt)", "xs.txt"),
        (r"Read(./a\ b.txt)", "a b.txt"),
    ],
)
def test_a_deny_rule_binds_however_its_pattern_is_written(
    tmp_path: Path, rule: str, path: str
) -> None:
    folder = Path(os.path.realpath(tmp_path))

    assert judged(about("Read", path, folder), folder, deny=(rule,)).verdict == "deny"


def test_an_allow_rule_takes_brackets_as_a_pattern_only(tmp_path: Path) -> None:
    folder = Path(os.path.realpath(tmp_path))
    rule = ("Edit(app/[id]/**)",)

    assert judged(about("Edit", "app/i/a.txt", folder), folder, allow=rule).allowed
    assert not judged(about("Edit", "app/[id]/a.txt", folder), folder, allow=rule).allowed


@pytest.mark.parametrize("pattern", ["a\\", "[[:letters:]]", "{a,b}/x\\"])
def test_a_pattern_that_means_nothing_is_refused_at_the_start(pattern: str) -> None:
    with pytest.raises(BadPattern):
        compiled(pattern)
    with pytest.raises(BadRule, match="Read"):
        Rules.parse(deny=[f"Read({pattern})"])
