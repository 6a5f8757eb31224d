"""A worktree goes when every check has found nothing; whatever else is in it, it stays, whole."""

from __future__ import annotations

from pathlib import Path

import pytest
from attrs import evolve

from interlock.worktrees import Cleared, Worktree, cleared, held, swept, told
from tests.worktrees.repositories import KINDS, branches, known, repository, sh, trees


@pytest.fixture
def tree(tmp_path: Path) -> Worktree:
    """A worktree that nothing was done in yet."""
    repo = repository(tmp_path / "repo")
    sh("git worktree add -q -b wt ../wt", repo)
    return known(repo, tmp_path / "wt", "wt")


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


async def test_of_seven_kinds_only_the_clean_one_goes(tmp_path: Path) -> None:
    sh(KINDS, tmp_path)
    repo = tmp_path / "repo"
    kinds = ("dirty", "untracked", "ignored", "committed", "detached", "broken", "clean")
    made = {kind: known(repo, tmp_path / f"wt-{kind}", f"wt-{kind}") for kind in kinds}
    before = {kind: contents(tree.path) for kind, tree in made.items()}

    became = {each.tree.branch[3:]: each async for each in swept(made.values())}

    assert [kind for kind, each in became.items() if each.gone] == ["clean"]
    assert not made["clean"].path.exists()
    assert "wt-clean" not in branches(repo)
    for kind in kinds[:-1]:
        assert contents(made[kind].path) == before[kind]
        assert f"wt-{kind}" in branches(repo)


async def test_what_stays_is_told_with_its_branch_and_its_commits(tmp_path: Path) -> None:
    sh(KINDS, tmp_path)
    repo = tmp_path / "repo"

    committed = told(await cleared(known(repo, tmp_path / "wt-committed", "wt-committed")))
    detached = told(await cleared(known(repo, tmp_path / "wt-detached", "wt-detached")))
    ignored = told(await cleared(known(repo, tmp_path / "wt-ignored", "wt-ignored")))

    assert "on the branch wt-committed" in committed
    assert f"{sh('git rev-parse --short=12 wt-committed', repo)} two" in committed
    assert "b.txt | 1 +" in committed
    assert f"{sh('git -C ../wt-detached rev-parse --short=12 HEAD', repo)} three" in detached
    assert "HEAD is detached" in detached
    assert "ignored by git: out/" in ignored
    third = sh("git -C ../wt-detached rev-parse --short=12 HEAD", repo)
    assert committed.endswith("Take over what you want of it: git merge wt-committed.")
    assert detached.endswith(f": git cherry-pick {third} (on no branch).")
    assert ignored.endswith(f": copy from {tmp_path}/wt-ignored what no commit holds.")


_INNER = (
    "mkdir d; echo x > d/x; git add d; git commit -qm d; git branch -f wt-base;"
    " cd d; git init -q; git commit -q --allow-empty -m inner"
)
HIDDEN = {
    "a commit that was taken back": (
        "echo c > c.txt; git add c.txt; git commit -qm gone; git reset -q --hard HEAD~",
        "commit that only the log of HEAD still knows",
    ),
    "an amended base": ("git commit -q --amend -m other; git reset -q --hard HEAD@{1}", "log of"),
    "a file that status is told to overlook": (
        "git update-index --assume-unchanged a.txt; echo secret >> a.txt",
        "1 file that no commit holds",
    ),
    "one that is left out of the tree, and there": (
        "git update-index --skip-worktree a.txt; echo secret >> a.txt",
        "1 file that no commit holds",
    ),
    "untracked files that settings hide": (
        "git config status.showUntrackedFiles no; echo x > new.txt",
        "1 file that no commit holds",
    ),
    "a repository among tracked files": (
        _INNER,
        "is a repository of its own",
    ),
    "another branch": ("git switch -q -c other", "it is on the branch other"),
    "a lock": ("git worktree lock .", "it is locked"),
    "a bisect": ("git bisect start -q", "a bisect is half done in it"),
    "a ref of its own": ("git update-ref refs/worktree/mine HEAD", "refs/worktree/mine"),
    "no log of where HEAD was": (
        'rm "$(git rev-parse --git-dir)/logs/HEAD"',
        "it could not be looked at",
    ),
    "a link to another tree": (
        "git worktree add -q -b second ../second; cp ../second/.git .git",
        "it is linked to",
    ),
    "an index that cannot be read": (
        'echo broken > "$(git rev-parse --git-dir)/index"',
        "it could not be looked at: git",
    ),
    "a repository that is gone": ("mv ../repo ../away", "it could not be looked at"),
}


@pytest.mark.parametrize(("done", "why"), HIDDEN.values(), ids=HIDDEN.keys())
async def test_what_git_does_not_show_by_itself_is_found(
    tree: Worktree, done: str, why: str
) -> None:
    sh(done, tree.path)
    if "wt-base" in done:
        tree = evolve(tree, base=sh("git rev-parse wt-base", tree.path))
    before = contents(tree.path)

    became = await cleared(tree)

    assert not became.gone
    assert why in "; ".join(became.found.reasons)
    assert contents(tree.path) == before


async def test_one_that_another_process_works_in_is_not_touched(tree: Worktree) -> None:
    with held(tree):
        (became,) = [each async for each in swept([tree])]

    assert not became.gone
    assert "another session works in it" in became.found.reasons[0]
    assert trees(tree.top) == [tree.path]


async def test_a_branch_that_has_moved_meanwhile_stays(tree: Worktree) -> None:
    """Its tree is gone, by other hands; its commits are not ours to lose."""
    sh("echo c > c; git add c; git commit -qm two", tree.path)
    sh("git worktree remove ../wt", tree.top)

    became = await cleared(tree)

    assert not became.gone
    assert "wt" in branches(tree.top)


async def test_programs_of_the_repository_are_not_run(tree: Worktree, tmp_path: Path) -> None:
    evil = f"touch {tmp_path}/ran; cat"
    hook = tree.common / "hooks" / "reference-transaction"
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    hook.chmod(0o755)
    sh(
        f"git config core.fsmonitor '{evil}'; git config filter.x.clean '{evil}';"
        f" git config filter.x.smudge '{evil}'; git config diff.x.textconv '{evil}';"
        f" git config diff.external '{evil}'; git config diff.x.command '{evil}';"
        " echo '* filter=x diff=x' > .git/info/attributes",
        tree.top,
    )
    (tree.path / "a.txt").write_text("changed\n")
    (tree.path / "b.txt").touch()

    kept = await cleared(tree)
    (tree.path / "a.txt").write_text("alpha\n")
    gone = await cleared(tree)

    assert kept.found.files == ("changed: a.txt",)
    assert isinstance(gone, Cleared)
    assert gone.gone, gone
    assert not (tmp_path / "ran").exists()
