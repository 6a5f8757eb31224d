"""Rules and modes about files: judged by the real path, part by part."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from interlock.options import PermissionMode
from interlock.permissions import Judge, Rules
from interlock.permissions.globs import compiled
from tests.permissions.questions import about, judged

READ_DENIES = ("Read(./.env)", "Read(**/.env*)", "Read(secrets/**)")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A work folder with a sibling of a like name, and links that lead out."""
    above = Path(os.path.realpath(tmp_path))
    for name in ("ws/sub", "ws/secrets", "ws/.git", "ws-evil", "outside"):
        (above / name).mkdir(parents=True)
    folder = above / "ws"
    (folder / ".env").write_text("KEY=1\n")
    (folder / "link-to-env").symlink_to(".env")
    (folder / "dirlink").symlink_to("../outside")
    (folder / "filelink").symlink_to("../outside/secret.txt")
    (folder / "dangling").symlink_to("../outside/new.txt")
    (above / "alias").symlink_to("ws")
    return folder


INSIDE = ("a.txt", "sub/new/deep.txt", "sub/../a.txt", "../ws/a.txt", "../alias/a.txt")
OUTSIDE = (
    "../outside/secret.txt",
    "dirlink/secret.txt",
    "dirlink/new.txt",
    "filelink",
    "dangling",
    "../ws-evil/f.txt",
    "/etc/passwd",
)


@pytest.mark.parametrize("written", INSIDE)
def test_reads_inside_run_and_changes_inside_ask(folder: Path, written: str) -> None:
    assert judged(about("Read", written, folder), folder).verdict == "allow"
    assert judged(about("Write", written, folder), folder).verdict == "ask"


@pytest.mark.parametrize("written", OUTSIDE)
@pytest.mark.parametrize("mode", [PermissionMode.DEFAULT, PermissionMode.ACCEPT_EDITS])
def test_what_leads_outside_asks(folder: Path, written: str, mode: PermissionMode) -> None:
    for tool in ("Read", "Edit", "Write"):
        decision = judged(about(tool, written, folder), folder, mode=mode)

        assert decision.verdict == "ask"
        assert "outside the working folder" in decision.reason


@pytest.mark.parametrize("written", INSIDE)
def test_accepted_edits_run_inside(folder: Path, written: str) -> None:
    mode = PermissionMode.ACCEPT_EDITS

    assert judged(about("Edit", written, folder), folder, mode=mode).allowed


@pytest.mark.parametrize("written", [".git/hooks/pre-commit", "sub/.claude/settings.json"])
def test_files_that_steer_git_or_the_agent_are_not_among_accepted_edits(
    folder: Path, written: str
) -> None:
    mode = PermissionMode.ACCEPT_EDITS

    assert judged(about("Write", written, folder), folder, mode=mode).verdict == "ask"


def test_a_folder_that_is_itself_a_link_is_the_folder_it_leads_to(folder: Path) -> None:
    alias = folder.parent / "alias"

    assert judged(about("Read", "a.txt", alias), alias).allowed


@pytest.mark.parametrize(
    ("tool", "written", "verdict"),
    [
        ("Read", "{folder}/.env", "deny"),
        ("Read", "./.env", "deny"),
        ("Read", ".env", "deny"),
        ("Read", "{folder}/sub/.env.local", "deny"),
        ("Read", "{folder}/sub/../.env", "deny"),
        ("Read", "{folder}//.env", "deny"),
        ("Read", "{folder}/secrets/a", "deny"),
        ("Read", "{folder}/link-to-env", "deny"),
        ("Edit", "{folder}/.env", "deny"),
        ("Write", "{folder}/secrets/new", "deny"),
        ("Grep", "{folder}/secrets/a", "deny"),
        ("Grep", ".", "allow"),
        ("Read", "{folder}/environment", "allow"),
        ("Read", "{folder}/sub/secrets", "allow"),
    ],
)
def test_read_deny_rules_bind_every_way_to_write_the_path(
    folder: Path, tool: str, written: str, verdict: str
) -> None:
    question = about(tool, written.format(folder=folder), folder)

    assert judged(question, folder, allow=("Read",), deny=READ_DENIES).verdict == verdict


def test_searches_leave_denied_files_out(folder: Path) -> None:
    judge = Judge.of(folder, Rules.parse(deny=READ_DENIES), PermissionMode.DEFAULT)

    assert judge.hides(folder / ".env")
    assert judge.hides(folder / "secrets/deep/a")
    assert not judge.hides(folder / "a.txt")


def test_deny_beats_ask_beats_allow(folder: Path) -> None:
    question = about("Edit", "src/a.py", folder)

    assert judged(question, folder, allow=("Edit",)).verdict == "allow"
    assert judged(question, folder, allow=("Edit",), ask=("Edit(src/**)",)).verdict == "ask"
    denied = judged(question, folder, allow=("Edit",), ask=("Edit",), deny=("Edit(src/**)",))
    assert denied.verdict == "deny"
    assert denied.rule == "Edit(src/**)"
    mode = PermissionMode.BYPASS_PERMISSIONS
    assert judged(question, folder, deny=("Edit(src/**)",), mode=mode).verdict == "deny"
    assert judged(question, folder, ask=("Edit",), mode=mode).verdict == "ask"


@pytest.mark.parametrize(
    ("rule", "written", "allowed"),
    [
        ("Edit(src/**)", "src/a/b.py", True),
        ("Edit(src/**)", "other/src/a.py", False),
        ("Edit(src)", "src/a.py", True),
        ("Edit(*.py)", "deep/down/a.py", True),
        ("Edit(/src/*.py)", "src/a.py", True),
        ("Edit(/src/*.py)", "src/deep/a.py", False),
        ("Edit(dirlink/**)", "dirlink/new.txt", False),
        ("Write(src/**)", "src/a.py", False),
        ("Read(src/**)", "src/a.py", False),
        ("Edit(//etc/**)", "/etc/hosts", True),
    ],
)
def test_how_path_rules_are_written(folder: Path, rule: str, written: str, allowed: bool) -> None:
    assert judged(about("Edit", written, folder), folder, allow=(rule,)).allowed is allowed


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("**", "a/b", True),
        ("src/**", "src", False),
        ("a/**/b", "a/b", True),
        ("a/**/b", "a/x/y/b", True),
        ("a/*/b", "a/x/y/b", False),
        ("*.{ts,tsx}", "x/y.tsx", True),
        ("[!a]*", "b", True),
        ("a?", "ab", True),
        ("a.b", "axb", False),
    ],
)
def test_patterns(pattern: str, path: str, matches: bool) -> None:
    assert compiled(pattern).matches(tuple(path.split("/"))) is matches


def test_a_pattern_made_to_backtrack_ends_at_once() -> None:
    pattern = compiled("*a" * 20 + "b/" + "**/" * 20 + "c")

    assert not pattern.matches(("a" * 200, *("d" * 60)))
