"""The small repository with a failing test: a copy to work on, and what became of it.

Judges by the files and by running the tests; knows nothing of agents.
"""

from __future__ import annotations

import difflib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from attrs import frozen

SHIPPED = Path(__file__).with_name("demo_repository")
CODE = "shop/payment.py"
TEST = "tests/test_payment.py"
TEST_LIMIT_S = 30.0
_GIT_LIMIT_S = 10.0

# The newcomer's own configuration may ask for signatures, hooks and a passphrase.
_GIT_SETTINGS = (
    "init.defaultBranch=main",
    "user.name=Interlock demo",
    "user.email=demo@localhost",
    "commit.gpgSign=false",
    f"core.hooksPath={os.devnull}",
)


@frozen
class Repository:
    """A copy of the shipped repository."""

    root: Path

    @classmethod
    def copied_to(cls, folder: Path) -> Repository:
        """Copy it into `folder`, which is made if it is not there; with one commit, if git is."""
        shutil.copytree(
            SHIPPED, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__")
        )
        for words in (("init", "-q"), ("add", "."), ("commit", "-q", "-m", "Check payments")):
            if not _git(folder, *words):
                break
        return cls(folder.resolve())

    @property
    def code_changed(self) -> bool:
        return self._now(CODE) != _shipped(CODE)

    @property
    def test_unchanged(self) -> bool:
        """A test that was bent until it passed would prove nothing."""
        return self._now(TEST) == _shipped(TEST)

    def tests_pass(self) -> bool:
        """Run the tests once more."""
        try:
            done = subprocess.run(
                [sys.executable, "-B", "-m", "unittest", "-q"],
                cwd=self.root,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=TEST_LIMIT_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return False
        return done.returncode == 0

    def diff(self) -> str:
        """What was changed in the code, as a unified diff."""
        lines = difflib.unified_diff(
            _shipped(CODE).splitlines(),
            self._now(CODE).splitlines(),
            f"a/{CODE}",
            f"b/{CODE}",
            lineterm="",
        )
        return "\n".join(lines)

    def _now(self, name: str) -> str:
        try:
            return (self.root / name).read_text(encoding="utf-8")
        except OSError:
            return ""


def _shipped(name: str) -> str:
    return (SHIPPED / name).read_text(encoding="utf-8")


def _git(folder: Path, *words: str) -> bool:
    options = [word for setting in _GIT_SETTINGS for word in ("-c", setting)]
    try:
        done = subprocess.run(
            ["git", *options, *words],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_GIT_LIMIT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
