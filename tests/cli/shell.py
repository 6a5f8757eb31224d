"""Start the command line as a script would."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson
from attrs import frozen

ROOT = Path(__file__).parents[2]
FAKE = (sys.executable, str(ROOT / "tests" / "cli" / "fake_agent.py"))
REAL = (sys.executable, "-m", "interlock")


@frozen
class Ran:
    """What a caller sees of a finished process."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        (line,) = self.out.splitlines()
        return orjson.loads(line)

    @property
    def lines(self) -> list[Any]:
        return [orjson.loads(line) for line in self.out.splitlines()]


@frozen
class Shell:
    """A working folder and a home of its own."""

    folder: Path

    @property
    def home(self) -> Path:
        return self.folder / "home"

    def environ(self, **more: str) -> dict[str, str]:
        passed = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        ours = {
            "HOME": str(self.folder),
            "INTERLOCK_HOME": str(self.home),
            "PYTHONPATH": str(ROOT),
            "PYTHONDONTWRITEBYTECODE": "1",
            "ANTHROPIC_API_KEY": "key",
        }
        return passed | ours | more

    def start(
        self, *arguments: str, program: Sequence[str] = FAKE, env: dict[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [*program, *arguments],
            cwd=self.folder,
            env=self.environ(**(env or {})),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def run(
        self,
        *arguments: str,
        stdin: bytes | None = None,
        program: Sequence[str] = FAKE,
        env: dict[str, str] | None = None,
    ) -> Ran:
        """Run to the end; `stdin` None is /dev/null."""
        done = subprocess.run(
            [*program, *arguments],
            cwd=self.folder,
            env=self.environ(**(env or {})),
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            timeout=30,
            check=False,
        )
        return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())

    @property
    def transcripts(self) -> list[Path]:
        return sorted(self.home.glob("projects/*/*.jsonl"))
