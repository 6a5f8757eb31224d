"""Start the command line as a script would."""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import orjson
from attrs import frozen

ROOT = Path(__file__).parents[2]
ASKING = ROOT / "tests" / "cli" / "forked.py"
FAKE = (sys.executable, str(ROOT / "tests" / "cli" / "fake_agent.py"))
REAL = (sys.executable, "-m", "interlock")
_FORKED = {FAKE: "fake", REAL: "real"}


@cache
def zygote() -> str:
    """The socket of this process's zygote, which ends when this process does."""
    path = str(Path(tempfile.mkdtemp(prefix="zygote-")) / "socket")
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.cli.zygote", path],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    atexit.register(shutil.rmtree, str(Path(path).parent), ignore_errors=True)
    atexit.register(process.wait)
    atexit.register(process.stdin.close)
    assert process.stdout.readline() == b"ready\n"
    return path


def _for_python(env: Mapping[str, str]) -> bool:
    return any(name.startswith(("PYTHON", "LANG", "LC_")) for name in env)


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
    """A working folder and a home of its own.

    What `run` runs is forked from a process with all imports done, unless the shell is `fresh`, or
    variables are given that Python itself reads as it starts. `start` always starts a process.
    """

    folder: Path
    fresh: bool = False

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
        forked = (
            _FORKED.get(tuple(program)) if not (self.fresh or _for_python(env or {})) else None
        )
        if forked is not None:
            program = (sys.executable, "-I", "-S", str(ASKING), zygote(), forked)
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
