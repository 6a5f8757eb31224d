"""The process that ends a session's commands when the session is gone, as its session sees it.

What it does is in `processes`, which it runs by itself.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys

from attrs import define, field

from interlock.tools import processes


@define
class Watchdog:
    """A process that ends our commands when this one is gone, however it went."""

    mark: str
    _process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    def start(self) -> None:
        if self._process is not None and self._process.poll() is None:
            return
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", processes.__file__, self.mark],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def mind(self, trace: str) -> None:
        """By this a process of ours can be found: the pipe a command prints to, or the id of a
        session in which one was left running."""
        if self._process is not None and self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.write(f"{trace}\n".encode())
                self._process.stdin.flush()

    def stop(self) -> None:
        """It ends what is left, and itself."""
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        process.stdin.close()
        process.wait()
