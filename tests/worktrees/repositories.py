"""Repositories and worktrees of all kinds, made by the real git."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from interlock.worktrees import Worktree

# One of each kind: only `clean` holds nothing.
KINDS = """\
set -eu
git init -q repo && cd repo
git config user.email t@example.org; git config user.name t
echo a > a.txt; git add a.txt; git commit -qm one
for n in dirty untracked ignored committed detached clean; do
  git worktree add -q -b wt-$n ../wt-$n
done
echo change >> ../wt-dirty/a.txt
echo new > ../wt-untracked/new.txt
echo 'out/' > .git/info/exclude; mkdir -p ../wt-ignored/out
echo paid-for > ../wt-ignored/out/result.bin
(cd ../wt-committed && echo b > b.txt && git add b.txt && git commit -qm two)
(cd ../wt-detached && git checkout -q --detach && echo d > d.txt && git add d.txt &&
  git commit -qm three)
git worktree add -q -b wt-broken ../wt-broken
rm ../wt-broken/.git; echo keep > ../wt-broken/keep.txt
"""
# So that nothing of the machine's own configuration of git plays a part.
ALONE = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_AUTHOR_NAME": "t",
    "GIT_AUTHOR_EMAIL": "t@example.org",
    "GIT_COMMITTER_NAME": "t",
    "GIT_COMMITTER_EMAIL": "t@example.org",
}


def sh(script: str, cwd: Path) -> str:
    done = subprocess.run(
        ["sh", "-euc", script],
        cwd=cwd,
        env={**os.environ, **ALONE},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def repository(folder: Path) -> Path:
    """A repository with one commit, of a.txt and b.txt."""
    folder.mkdir(parents=True, exist_ok=True)
    files = "echo alpha > a.txt; echo beta > b.txt"
    sh(f"git init -q -b main; {files}; git add .; git commit -qm one", folder)
    return folder


def known(repo: Path, path: Path, branch: str) -> Worktree:
    """A tree that git has made, as we would have written it down."""
    return Worktree(
        path=path,
        branch=branch,
        base=sh("git rev-parse HEAD", repo),
        top=repo,
        common=repo / ".git",
        gitdir=repo / ".git" / "worktrees" / path.name,
    )


def branches(repo: Path) -> list[str]:
    return sh("git for-each-ref --format='%(refname:short)' refs/heads", repo).splitlines()


def trees(repo: Path) -> list[Path]:
    """The worktrees that git knows, beside the first."""
    said = sh("git worktree list --porcelain", repo)
    paths = [line[9:] for line in said.splitlines() if line.startswith("worktree ")]
    return [Path(path) for path in paths[1:]]
