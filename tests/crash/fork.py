"""Processes by fork: the imports are done, so that each begins within milliseconds.

Who forks has neither threads nor an event loop; a child ends with `os._exit` and never comes
back into the code that forked it.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from attrs import define

HANGS_S = 60  # of a child, real time


@define
class Child:
    """A forked process; `status` once it has ended: 0 well, -9 killed."""

    pid: int
    log: Path
    status: int | None = None

    def wait(self) -> int:
        if self.status is None:
            self.status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.status

    def runs(self) -> bool:
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
        return self.status is None

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)

    @property
    def said(self) -> str:
        return self.log.read_text(errors="replace") if self.log.exists() else ""


def fork(work: Callable[[], object], log: Path) -> Child:
    """Do `work` in a child; what it prints, and why it failed, is in `log`."""
    pid = os.fork()
    if pid:
        return Child(pid, log)
    _in_the_child(work, log)
    return None


def _in_the_child(work: Callable[[], object], log: Path) -> NoReturn:
    status = 1
    try:
        signal.alarm(HANGS_S)
        file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(file, 1)
        os.dup2(file, 2)
        work()
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        sys.stdout.flush()
        os._exit(status)
