"""A real `interlock serve` on loopback, and sessions that know it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from attrs import frozen

from interlock.options import Options, PermissionMode, RemotePlace
from tests.agent.support import MODEL

ROOT = Path(__file__).parents[2]
TOKEN = "a-token-of-the-tests"


@frozen(kw_only=True)
class Served:
    process: subprocess.Popen[bytes]
    url: str
    home: Path
    work: Path

    def end(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        """Its exit code, and what it had to complain of."""
        self.process.send_signal(number)
        _, complained = self.process.communicate(timeout=60)
        return self.process.returncode, complained.decode()


def environment(folder: Path, model_url: str) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "INTERLOCK_HOME": str(folder / "there" / "home"),
        "INTERLOCK_SERVE_TOKEN": TOKEN,
        "INTERLOCK_BACKOFF_FIRST_S": "0.001",
        "ANTHROPIC_API_KEY": "key",
        "ANTHROPIC_BASE_URL": model_url,
        "PYTHONPATH": str(ROOT),
    }


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "interlock", "serve", *words]


@contextmanager
def served(folder: Path, model_url: str, *flags: str) -> Iterator[Served]:
    work = folder / "there" / "work"
    work.mkdir(parents=True)
    process = subprocess.Popen(
        command("--port", "0", "--cwd", str(work), *flags),
        env=environment(folder, model_url),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline().decode()
        assert " on http://" in line, line
        url = line.rpartition(" on ")[2].strip()
        yield Served(process=process, url=url, home=folder / "there" / "home", work=work)
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def knowing(url: str, *, denied: Sequence[str] = (), mode: str = "bypassPermissions") -> Options:
    """Options of a session that knows the server as its one remote."""
    return Options(
        model=MODEL,
        permission_mode=PermissionMode(mode),
        disallowed_tools=tuple(denied),
        remotes={"box": RemotePlace(url=url)},
    )


__all__ = ["TOKEN", "Served", "command", "environment", "knowing", "served"]
