"""Ending a command with everything it started, and a watchdog that does so if we are gone.

Standard library only: the watchdog runs this file by itself, with a bare interpreter. A tree is
found by a mark in the environment and by the pipe its output goes to, and from those by parent
and session; so a child that made a session of its own or cleared its environment is found too. One
that did both, prints elsewhere, and whose parent has ended is not. Without /proc the process group
is all that is known.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Iterable
from pathlib import Path

MARK = "INTERLOCK_CALL"  # the variable that marks what a session's commands started
GRACE_S = 0.5  # from TERM to KILL: enough to delete a lock file, short for one who waits
_POLL_S = 0.01
_ROUNDS = 300  # of KILL: a process that forks as fast as it can needs several
_PROC = Path("/proc")


class _Process:
    """One line of the process table."""

    def __init__(self, pid: int, parent: int, session: int, marked: bool) -> None:
        self.pid, self.parent, self.session, self.marked = pid, parent, session, marked


def alive(mark: str, sessions: Iterable[int] = (), outputs: Iterable[str] = ()) -> set[int]:
    """Ids of what runs of a tree. `mark` is a prefix of the variable's value; `outputs` are pipes
    as `pipe_name` names them."""
    return _alive(mark, set(sessions), frozenset(outputs))


def pipe_name(descriptor: int) -> str:
    """What a pipe is called in /proc by all who hold it; no other has the name meanwhile."""
    return f"pipe:[{os.fstat(descriptor).st_ino}]"


def _alive(mark: str, sessions: set[int], outputs: frozenset[str]) -> set[int]:
    """Puts the sessions it comes upon to the others: a child is found by its own later, too, when
    the parent that led to it has ended."""
    table = _table(f"{MARK}={mark}".encode(), outputs) if _PROC.is_dir() else []
    found = {one.pid for one in table if one.marked or one.session in sessions}
    grown = -1
    while grown != len(found):
        grown = len(found)
        sessions |= {one.session for one in table if one.pid in found}
        found |= {one.pid for one in table if one.parent in found or one.session in sessions}
    return found - {os.getpid()}


def _table(mark: bytes, outputs: frozenset[str]) -> list[_Process]:
    found = []
    own_session = os.getsid(0)
    for name in (entry.name for entry in _PROC.iterdir()):
        if not name.isdigit():
            continue
        with contextlib.suppress(OSError, ValueError, IndexError):
            # The command's name may hold blanks and brackets: count from the last one.
            stat = (_PROC / name / "stat").read_bytes().rpartition(b")")[2].split()
            if stat[0] in (b"Z", b"X") or int(stat[3]) == own_session:
                continue
            environment = b""
            with contextlib.suppress(OSError):
                environment = b"\0" + (_PROC / name / "environ").read_bytes()
            marked = b"\0" + mark in environment or _prints_to(_PROC / name, outputs)
            found.append(_Process(int(name), int(stat[1]), int(stat[3]), marked))
    return found


def _prints_to(process: Path, outputs: frozenset[str]) -> bool:
    """Only what was started by the command, or given its output, can."""
    for number in "12" if outputs else "":
        with contextlib.suppress(OSError):
            if str((process / "fd" / number).readlink()) in outputs:
                return True
    return False


def end(
    mark: str,
    sessions: Iterable[int] = (),
    outputs: Iterable[str] = (),
    grace: float = GRACE_S,
) -> bool:
    """TERM to the whole tree, then KILL to what is left. False if something lives on.

    Blocks; a tree that is already gone is fine.
    """
    sessions, outputs = set(sessions), frozenset(outputs)
    if not _PROC.is_dir():
        return _end_groups(sessions, grace)
    for pid in _alive(mark, sessions, outputs):
        _signal(pid, signal.SIGTERM)
        _signal(pid, signal.SIGCONT)  # a stopped process takes no TERM
    deadline = time.monotonic() + grace
    while _alive(mark, sessions, outputs):
        if time.monotonic() > deadline:
            break
        time.sleep(_POLL_S)
    for _ in range(_ROUNDS):
        left = _alive(mark, sessions, outputs)
        if not left:
            return True
        for pid in left:
            _signal(pid, signal.SIGKILL)
        time.sleep(_POLL_S)
    return False


def _end_groups(sessions: Iterable[int], grace: float) -> bool:
    for number in (signal.SIGTERM, signal.SIGKILL):
        for session in sessions:
            with contextlib.suppress(OSError):
                os.killpg(session, number)
        if number is signal.SIGTERM:
            time.sleep(grace)
    return True


def _signal(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(OSError):
        os.kill(pid, number)


def described(pids: Iterable[int]) -> list[str]:
    """`pid command` of each, as far as it can be told."""
    found = []
    for pid in sorted(pids):
        with contextlib.suppress(OSError):
            told = (_PROC / str(pid) / "cmdline").read_bytes().decode(errors="replace")
            words = told.rstrip("\0").split("\0")
            # A subshell shows our own wrapper; what the model wrote is its last argument.
            line = words[-1] if words[1:2] == ["-c"] else " ".join(words)
            found.append(f"{pid} {' '.join(line.split())[:80]}")
    return found


def _watch(mark: str) -> None:
    """Wait until the pipe to the one who started us closes, which a killed process does too.

    On it come the pipes that commands print to, and ids of sessions in which something was left
    running by a shell that has ended. An id whose process lives again is another's by now.
    """
    told = b""
    while chunk := os.read(0, 4096):
        told += chunk
    traces = told.decode().split()
    sessions = [int(one) for one in traces if one.isdigit()]
    ended = [one for one in sessions if not (_PROC / str(one)).exists()]
    end(mark, ended, [one for one in traces if not one.isdigit()])


if __name__ == "__main__":
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    _watch(sys.argv[1])
