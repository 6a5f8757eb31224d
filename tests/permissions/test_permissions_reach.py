"""Rules beyond one tool's own words: files that a command names, hosts, servers, sub-agents."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from interlock.permissions import Decision
from tests.permissions.questions import bash, call, judged

READ_DENIES = ("Read(./.env)", "Read(**/.env*)", "Read(secrets/**)")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = Path(os.path.realpath(tmp_path))
    for name in (".env", "a.py", "b.py"):
        (folder / name).write_text("KEY=1\n")
    (folder / "link").symlink_to(".env")
    return folder


@pytest.mark.parametrize(
    ("line", "verdict"),
    [
        ("cat .env", "deny"),
        ("cat ./.env | wc", "deny"),
        ("cat link", "deny"),
        ("head -1 sub/.env.local", "deny"),
        ("grep KEY secrets/a", "deny"),
        ("cp .env b", "deny"),
        ("wc < .env", "deny"),
        ("cd sub && cat ../secrets/a", "deny"),
        ("bash -c 'cat .env'", "deny"),
        ("cat .e*", "deny"),
        ("make --file=.env", "ask"),  # it may show it, and is not known to
        ("cat $X", "ask"),
        ("cat *.py", "allow"),
        ("cat a.py", "allow"),
        ("ls > a.py", "allow"),
    ],
)
def test_read_rules_bind_the_files_that_a_command_names(
    folder: Path, line: str, verdict: str
) -> None:
    decision = judged(bash(line, folder), folder, allow=("Bash",), deny=READ_DENIES)

    assert decision.verdict == verdict


@pytest.mark.parametrize(
    ("rule", "line", "verdict"),
    [
        ("Edit(src/**)", "ls > src/a", "deny"),
        ("Edit(src/**)", "ls >> src/a", "deny"),
        ("Write(src/**)", "ls &> src/a", "deny"),
        ("Edit(src/**)", "ls > other/a", "allow"),
        ("Edit(src/**)", "ls 2>&1 > /dev/null", "allow"),
    ],
)
def test_edit_rules_bind_redirections(folder: Path, rule: str, line: str, verdict: str) -> None:
    assert judged(bash(line, folder), folder, allow=("Bash",), deny=(rule,)).verdict == verdict


@pytest.mark.parametrize(
    ("rule", "line", "allowed"),
    [
        ("Bash(ls:*)", "timeout -k 5 10 ls a", True),
        ("Bash(ls:*)", "xargs -n 1 ls", True),
        ("Bash(ls:*)", "nohup nice -n 5 ls", True),
        ("Bash(ls:*)", "bash -c 'ls; ls a'", True),
        ("Bash(ls:*)", "sudo ls", False),
        ("Bash(sudo:*)", "sudo ls -Z", False),
        ("Bash(sudo apt:*)", "sudo apt install x", True),
        ("Bash(find:*)", "find . -exec rm {} +", False),
        ("Bash(find:*)", "find . -name x", True),
        ("Bash(find:*)", "find . $X", False),
        ("Bash(bash:*)", "bash -c 'rm x'", False),
        ("Bash(bash:*)", "bash x.sh", True),
        ("Bash(ls:*)", "env PATH=. ls", False),
        ("Bash(ls:*)", "env LANG=C ls", True),
        ("Bash(ls:*)", "PATH=.; ls", False),
        ("Bash(ls:*)", "for i in a b; do ls $i; done", True),
        ("Bash(ls:*)", "ls(){ rm x; }; ls", False),
        ("Bash(alias:*) Bash(ls:*)", "alias ls='rm x'; ls", False),
        ("Bash(hash:*) Bash(ls:*)", "hash -p /bin/rm ls; ls x", False),
        ("Bash(ls:*)", "ls $((x))", False),
        ("Bash(ls:*)", "[[ -f a ]] && ls", False),
        ("Bash(ls:*) Bash([[:*)", "[[ -f a ]] && ls", True),
        ("Bash(ls:*) Bash([[:*)", "[[ a[$(rm)] -eq 1 ]] && ls", False),
    ],
)
def test_an_allow_rule_reaches_into_wrappers_and_no_further(
    rule: str, line: str, allowed: bool
) -> None:
    assert judged(bash(line), allow=(rule,)).allowed is allowed


@pytest.mark.parametrize("line", ["git push", "git -C x push", "git --no-pager -c a=b push"])
def test_a_deny_rule_finds_gits_command_behind_its_options(line: str) -> None:
    assert judged(bash(line), allow=("Bash",), deny=("Bash(git push:*)",)).verdict == "deny"


def fetched(url: str, rule: str, deny: bool = False) -> Decision:
    question = call("WebFetch", effects=False, url=url)
    return judged(question, deny=(rule,)) if deny else judged(question, allow=(rule,))


@pytest.mark.parametrize(
    ("rule", "url", "allowed"),
    [
        ("example.com", "https://example.com/a", True),
        ("example.com", "HTTPS://Example.COM.:443/", True),
        ("example.com", "https://evil.com@example.com/", True),
        ("example.com", "https://example.com@evil.com/", False),
        ("example.com", "https://example.com.evil.com/", False),
        ("example.com", "https://a.example.com/", False),
        ("example.com", "https://evil.com\\@example.com/", False),
        ("example.com", "file://example.com/etc/passwd", False),
        ("*.example.com", "https://a.b.example.com/", True),
        ("*.example.com", "https://badexample.com/", False),
    ],
)
def test_hosts(rule: str, url: str, allowed: bool) -> None:
    assert fetched(url, f"WebFetch(domain:{rule})").allowed is allowed


def test_an_address_whose_host_cannot_be_told_falls_under_a_deny_rule() -> None:
    rule = "WebFetch(domain:evil.com)"

    assert fetched("https://evil.com\\@example.com/", rule, deny=True).verdict == "deny"
    assert fetched("https://example.com/", rule, deny=True).verdict == "ask"


@pytest.mark.parametrize(
    ("rule", "tool", "allowed"),
    [
        ("mcp__git", "mcp__git__log", True),
        ("mcp__git__*", "mcp__git__log", True),
        ("mcp__git__log", "mcp__git__log", True),
        ("mcp__git__log", "mcp__git__logs", False),
        ("mcp__git", "mcp__github__log", False),
        ("mcp__git__l*", "mcp__git__log", True),
    ],
)
def test_names_of_mcp_servers_and_their_tools(rule: str, tool: str, allowed: bool) -> None:
    assert judged(call(tool), allow=(rule,)).allowed is allowed


def test_a_kind_of_sub_agent_can_be_forbidden() -> None:
    deny = ("Task(reviewer)",)

    assert judged(call("Task", subagent_type="reviewer"), deny=deny).verdict == "deny"
    assert judged(call("Task", subagent_type="writer"), deny=deny).allowed
