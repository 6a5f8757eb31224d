"""Builtins that work out the index of a variable: commands in there are seen, or asked about."""

from __future__ import annotations

import pytest

from interlock.options import PermissionMode
from interlock.permissions import reads_only
from interlock.permissions.shell import read
from tests.permissions.questions import bash, judged

INDEX = "'a[$(rm keep)]'"
HIDING = [
    f"test -v {INDEX}",
    f"test ! -v {INDEX}",
    f"[ -v {INDEX} ]",
    f"\\[ -v {INDEX} ]",
    f"[[ -v {INDEX} ]]",
    f"[ x -eq {INDEX} ]",
    f"test x -eq {INDEX}",
    f"[[ {INDEX} -eq 0 ]]",
    f"printf -v {INDEX} x",
    f"printf -v{INDEX} x",
    f"read {INDEX}",
    f"read -r x {INDEX} <<< 1",
    f"unset {INDEX}",
    "unset 'a[`rm keep`]'",
    f"export {INDEX}=1",
    f"declare {INDEX}=1",
    f"typeset {INDEX}=1",
    f"local {INDEX}=1",
    f"readonly {INDEX}=1",
    f"let {INDEX}",
    "let x=y",
    f"wait -p {INDEX}",
    f"mapfile {INDEX}",
    f"readarray -t {INDEX}",
    f"getopts x {INDEX}",
    f"command test -v {INDEX}",
    f"builtin unset {INDEX}",
    "bash -c \"test -v 'a[\\$(rm keep)]'\"",
    "test -v 'a[x]'",  # works out what x says
    'test -v "$x"',
    'test "$x" "$y" "$z"',
    "test $x = y",
    'printf "$x" y',
    'read "$x"',
    'unset "$x"',
    "wait $x",
]
PLAIN = [
    "test -f a.txt",
    'test -f "$x"',
    'test "$x" = y',
    "test x -eq 1",
    "test -v x",
    "test -v 'a[1]'",
    "test 'a[b]' = c",
    '[ -f "$x" ]',
    "[[ $x == y ]]",
    "printf '%s [%s]' a b",
    'printf "the $x" y',
    "printf -v x '[%s]' y",
    "read -r line",
    "unset x 'a[0]' 'a[@]'",
    "export A=1 B=$x",
    'export PATH="$PATH:/a[b]"',
    "wait",
    "wait $!",
    'wait "$!"',
    "mapfile -t lines < a.txt",
]


@pytest.mark.parametrize("line", HIDING)
def test_what_is_worked_out_is_a_doubt(line: str) -> None:
    assert read(line).doubt is not None
    name = line.split()[0].lstrip("\\")

    assert not judged(bash(line), allow=(f"Bash({name}:*)",)).allowed
    assert not judged(bash(line), allow=("Bash",), deny=("Bash(rm:*)",)).allowed


@pytest.mark.parametrize("line", HIDING)
def test_it_is_no_reading_and_no_part_of_a_plan(line: str) -> None:
    assert not reads_only(line)
    assert judged(bash(line), allow=("Bash",), mode=PermissionMode.PLAN).verdict == "deny"


@pytest.mark.parametrize("line", PLAIN)
def test_what_holds_no_index_is_plain(line: str) -> None:
    assert read(line).doubt is None
