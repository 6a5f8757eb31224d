"""Where a session's files lie."""

from __future__ import annotations

from pathlib import Path

import pytest

from interlock.home import SessionPaths, home_of, project_key
from interlock.sessions.facts import branch_of


@pytest.mark.parametrize(
    ("environ", "home"),
    [
        ({"INTERLOCK_HOME": "/a", "CLAUDE_CONFIG_DIR": "/b"}, "/a"),
        ({"CLAUDE_CONFIG_DIR": "/b", "CLAUDE_CODE_ENTRYPOINT": "sdk-py"}, "/b"),
        (
            {
                "INTERLOCK_HOME": "/a",
                "CLAUDE_CONFIG_DIR": "/b",
                "CLAUDE_CODE_ENTRYPOINT": "sdk-py",
            },
            "/b",
        ),
        ({"HOME": "/u", "CLAUDE_CODE_ENTRYPOINT": "sdk-py"}, "/u/.claude"),
        ({"HOME": "/u", "CLAUDE_CODE_ENTRYPOINT": "cli"}, "/u/.interlock"),
        ({"HOME": "/u"}, "/u/.interlock"),
    ],
)
def test_the_folder_is_the_users_wish_else_the_sdks_else_ours(
    environ: dict[str, str], home: str
) -> None:
    assert home_of(environ) == Path(home)


def test_a_project_is_named_by_its_real_path(tmp_path: Path) -> None:
    real = tmp_path / "a_b.c"
    real.mkdir()
    (tmp_path / "link").symlink_to(real)

    assert project_key(tmp_path / "link") == project_key(real)
    assert project_key(real).endswith("-a-b-c")


def test_a_long_name_is_cut_and_hashed_as_other_readers_expect() -> None:
    key = project_key(Path("/" + "x" * 300))

    assert key == "-" + "x" * 199 + "-x8zr69"


def test_a_session_keeps_all_it_has_beside_its_transcript(tmp_path: Path) -> None:
    paths = SessionPaths(tmp_path, "-work", "s")

    assert paths.transcript == tmp_path / "projects/-work/s.jsonl"
    assert paths.trace("r") == tmp_path / "projects/-work/s/runs/r.trace.jsonl"
    assert paths.tool_results == tmp_path / "projects/-work/s/tool-results"


def test_the_branch_is_read_without_git(tmp_path: Path) -> None:
    git, inside, tree = tmp_path / "r" / ".git", tmp_path / "r" / "src", tmp_path / "tree"
    for folder in (git / "worktrees" / "t", inside, tree):
        folder.mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/feature/x\n")
    (git / "worktrees" / "t" / "HEAD").write_text("0123456789\n")
    (tree / ".git").write_text(f"gitdir: {git}/worktrees/t\n")

    assert branch_of(inside) == "feature/x"
    assert branch_of(tree) == "HEAD"
    assert branch_of(tmp_path) == ""
