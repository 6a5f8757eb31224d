"""What the model is told of the place it works in, and what a hostile place cannot do."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from pathlib import Path

import pytest

from interlock.prompt import environment_block, estimated_tokens
from interlock.prompt.environment import GIT_LIMIT_S

NOON = 1_768_478_400.0  # 2026-01-15 12:00 UTC: the same day nearly everywhere
TARGET_TOKENS = 280

_AUTHOR = {
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.com",
    "GIT_AUTHOR_DATE": "2026-01-02T03:04:05Z",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.com",
    "GIT_COMMITTER_DATE": "2026-01-02T03:04:05Z",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
}


def git(folder: Path, *words: str) -> str:
    return subprocess.run(
        ["git", *words],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()


def commit(folder: Path, subject: str) -> str:
    git(folder, "commit", "-q", "--allow-empty", "-m", subject)
    return git(folder, "rev-parse", "--short", "HEAD")


@pytest.fixture(autouse=True)
def nobodys_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in _AUTHOR.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "pay.py").write_text("PAID = True\n")
    git(folder, "add", ".")
    commit(folder, "Take payments")
    return folder


@pytest.fixture
def alarm(tmp_path: Path) -> tuple[Path, Path]:
    """A program, and the file that it makes when someone runs it."""
    rang, program = tmp_path / "rang", tmp_path / "alarm"
    program.write_text(f"#!/bin/sh\ntouch '{rang}'\n")
    program.chmod(0o755)
    return program, rang


async def test_the_block_of_a_repository(repository: Path) -> None:
    git(repository, "switch", "-q", "-c", "fix/merchant")
    second = commit(repository, "Ask for the merchant")
    first = git(repository, "rev-parse", "--short", "main")
    (repository / "pay.py").write_text("PAID = False\n")
    (repository / "new.py").touch()

    block = await environment_block(repository, now=NOON)

    assert block == "\n".join(
        (
            f"Working directory: {repository}",
            "Git repository: yes",
            f"Platform: {sys.platform}",
            f"OS version: {platform.system()} {platform.release()}",
            "Today's date: 2026-01-15",
            "Git branch: fix/merchant",
            "Main branch: main",
            "Git status (at the start of the session):",
            " M pay.py",
            "?? new.py",
            "Recent commits:",
            f"{second} Ask for the merchant",
            f"{first} Take payments",
        )
    )


async def test_a_folder_without_git_has_no_git_lines(tmp_path: Path) -> None:
    block = await environment_block(tmp_path, now=NOON)

    assert "Git repository: no\n" in block
    assert block.count("Git") == 1


async def test_a_folder_without_git_is_asked_about_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counting, asked = tmp_path / "bin" / "git", tmp_path / "asked"
    counting.parent.mkdir()
    counting.write_text(
        f"#!/bin/sh\nPATH='{os.environ['PATH']}'\necho asked >> '{asked}'\nexec git \"$@\"\n"
    )
    counting.chmod(0o755)
    monkeypatch.setenv("PATH", str(counting.parent))

    await environment_block(tmp_path, now=NOON)

    assert asked.read_text() == "asked\n"


async def test_a_repository_without_commits(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "trunk")

    block = await environment_block(tmp_path, now=NOON)

    assert "Git branch: trunk\n" in block
    assert "Main branch" not in block
    assert "Git status (at the start of the session): clean\n" in block
    assert block.endswith("Recent commits: none")


async def test_a_detached_head_is_said_to_be_one(repository: Path) -> None:
    at = git(repository, "rev-parse", "--short", "HEAD")
    git(repository, "switch", "-q", "--detach")

    block = await environment_block(repository, now=NOON)

    assert f"Git branch: none (detached at {at})\n" in block


async def test_the_remote_says_which_branch_is_the_main_one(repository: Path) -> None:
    git(repository, "update-ref", "refs/remotes/origin/trunk", "HEAD")
    git(repository, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/trunk")

    assert "Main branch: trunk\n" in await environment_block(repository, now=NOON)


async def test_a_lively_repository_costs_about_what_it_should(repository: Path) -> None:
    for at in range(9):
        commit(repository, f"Change number {at}: take the currency from the order, not from us")
    for at in range(40):
        (repository / f"a_module_with_an_ordinary_name_{at}.py").touch()

    block = await environment_block(repository, now=NOON)

    print(f"environment: {estimated_tokens(block)} tokens, target {TARGET_TOKENS}")
    assert estimated_tokens(block) == pytest.approx(TARGET_TOKENS, rel=0.2)
    assert "... and 30 more" in block


async def test_long_and_odd_words_of_others_stay_bounded_and_on_their_line(
    repository: Path,
) -> None:
    for _ in range(6):
        commit(repository, "\x1b[31mred\u202e " + "very " * 400)
    for at in range(40):
        (repository / (f"{at}" + "x" * 200)).touch()

    block = await environment_block(repository, now=NOON)

    assert all(line.isprintable() for line in block.splitlines())
    assert estimated_tokens(block) < 2 * TARGET_TOKENS


async def test_a_git_that_hangs_costs_the_time_limit_and_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = tmp_path / "bin" / "git"
    slow.parent.mkdir()
    slow.write_text("#!/bin/sh\ntrap '' TERM\nsleep 30\n")
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", f"{slow.parent}{os.pathsep}{os.environ['PATH']}")

    began = time.monotonic()
    block = await environment_block(tmp_path, now=NOON)

    assert time.monotonic() - began < GIT_LIMIT_S + 2
    assert "Git repository: unknown\n" in block


async def test_only_what_is_slow_is_unknown(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = tmp_path / "bin" / "git"
    slow.parent.mkdir()
    slow.write_text(
        f"#!/bin/sh\nPATH='{os.environ['PATH']}'\n"
        'case "$*" in *" status "*) exec sleep 30;; *) exec git "$@";; esac\n'
    )
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", str(slow.parent))

    block = await environment_block(repository, now=NOON)

    assert "Git branch: main\n" in block
    assert "Git status (at the start of the session): unknown\n" in block


async def test_without_git_there_is_a_block_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    assert "Git repository: unknown\n" in await environment_block(tmp_path, now=NOON)


async def test_a_folder_that_is_gone_has_a_block_all_the_same(tmp_path: Path) -> None:
    block = await environment_block(tmp_path / "gone", now=NOON)

    assert block.startswith(f"Working directory: {tmp_path / 'gone'}\nGit repository: unknown\n")


HOSTILE = [
    pytest.param({"core.fsmonitor": "{alarm}"}, id="file system monitor"),
    pytest.param({"filter.evil.clean": "{alarm}"}, id="clean filter"),
    pytest.param({"filter.evil.process": "{alarm}"}, id="filter process"),
    pytest.param({"filter.e=v.il.clean": "{alarm}"}, id="filter with a twisted name"),
    pytest.param({"log.showSignature": "true", "gpg.program": "{alarm}"}, id="signatures"),
    pytest.param(
        {
            "core.repositoryFormatVersion": "1",
            "extensions.partialClone": "origin",
            "remote.origin.promisor": "true",
            "remote.origin.url": ".",
            "remote.origin.uploadPack": "{alarm}",
            "protocol.allow": "always",
        },
        id="objects to be fetched",
    ),
]


@pytest.mark.parametrize("settings", HOSTILE)
async def test_no_setting_of_a_repository_runs_a_program(
    repository: Path, alarm: tuple[Path, Path], settings: dict[str, str]
) -> None:
    program, rang = alarm
    lay_traps(repository, parent_gone="extensions.partialClone" in settings)
    for key, value in settings.items():
        git(repository, "config", key, value.format(alarm=program))

    block = await environment_block(repository, now=NOON)

    assert " M evil\n M twisted\n" in block
    assert not rang.exists()
    assert trapped(repository, rang), "git as it is does not run the program: this tests nothing"


def lay_traps(repository: Path, *, parent_gone: bool) -> None:
    """Changed files under filters, a signed commit, perhaps a parent that is not there."""
    for name in ("evil", "twisted"):
        (repository / name).write_text("first\n")
    attributes = repository / ".gitattributes"
    attributes.write_text("evil filter=evil\ntwisted filter=e=v.il\n")
    git(repository, "add", ".")
    parent = git(repository, "rev-parse", "HEAD")
    commit(repository, "Two files")
    plain = git(repository, "cat-file", "commit", "HEAD")
    signed = plain.replace("\n\n", "\ngpgsig -----BEGIN PGP SIGNATURE-----\n -----END\n\n", 1)
    written = subprocess.run(
        ["git", "hash-object", "-t", "commit", "-w", "--stdin"],
        cwd=repository,
        input=signed + "\n",
        check=True,
        capture_output=True,
        text=True,
    )
    git(repository, "update-ref", "HEAD", written.stdout.strip())
    if parent_gone:
        (repository / ".git/objects" / parent[:2] / parent[2:]).unlink()
    for name in ("evil", "twisted"):
        (repository / name).write_text("other\n")  # of one size: its contents are compared


def trapped(repository: Path, rang: Path) -> bool:
    for command in ("status", "log"):
        subprocess.run(
            ["git", command], cwd=repository, check=False, capture_output=True, timeout=20
        )
    return rang.exists()
